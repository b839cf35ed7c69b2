#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: report_schema.sh SCHEMA BARNESHUT DISLOCATION LOADBENCH EQUIPOISE_COMPARE
# Reports of runs and comparisons of all programs conform to the schema, which describes every key.
set -u
schema=$1 barneshut=$2 dislocation=$3 loadbench=$4 referee=$5
APP=$barneshut
# shellcheck source=tests/helpers/lib.sh
source "$(dirname "$0")/../helpers/lib.sh"
python3 -c 'import jsonschema' 2>/dev/null || {
    echo 'python3-jsonschema is not installed'
    exit 77
}
expect 3 --generate plummer:n=600 --steps 3 --balance auto --lazy 1 --quiet --report barneshut-run
expect 2 --generate clusters:n=600 --compare all --parts 1,5 --network measure --quiet --report barneshut-compared
expect 1 --generate plummer:n=300 --steps 1 --cutoff 0.5 --schedule factoring --share measured --quiet --report barneshut-cutoff
rungs=(--generate clusters:n=400,seed=3 --dt 0.02 --rungs 5 --quiet)
expect 2 "${rungs[@]}" --steps 2 --group-size auto --report barneshut-rungs
expect 2 "${rungs[@]}" --compare sfc,count --parts 3 --group-size auto --report barneshut-rungs-compared
APP=$dislocation
expect 2 --generate chains:n=3 --steps 3 --balance interaction --quiet --report dislocation-run
expect 1 --generate chains:n=3 --compare all --parts 4 --quiet --report dislocation-compared
APP=$loadbench
expect 2 --steps 3 --quiet --report loadbench-run
expect 1 --compare sfc,auto --parts 2,3 --quiet --report loadbench-compared
APP=$referee
printf 'item,load,rank\n0,3,0\n1,1,1\n2,2,1\n' >items.csv
expect 1 items.csv --quiet --report referee
[ "$(value barneshut-run/report.json host)" = "$(uname -n)" ] || fail "host: $(value barneshut-run/report.json host)"
python3 "$(dirname "$0")/report_schema.py" "$schema" */report.json || fail 'not as described'
finish
