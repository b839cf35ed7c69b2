#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: script_arguments.sh SOURCE
# Every script prints its usage and refuses unknown arguments before it does anything.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/../helpers/check.sh"
cd "$1" || exit 1

# refused SCRIPT ARGUMENT...: one line on stderr, status 2.
refused()
{
    local said status=0
    said=$("$@" 2>&1 >/dev/null) || status=$?
    [ "$status" -eq 2 ] || fail "status $status instead of 2: $*"
    [ "$(printf '%s\n' "$said" | wc -l)" -eq 1 ] && [ -n "$said" ] || fail "not one line: $* -- $said"
}

for script in setup test demo make-data; do
    for help in -h --help; do
        "./scripts/$script" "$help" | grep -q "^usage: scripts/$script" || fail "$script $help"
    done
    refused "./scripts/$script" --nonsense
done
for script in scripts/*.py tests/fuzz/run.sh; do
    [ -x "$script" ] || continue
    "./$script" -h | grep "^usage: .*$(basename "$script")" >/dev/null || fail "$script -h"
done
refused ./scripts/test --suite
refused ./scripts/test --suite nonsense
for suite in unit tools mpi app doc large sanitize valgrind fuzz packages; do
    ./scripts/test --help | grep -qw "$suite" || fail "test --help lacks $suite"
done
finish
