#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: reuse.sh SOURCE
# Every file states its copyright and license, in itself or in .reuse/dep5, by the rules of reuse.software.
set -eu
command -v reuse >/dev/null || {
    echo 'reuse is not installed'
    exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/tree"
"$(dirname "$0")/sources.sh" "$1" | tar -C "$1" --null -T - -cf - | tar -C "$tmp/tree" -xf -
cmp "$tmp/tree/LICENSE" "$tmp/tree/LICENSES/BSD-3-Clause.txt"
reuse --root "$tmp/tree" lint >"$tmp/log" 2>&1 && status=0 || status=$?
[ "$status" -eq 0 ] || cat "$tmp/log"
# Self-check: the test fails for a file without a license.
rm -r "$tmp/tree/.reuse"
if reuse --root "$tmp/tree" lint >"$tmp/log" 2>&1; then
    echo 'reuse finds nothing wrong with files of nobody'
    status=1
fi
exit "$status"
