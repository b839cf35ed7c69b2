#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A binding prints what the C interface, or another binding, prints on the same ranks.
# usage: same.sh RANKS PROGRAM COMMAND...   COMMAND RANKS... is the binding's; `@` is replaced by the number of ranks
set -eu
ranks=$1 program=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$(dirname "$0")/../helpers/run.sh" "$ranks" "$program" >"$tmp/wanted"
status=0
"${@/#@/$ranks}" >"$tmp/found" || status=$?
if [ "$status" -ne 0 ]; then
    cat "$tmp/found"
    exit "$status"
fi
diff "$tmp/wanted" "$tmp/found"
[ "$(wc -l <"$tmp/found")" -gt 5 ] || {
    echo "that is too little:"
    cat "$tmp/found"
    exit 1
}
echo "$(wc -l <"$tmp/found") lines are the same"
