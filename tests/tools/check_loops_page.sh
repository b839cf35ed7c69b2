#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The tables of docs/schedule.md are what bench/studies/loops.py makes of its CSV file: nothing in them was typed in.
#
# usage: check_loops_page.sh SOURCE_ROOT
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Without tables, that they are found to be written.
awk '/^<!-- .*loops.py -->$/ { print; skip = 1 } /^<!-- end -->$/ { skip = 0 } !skip' "$root/docs/schedule.md" >"$work/page"
python3 "$root/bench/studies/loops.py" --only-page --output "$root/docs/studies" --page "$work/page"
if ! diff -u "$root/docs/schedule.md" "$work/page"; then
    echo "docs/schedule.md is not what docs/studies/loops.csv says: run bench/studies/loops.py --only-page"
    exit 1
fi
