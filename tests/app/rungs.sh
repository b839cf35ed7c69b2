#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Individual time steps: the same bits as global steps if all particles have the same step, energy conservation if few
# need short ones, restarts, and refusals.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1
exact=(--quiet --balance sfc --precision double)

# active REPORT STEP: forces on particles of each rung, and the number of substeps.
active()
{
    python3 -c 'import json, sys; s = json.load(open(sys.argv[1] + "/report.json"))["steps"][int(sys.argv[2])]
print(*s["active"], "in", s["substeps"])' "$1" "$2"
}

# One rung equals no rungs; with all particles on one of several rungs, steps have its length.
scene=(--generate 'plummer:n=1000,seed=2')
expect 1 "${exact[@]}" "${scene[@]}" --steps 8 --dt 0.004 --forces plain.hdf5
expect 3 "${exact[@]}" "${scene[@]}" --steps 8 --dt 0.004 --forces one.hdf5 --rungs 1 --report one
expect 3 "${exact[@]}" "${scene[@]}" --steps 8 --dt 0.004 --forces first.hdf5 --rungs 4 --eta 1e9 --report first
expect 3 "${exact[@]}" "${scene[@]}" --steps 2 --dt 0.016 --forces last.hdf5 --rungs 3 --eta 1e-12 --report last
for name in one first last; do
    "$same" plain.hdf5 "$name.hdf5" 0 || fail "$name: all on one rung, and other bits"
done
[ "$(active one 1) / $(active first 2) / $(active last 2)" = "1000 in 1 / 1000 0 0 0 in 1 / 0 0 4000 in 4" ] ||
    fail "forces by rungs: $(active one 1) / $(active first 2) / $(active last 2)"

# A particle near a heavy one is alone on the last rung; on an ellipse its rung changes from step to step.
printf '%s\n' '1 0 0 0 0 0 0' '1e-9 0.05 0 0 0 4.4 0' '1e-9 5 0 0 0 0.4 0' '1e-9 -9 0 0 0 0.3 0' >heavy.txt
expect 2 heavy.txt "${exact[@]}" --steps 1 --dt 0.02 --rungs 8 --eta 0.001 --report deepest
[ "$(active deepest 1)" = "3 0 0 0 0 0 0 128 in 128" ] || fail "one particle on the last rung: $(active deepest 1)"
printf '%s\n' '1 0 0 0 0 0 0' '1e-9 1 0 0 0 0.3 0' '1e-9 8 0 0 0 0.3 0' >ellipse.txt
expect 2 ellipse.txt "${exact[@]}" --steps 44 --dt 0.05 --rungs 8 --eta 0.005 --report ellipse
python3 - <<'END' || fail "a particle on an ellipse does not change its rung as it should"
import json

steps = json.load(open("ellipse/report.json"))["steps"]
deepest = [max(r for r, n in enumerate(s["active"]) if n > 0) for s in steps[1:]]
print("deepest rungs", deepest)
assert all(s["active"][0] >= 2 for s in steps[1:])
assert len(set(deepest)) >= 4 and deepest[0] < max(deepest) and deepest[-1] < max(deepest)
END

# Cold clumps, of which only the smallest needs short steps: the number of forces is the same, the error less than a
# tenth.
python3 - >clumps.txt <<'END'
import random

draw = random.Random(5)
for n, size, mass, at in (30, 0.02, 0.1, 0.0), (200, 0.3, 0.2, 1.0), (370, 1.0, 0.7, -1.0):
    for _ in range(n):
        while True:
            x = [draw.uniform(-1, 1) for _ in range(3)]
            if sum(c * c for c in x) < 1:
                break
        print(mass / n, at + size * x[0], *(size * c for c in x[1:]), 0, 0, 0)
