#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Output and input: a snapshot read back is the same problem, text is read, XDMF is well formed, reports are complete.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1

# The relative criterion uses the forces of the last step, which a snapshot does not contain.
forces=(--opening geometric --precision double --quiet)
expect 3 --generate plummer:n=3000 --steps 2 "${forces[@]}" --forces first.hdf5 --output run.hdf5 --report report
expect 2 run.hdf5 --steps 0 "${forces[@]}" --forces again.hdf5 --report report2
"$same" first.hdf5 again.hdf5 1e-12 || fail "the forces of a snapshot that was written and read differ"
python3 - <<'EOF' || fail "report, loads.csv or XDMF"
import csv, json, os, xml.dom.minidom
xml.dom.minidom.parse("run.xdmf")
report = json.load(open("report/report.json"))
assert report["schema"] == 1 and report["app"] == "barneshut" and report["ranks"] == 3
assert report["particles"] == 3000 and report["version"] and "--generate" in report["command"]
assert report["interactions"] == sum(report["interactions_by_kind"].values()) > 0
assert set(report["cost_seconds_by_kind"]) >= {"pair", "cell"}
assert {"rmse", "rank_correlation"} <= set(report["model"])
assert [s["step"] for s in report["steps"]] == [0, 1, 2]
need = {"method", "rebalanced", "imbalance_predicted", "imbalance_measured", "force_seconds_max", "force_seconds_mean",
        "balance_seconds", "migrated", "ghosts_total", "ghosts_max", "bytes_sent", "energy"}
for step in report["steps"]:
    assert need <= set(step), need - set(step)
assert report["steps"][0]["rebalanced"] is True
rows = list(csv.DictReader(open("report/loads.csv", newline="")))
assert [(r["step"], r["rank"]) for r in rows] == [(str(s), str(k)) for s in range(3) for k in range(3)]
assert sum(int(r["particles"]) for r in rows[:3]) == 3000
EOF
printf '# m x y z vx vy vz\n0.5 1 0 0 0 0.5 0 extra\n0.5 -1 0 0 0 -0.5 0 more\n' >two.txt
for ranks in 1 2 3; do
    expect "$ranks" two.txt --steps 3 --softening 0 --dt 0.01 --report two
    [ "$(value two/report.json particles)" = 2 ] || fail "two particles on $ranks ranks"
    [ "$(value two/report.json interactions)" = 2 ] || fail "interactions of two particles on $ranks ranks"
done
printf '1 0 0 0 1 0 0\n' >one.txt
expect 4 one.txt --steps 2 --dt 0.1 --report one
[ "$(value one/report.json interactions)" = 0 ] || fail "one particle has interactions"
# Three bodies on a figure eight come back after one period: text input, no softening, motion over many steps.
eight=$(dirname "$(dirname "$(dirname "$0")")")/data/figure-eight.txt
for steps in 0 1000; do
    expect 2 "$eight" --softening 0 --dt 0.00632591398 --steps "$steps" --quiet --forces "eight-$steps.hdf5"
done
"$same" eight-0.hdf5 eight-1000.hdf5 1e-3 || fail "the figure eight does not close"
expect 1 --version
grep -q '^barneshut [0-9]' out || fail "version: $(cat out)"
for kind in commit compiler MPI; do
    grep -q "^$kind  *[^ ]" out || fail "version says nothing of $kind: $(cat out)"
done
expect 1 --balance help
for method in none count sfc rcb interaction; do
    grep -q "^$method " out || fail "--balance help lacks $method"
done
finish
