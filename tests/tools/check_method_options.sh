#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tables of the pages explain every method of the app and every option of a method.
# usage: check_method_options.sh APP METHODS.md OPTIONS.md
set -eu

help=$("$1" --balance help)
options=$(echo "$help" | sed -n 's/^  \([a-z]*\)=\{0,1\} .*/\1/p' | sort -u)
if [ -z "$options" ]; then
    echo "$1 --balance help names no option"
    exit 1
fi
status=0
explained() # PAGE NAME...: names in the first column of a table
{
    names=$(sed -n 's/^| \(`[^|]*\)|.*/\1/p' "$1")
    for name in "${@:2}"; do
        grep -qw "$name" <<<"$names" || { echo "not in $1: $name" && status=1; }
    done
}
explained "$2" $(sed -n '3,$s/^\([a-z]\{1,\}\) .*/\1/p' <<<"$help")
explained "$3" $options
exit $status
