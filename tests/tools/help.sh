#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every program prints the same for -h and --help, also after other options, and exits with status 0. After -- they are
# arguments.
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
