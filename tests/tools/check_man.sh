#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A man page made by scdoc gives no warnings from `man --warnings` (or groff).
# usage: check_man.sh PAGE
set -eu
if command -v man >/dev/null; then
    warnings=$(LC_ALL=C.UTF-8 MANWIDTH=100 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null)
elif command -v groff >/dev/null; then
    warnings=$(groff -man -Tutf8 -Kutf8 -ww -rLL=100n "$1" 2>&1 >/dev/null)
else
    echo "neither man nor groff is installed"
    exit 77
fi
if [ -n "$warnings" ]; then
    echo "$warnings"
    exit 1
fi
