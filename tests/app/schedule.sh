#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Work is handed out within a step: forces have the same bits by every method, and those of a run without scheduling up
# to rounding; the report counts the work handed out; idle ranks take work; unknown methods are refused.
# usage: schedule.sh SAME_FORCES TOLERANCE REST INPUT...
# TOLERANCE: of forces against a run without scheduling, 0 where whole groups have the same bits wherever they are
# computed. REST: a snapshot's name to test that a stopped run resumes with the same bits by any method, or "".
source "$(dirname "$0")/../helpers/lib.sh"
same=$1 tolerance=$2 rest=$3
input=("${@:4}" --quiet)
balances=('none --opening relative' 'sfc --opening relative --rebalance 1' 'none --cutoff 0.2 --precision double'
    'interaction --sample-rate 0.05 --imbalance-tol 0.0005 --costs nominal --rebalance never')
[ "$tolerance" = 0 ] || balances=('none --rebalance never' 'bisection --rebalance never')

expect 1 --schedule help
for method in static self factoring awf-c fractiling; do
    grep -q "^$method " out || fail "--schedule help lists no $method: $(cat out)"
done
refused_by_all nonsense "${input[@]}" --schedule nonsense
refused 'no step' "${input[@]}" --schedule factoring --compare none,sfc --parts 2

for ranks in 1 3; do
    for balance in "${balances[@]}"; do
        # shellcheck disable=SC2206 # a list of words
        common=("${input[@]}" --steps 2 --balance $balance)
        expect "$ranks" "${common[@]}" --forces kept.hdf5 --report kept
        expect "$ranks" "${common[@]}" --forces first.hdf5 --report handed --schedule factoring
        "$same" kept.hdf5 first.hdf5 "$tolerance" || fail "--schedule changes forces on $ranks ranks with $balance"
        for method in fixed:chunk=3 adaptive-factoring; do
            expect "$ranks" "${common[@]}" --forces next.hdf5 --schedule "$method"
            "$same" first.hdf5 next.hdf5 0 || fail "--schedule $method changes bits on $ranks ranks with $balance"
        done
        python3 - "$ranks" <<'PY' || fail "report on $ranks ranks with $balance"
import csv, json, sys
kept, handed = (json.load(open(f"{name}/report.json")) for name in ("kept", "handed"))
rows = list(csv.DictReader(open("handed/loads.csv")))
assert len(kept["steps"]) == len(handed["steps"]) == 3
for i, (a, b) in enumerate(zip(kept["steps"], handed["steps"])):
    assert all(a[key] == b[key] for key in a.keys() & {"interactions", "pairs", "parallel_pairs", "nodes", "segments"}), (a, b)
    mine = [row for row in rows if int(row["step"]) == i]
    assert len(mine) == int(sys.argv[1]) and a["handed"] == 0 and b["handed"] == sum(int(row["helped"]) for row in mine)
    assert b["handed"] == 0 or int(sys.argv[1]) > 1
    more = sum(int(row["interactions"]) for row in mine) - b["interactions"]
    assert more >= 0 if handed["app"] == "barneshut" else more == 0, more
PY
    done
    expect "$ranks" "${input[@]}" --steps 0 --balance none --forces kept.hdf5
    expect "$ranks" "${input[@]}" --steps 0 --balance none --forces handed.hdf5 --schedule awf-b
    "$same" kept.hdf5 handed.hdf5 1e-13 || fail "--schedule changes forces by more than rounding on $ranks ranks"
done

# One rank has nearly all the work, and idle ranks take some of it.
expect 3 "${input[@]}" --steps 2 --balance sfc --share speeds:900,1,1 --report lopsided --schedule static
[ "$(python3 -c 'import json; print(sum(step["handed"] for step in json.load(open("lopsided/report.json"))["steps"]) > 0)')" = True ] ||
    fail "nothing was handed out"

if [ -n "$rest" ]; then
    expect 3 "${input[@]}" --steps 6 --balance none --schedule factoring --forces whole.hdf5
    expect 3 "${input[@]}" --steps 3 --balance none --schedule factoring --output "$rest"
    for method in factoring self; do
        expect 3 --restart "$rest" --steps 6 --quiet --balance none --schedule "$method" --forces "rest-$method.hdf5"
        "$same" whole.hdf5 "rest-$method.hdf5" 1e-6 || fail "a restart with --schedule $method gives another physics"
    done
    "$same" rest-factoring.hdf5 rest-self.hdf5 0 || fail "restarts differ by the method"
fi
finish
