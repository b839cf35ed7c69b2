# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by scripts that test: a folder $tmp that goes when they end, and failures that are counted. Source it.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0

fail()
{
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# The end of a script: its status and last line.
finish()
{
    [ "$failures" -eq 0 ] || exit 1
    echo "all as expected"
}
