#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every block of shell commands of a page runs as it stands: one after another, in one shell, each command without error.
# They see build/ and scripts/ as at the top of a source tree, and write into a folder that is removed.
# usage: check_page_runs.sh PAGE SOURCE_ROOT BUILD_ROOT
set -eu
page=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ln -s "$2/scripts" "$tmp/scripts"
ln -s "$3" "$tmp/build"

# Machines with few cores and containers, as for all tests.
source "$2/scripts/mpi-env.sh"
awk '/^```sh$/ { inside = 1; blocks++; next } /^```/ { inside = 0; next } inside
    END { exit blocks == 0 }' "$page" >"$tmp/commands" || {
    echo "$page: holds no shell commands"
    exit 1
}
cd "$tmp"
if ! bash -eux commands >said 2>&1; then
    tail -n 20 said
    echo "$page: the last command above fails"
    exit 1
fi
echo "$(grep -c '^+ ' said) commands of $(basename "$page") ran"
