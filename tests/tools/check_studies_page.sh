#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/studies/page.py makes docs/studies.md from the CSV files in docs/studies: nothing on it was typed in.
#
# usage: check_studies_page.sh SOURCE_ROOT
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/studies"
cp "$root"/docs/studies/*.csv "$work/studies"
python3 "$root/bench/studies/page.py" --output "$work/studies"
if ! diff -u "$root/docs/studies.md" "$work/studies.md"; then
    echo "docs/studies.md is not what its CSV files say: run bench/studies/page.py"
    exit 1
fi
