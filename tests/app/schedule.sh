#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Work is handed out within a step: the forces are the same as without scheduling on the same ranks, the report counts
# the work handed out, and an unknown method is refused.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1

expect 1 --schedule help
for method in static factoring awf-c fractiling; do
    grep -q "^$method " out || fail "--schedule help lists no $method: $(cat out)"
done
refused_by_all nonsense --generate plummer:n=100 --schedule nonsense
refused schedule --generate plummer:n=100 --schedule factoring --compare none,sfc --parts 2

for ranks in 1 3; do
    for balance in 'none --opening relative' 'sfc --opening relative --rebalance 1' 'none --cutoff 0.2 --precision double' \
        'interaction --sample-rate 0.05 --imbalance-tol 0.0005 --costs nominal --rebalance never'; do
        # shellcheck disable=SC2206 # a list of words
        common=(--generate clusters:n=3000 --steps 2 --balance $balance --quiet)
        expect "$ranks" "${common[@]}" --forces kept.hdf5 --report kept
        expect "$ranks" "${common[@]}" --forces handed.hdf5 --report handed --schedule factoring
        # Homes that follow measured loads change nothing: whole groups have the same bits wherever they are computed.
        "$same" kept.hdf5 handed.hdf5 0 || fail "--schedule changes forces on $ranks ranks with $balance"
        expect "$ranks" "${common[@]}" --forces fixed.hdf5 --schedule fixed:chunk=3
        "$same" kept.hdf5 fixed.hdf5 0 || fail "--schedule fixed:chunk=3 changes forces on $ranks ranks with $balance"
        python3 - "$ranks" <<'PY' || fail "report on $ranks ranks with $balance"
import csv, json, sys
kept, handed = (json.load(open(f"{name}/report.json")) for name in ("kept", "handed"))
assert len(kept["steps"]) == len(handed["steps"]) == 3
rows = list(csv.DictReader(open("handed/loads.csv")))
for i, (a, b) in enumerate(zip(kept["steps"], handed["steps"])):
    assert a["interactions"] == b["interactions"] and a["handed"] == 0
    mine = [row for row in rows if int(row["step"]) == i]
    assert len(mine) == int(sys.argv[1]) and b["handed"] == sum(int(float(row["helped"])) for row in mine)
    assert b["handed"] == 0 or int(sys.argv[1]) > 1
    assert sum(int(float(row["interactions"])) for row in mine) >= b["interactions"]
PY
    done
done

# One rank has nearly all the work, and idle ranks take some of it.
expect 3 --generate clusters:n=4000 --steps 2 --group-size 8 --balance sfc --share speeds:900,1,1 --report lopsided \
    --schedule static --quiet
[ "$(python3 -c 'import json; print(sum(step["handed"] for step in json.load(open("lopsided/report.json"))["steps"]) > 0)')" = True ] ||
    fail "nothing was handed out"
finish
