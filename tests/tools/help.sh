#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every program says by -h what it says by --help, behind other options, too, and ends well. Behind -- it is an argument.
# usage: help.sh PROGRAM...
set -u
source "$(dirname "${BASH_SOURCE[0]}")/../helpers/check.sh"

for program in "$@"; do
    "$program" --help >"$tmp/long" 2>"$tmp/said" || fail "$program --help: status $?"
    "$program" -h >"$tmp/short" 2>>"$tmp/said" || fail "$program -h: status $?"
    [ ! -s "$tmp/said" ] || fail "$program: $(cat "$tmp/said")"
    grep -q -e '--help.*-h' -e '-h, --help' "$tmp/long" || fail "$program --help does not tell of -h"
    cmp -s "$tmp/long" "$tmp/short" || fail "$program: -h and --help differ"
    if "$program" -- -h >"$tmp/plain" 2>&1; then
        fail "$program: -h behind -- is no argument"
    fi
done
finish
