#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: reuse.sh SOURCE
# Every file says, by itself or in .reuse/dep5, whose it is and under which licence, by the rules of reuse.software.
set -eu
command -v reuse >/dev/null || {
    echo 'reuse is not installed'
    exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# The sources alone, wherever they come from: no builds, no reports, nothing of version control.
tar -C "$1" -cf - --exclude='./build*' --exclude='./report*' --exclude='./.git' --exclude=__pycache__ . | tar -C "$tmp" -xf -
cmp "$tmp/LICENSE" "$tmp/LICENSES/BSD-3-Clause.txt"
reuse --root "$tmp" lint >"$tmp.log" 2>&1 && status=0 || status=$?
[ "$status" -eq 0 ] || cat "$tmp.log"
# A file of nobody is found: or the test would pass whatever reuse says.
rm -r "$tmp/.reuse"
if reuse --root "$tmp" lint >"$tmp.log" 2>&1; then
    echo 'reuse finds nothing wrong with files of nobody'
    status=1
fi
rm "$tmp.log"
exit "$status"
