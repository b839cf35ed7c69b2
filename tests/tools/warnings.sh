#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: warnings.sh BUILD
# scripts/setup compiled everything in BUILD, including benches and tests, without the warnings that meson.build
# enables.
# The last compilation of each object counts.
set -u
compiled=$1/equipoise-compiled.txt

if [ ! -s "$compiled" ]; then
    echo 'skipped: nothing was compiled by scripts/setup'
    exit 77
fi
warnings=$(awk '/^\[[0-9]+\/[0-9]+\] / { step = $0; sub(/^[^ ]* /, "", step); delete said[step]; next }
    { said[step] = said[step] $0 "\n" }
    END { for (step in said) if (said[step] ~ /warning:/) printf "%s", said[step] }' "$compiled")
[ -z "$warnings" ] || {
    echo "$warnings" | head -n 200
    exit 1
}
echo "no warnings in $(grep -c Compiling "$compiled") compilations"
