#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Cell pairs are handed out while forces are computed: forces have the same bits by every method and differ by rounding
# from a run without scheduling; the report counts the pairs handed out; restarts resume alike; unknown methods are
# refused.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1
network=(--generate 'chains:n=20,box=12000,corners=8' --cells '4,4,4' --stress '0,0,2e9,0,0,0' --r-tol 10 --dt 1e-10 --quiet)

expect 1 --schedule help
for method in static self factoring awf-c fractiling; do
    grep -q "^$method " out || fail "--schedule help lists no $method: $(cat out)"
done
refused_by_all nonsense "${network[@]}" --schedule nonsense
refused 'no step' --generate chains:n=5 --schedule factoring --compare none,sfc --parts 2

# handed KEPT HANDED RANKS: two reports of runs that differ by --schedule
handed()
{
    python3 - "$@" <<'END' || fail "reports $1 and $2 on $3 ranks"
import csv, json, sys
kept, handed = (json.load(open(f"{name}/report.json")) for name in sys.argv[1:3])
ranks = int(sys.argv[3])
rows = list(csv.DictReader(open(f"{sys.argv[2]}/loads.csv")))
assert len(kept["steps"]) == len(handed["steps"])
for a, b in zip(kept["steps"], handed["steps"]):
    for key in ("interactions", "pairs", "parallel_pairs", "nodes", "segments"):
        assert a[key] == b[key], (a["step"], key, a[key], b[key])
    mine = [row for row in rows if int(row["step"]) == b["step"]]
    assert a["handed"] == 0 and b["handed"] == sum(int(row["helped"]) for row in mine)
    assert sum(int(row["interactions"]) for row in mine) == b["interactions"] and len(mine) == ranks
    assert b["handed"] == 0 or ranks > 1
END
}

for ranks in 1 3; do
    for balance in none bisection; do
        [ "$ranks" -gt 1 ] || [ "$balance" = none ] || continue # one rank has nothing to balance
        common=("${network[@]}" --steps 3 --balance "$balance" --rebalance never)
        expect "$ranks" "${common[@]}" --forces kept.hdf5 --report kept
        expect "$ranks" "${common[@]}" --forces first.hdf5 --report handed --schedule factoring
        "$same" kept.hdf5 first.hdf5 1e-6 || fail "--schedule changes the physics on $ranks ranks with $balance"
        handed kept handed "$ranks"
        for method in static self adaptive-factoring; do
            expect "$ranks" "${common[@]}" --forces next.hdf5 --schedule "$method"
            "$same" first.hdf5 next.hdf5 0 || fail "$method changes bits on $ranks ranks with $balance"
        done
    done
    expect "$ranks" "${network[@]}" --steps 0 --balance none --forces kept.hdf5
    expect "$ranks" "${network[@]}" --steps 0 --balance none --forces handed.hdf5 --schedule awf-b
    "$same" kept.hdf5 handed.hdf5 1e-13 || fail "--schedule changes forces by more than rounding on $ranks ranks"
done

# One rank has nearly all the work, and idle ranks take some of it.
expect 3 "${network[@]}" --steps 3 --balance sfc --share speeds:900,1,1 --report lopsided --schedule static
[ "$(python3 -c 'import json; print(sum(step["handed"] for step in json.load(open("lopsided/report.json"))["steps"]) > 0)')" = True ] ||
    fail "nothing was handed out"

# A stopped run resumes with the same bits as any run.
expect 3 "${network[@]}" --steps 6 --balance none --schedule factoring --forces whole.hdf5
expect 3 "${network[@]}" --steps 3 --balance none --schedule factoring --output half.data
for method in factoring self; do
    expect 3 --restart half.data --steps 6 --quiet --balance none --schedule "$method" --forces "rest-$method.hdf5"
    "$same" whole.hdf5 "rest-$method.hdf5" 1e-6 || fail "a restart with --schedule $method gives another physics"
done
"$same" rest-factoring.hdf5 rest-self.hdf5 0 || fail "restarts differ by the method"
finish
