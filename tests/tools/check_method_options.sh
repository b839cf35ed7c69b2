#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A table of the page explains every method option of the app.
# usage: check_method_options.sh APP PAGE.md
set -eu

help=$("$1" --balance help)
options=$(echo "$help" | sed -n 's/^  \([a-z]*\)=\{0,1\} .*/\1/p' | sort -u)
if [ -z "$options" ]; then
    echo "$1 --balance help names no option"
    exit 1
fi
status=0
for option in $options; do
    if ! sed -n 's/^| \(`[^|]*\)|.*/\1/p' "$2" | grep -qw "$option"; then
        echo "not in $2: $option"
        status=1
    fi
done
exit $status
