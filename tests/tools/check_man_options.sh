#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The man page of an app has exactly the options of its --help.
# usage: check_man_options.sh APP PAGE.scd
set -eu

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# Only options at the beginning of a line, where the page introduces them.
"$1" --help | sed -n 's/^ *\(--[A-Za-z][A-Za-z0-9-]*\).*/\1/p' | sort -u >"$tmp/help"
sed -n 's/^\*\(--[A-Za-z][A-Za-z0-9-]*\)\*.*/\1/p' "$2" | sort -u >"$tmp/page"
if [ ! -s "$tmp/help" ]; then
    echo "$1 --help names no option"
    exit 1
fi
if ! diff "$tmp/help" "$tmp/page" >"$tmp/diff"; then
    sed -n 's/^< /not in the man page: /p; s/^> /not in --help: /p' "$tmp/diff"
    exit 1
fi