END
expect 3 clumps.txt "${exact[@]}" --alpha 0.001 --steps 5 --dt 0.03 --rungs 9 --report clumps
forces=$(python3 -c 'import json; r = json.load(open("clumps/report.json"))
print(-(-sum(sum(s["active"]) for s in r["steps"][1:]) // r["particles"]))')
dt=$(python3 -c "print(0.15 / $forces)")
expect 3 clumps.txt "${exact[@]}" --alpha 0.001 --steps "$forces" --dt "$dt" --report even
python3 - <<'END' || fail "rungs do not save what they should"
import json

def error(name):
    energy = [s["energy"] for s in json.load(open(name + "/report.json"))["steps"]]
    return max(abs(e / energy[0] - 1) for e in energy)

print("dE/E", error("clumps"), "with one size of steps", error("even"))
assert error("clumps") < 0.1 * error("even")
END

# A run resumes from its snapshots as if never stopped, on a different number of ranks as well.
common=(--steps 6 --dt 0.03 --rungs 8 --quiet --precision double)
expect 3 clumps.txt "${common[@]}" --balance sfc --forces whole.hdf5 --output part.hdf5 --output-every 2
expect 3 --restart part_000004.hdf5 "${common[@]}" --balance sfc --forces rest.hdf5
"$same" whole.hdf5 rest.hdf5 0 || fail "a restart does not give the same bits"
expect 3 clumps.txt "${common[@]}" --balance sfc:maps=phase --rebalance never --forces phases.hdf5 --output part.hdf5 --output-every 2
expect 3 --restart part_000004.hdf5 "${common[@]}" --balance sfc:maps=phase --rebalance never --forces rest.hdf5
"$same" phases.hdf5 rest.hdf5 0 || fail "a restart with a map for each phase does not give the same bits"
expect 2 --restart part_000004.hdf5 "${common[@]}" --balance count --forces other.hdf5
"$same" whole.hdf5 other.hdf5 1e-9 || fail "a restart on other ranks gives another physics"

# Every method and loop scheduling divide the work.
for method in interaction tiles levelled:homes=curve sfc:maps=phase,even=step auto 'sfc --schedule guided'; do
    # shellcheck disable=SC2086
    expect 3 clumps.txt "${common[@]}" --balance $method --rebalance 2 --forces other.hdf5
    "$same" whole.hdf5 other.hdf5 1e-9 || fail "$method gives another physics"
done

# If particles hardly move, each turn of a phase sends what a comparison predicted.
still=(--opening geometric --rungs 9 --dt 3e-10 --eta 5e-19 --costs nominal --exchange direct --quiet)
expect 2 clumps.txt "${still[@]}" --compare sfc,levelled,levelled:homes=curve,sfc:maps=phase,interaction:rate=0.05 --parts 3 --report foretold
for method in sfc levelled levelled:homes=curve sfc:maps=phase interaction:rate=0.05; do
    expect 3 clumps.txt "${still[@]}" --balance $method --rebalance never --steps 1 --report "real-$method"
done
python3 - <<'END' || fail "phases are not as they were foretold"
import json

for row in json.load(open("foretold/report.json"))["compare"]:
    step = json.load(open(f"real-{row['method']}/report.json"))["steps"][1]
    keys = "phase", "ghosts_total", "ghosts_max", "bytes_total", "bytes_max", "messages_max"
    told, real = ([[p[k] for k in keys] for p in of["phases"]] for of in (row, step))
    print(row["method"], "cycle efficiency", row["cycle_efficiency"], "measured", step["cycle_efficiency"])
    assert len(real) >= 4 and told == real, f"{row['method']}: {told} foretold, {real} real"
    assert [p["times"] for p in row["phases"]] == [p["turns"] for p in step["phases"]]
    for p, q in zip(row["phases"], step["phases"]):
        assert abs(p["imbalance"] - q["imbalance_predicted"]) < 1e-9, (p, q)
    assert sum(p["interactions"] * p["turns"] for p in step["phases"]) == step["interactions"]
END

refused 'rungs 3 needs a --softening' --generate plummer:n=100 --rungs 3 --softening 0
refused 'eta needs --rungs' --generate plummer:n=100 --eta 0.01
refused 'rungs' --generate plummer:n=100 --rungs 17
finish
