#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tables of the page explain every method of the app and every option of a method.
# usage: check_method_options.sh APP PAGE.md
set -eu

names=$("$1" --balance help | sed -n '3,$s/^ *\([a-z]\{1,\}\)=\{0,1\} .*/\1/p' | sort -u)
explained=$(sed -n 's/^| \(`[^|]*\)|.*/\1/p' "$2")
if [ -z "$names" ]; then
    echo "$1 --balance help names nothing"
    exit 1
fi
status=0
for name in $names; do
    grep -qw "$name" <<<"$explained" || { echo "not in $2: $name" && status=1; }
done
exit $status
