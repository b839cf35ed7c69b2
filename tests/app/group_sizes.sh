#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --group-size auto: a comparison gives each method its best size at each number of parts, as separate comparisons
# would; a run reports its size and computes the same as a run with that size; a restart resumes.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1
compared=(--generate clusters:n=2000 --compare 'count,sfc,rcb' --parts 4,32 --costs nominal --opening geometric --precision
    double --dt 0.001)

expect 3 "${compared[@]}" --group-size auto --report auto
grep -q 'parts  method  group  imbalance' out || fail "no sizes: $(cat out)"
for size in 16 32 64 128; do
    expect 1 "${compared[@]}" --group-size $size --report fixed$size
    grep -q group out && fail "a size that was given has a column: $(cat out)"
done
python3 - <<'END' || fail "--compare has not the best size of each method"
import json

def rows(name):
    return json.load(open(f"{name}/report.json"))["compare"]

auto, fixed = rows("auto"), {size: rows(f"fixed{size}") for size in (16, 32, 64, 128)}
assert json.load(open("auto/report.json"))["group_size"] is None
for i, row in enumerate(auto):
    best = min(fixed, key=lambda size: fixed[size][i]["step_next"])
    print(row["method"], row["parts"], row["group_size"], *(f"{fixed[size][i]['step_next']:.5g}" for size in fixed))
    assert row.pop("group_size") == best
    row.pop("balance_seconds")
    for key, value in row.items():  # forces on different ranks differ in the last digits
        other = fixed[best][i][key]
        assert value == other or abs(value - other) <= 1e-9 * abs(other), (key, value, other)
assert len({row["step_next"] for row in auto}) == len(auto)
END

run_of=(--generate clusters:n=2000 --opening geometric --precision double --costs nominal --quiet)
expect 4 "${run_of[@]}" --steps 0 --balance auto --group-size auto --report run --forces auto.hdf5 --output part.hdf5
size=$(python3 -c 'import json; print(json.load(open("run/report.json"))["steps"][-1]["group_size"])')
expect 1 "${run_of[@]}" --steps 0 --group-size "$size" --forces fixed.hdf5
"$same" auto.hdf5 fixed.hdf5 1e-12 || fail "forces of groups of $size by auto"
expect 3 "${run_of[@]}" --steps 12 --rebalance 3 --balance sfc --group-size auto --report run --output again.hdf5
expect 2 --restart again.hdf5 --opening geometric --precision double --costs nominal --quiet --steps 14 --group-size auto \
    --report again
python3 - <<'END' || fail "steps do not say which size they have"
import json

for name in ("run", "again"):
    sizes = [step["group_size"] for step in json.load(open(f"{name}/report.json"))["steps"]]
    print(name, *sizes)
    assert set(sizes) <= {16, 32, 64, 128}
END
expect 1 --help
grep -q "or 'auto'" out || fail "help does not know auto"
finish
