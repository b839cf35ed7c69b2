#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Many more ranks than cores: three steps on 64 ranks give the forces, the interactions and the particles of one rank.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1
ranks=${2:-64}
# Weights are counted work, so no clock affects the promised balance; no group is heavier than a rank's share.
common=(--generate clusters:n=8192 --steps 3 --rebalance 2 --precision double --costs nominal --group-size 32)

expect 1 "${common[@]}" --balance none --quiet --forces one.hdf5 --report one
for method in sfc interaction; do
    expect "$ranks" "${common[@]}" --balance "$method" --quiet --forces many.hdf5 --report many
    # The ids are the ids of the file in its order: every particle occurs once.
    "$same" one.hdf5 many.hdf5 1e-9 || fail "$method: forces on $ranks ranks"
    python3 - "$method" "$ranks" <<'EOF' || fail "$method: report"
import csv, json, math, sys
one, many = (json.load(open(f"{name}/report.json")) for name in ("one", "many"))
method, ranks = sys.argv[1], int(sys.argv[2])
assert many["ranks"] == ranks and len(many["steps"]) == 4
rows = list(csv.DictReader(open("many/loads.csv", newline="")))
for s, t in zip(one["steps"], many["steps"]):
    assert s["interactions"] == t["interactions"] > 0, (s["interactions"], t["interactions"])
    assert math.isclose(s["energy"], t["energy"], rel_tol=1e-10)
    here = [row for row in rows if int(row["step"]) == t["step"]]
    assert sum(int(row["particles"]) for row in here) == one["particles"]
    assert sum(int(row["interactions"]) for row in here) == t["interactions"] + one["particles"]
    assert t["imbalance_promised"] < 0.2, t["imbalance_promised"]
last = many["steps"][-1]
print(f'{method}: promised {100 * last["imbalance_promised"]:.1f} %, split owners {last["split_owners"]}, '
      f'ghosts {last["ghosts_total"]}, balancing {last["balance_seconds"]:.2f} s')
EOF
done
finish
