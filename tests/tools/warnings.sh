#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: warnings.sh BUILD
# scripts/setup compiled everything there, benches and tests included, without any of the warnings that meson.build
# switches on. The last compilation of an object counts.
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
