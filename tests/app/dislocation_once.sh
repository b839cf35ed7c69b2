#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every near pair of segments is computed once: the number of pairs matches a count by the definition and the forces
# match one rank, in shared memory and by every method, exchange plan and way to share work, at the start and after steps
# that change the network. The report and the table of a run are complete.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1
network=(--generate 'chains:n=6,box=6000,maxseg=500' --cells 5 --r-tol 20 --rann 60 --stress '0,0,0,5e8,5e8,0' --quiet)
split='--sample-rate 0.2 --imbalance-tol 0.0005'

# pairs DATA CELLS: near pairs of a network. A segment belongs to its end with the lower tag; it lies in the cell of the
# middle of the box around that node's segments; those of a cell and of the 26 around it are near.
cat >pairs.py <<'END'
import itertools, sys

text, cells = open(sys.argv[1]).read(), int(sys.argv[2])
low, high = ([float(w) for w in text.split(key + " = [")[1].split("]")[0].split()]
             for key in ("minCoordinates", "maxCoordinates"))
edge = [h - l for l, h in zip(low, high)]
lines = [line.split() for line in text.split("nodalData =")[1].splitlines() if line.strip() and "#" not in line]
nodes, at = {}, 0
while at < len(lines):
    tag, x, y, z, narms, _ = lines[at]
    arms = [lines[at + 1 + 2 * k][0] for k in range(int(narms))]
    nodes[tuple(map(int, tag.split(",")))] = ([float(x), float(y), float(z)],
                                              [tuple(map(int, arm.split(","))) for arm in arms])
    at += 1 + 2 * int(narms)
inside = {}
for tag, (x, arms) in nodes.items():
    ways = [[q - p - e * round((q - p) / e) for p, q, e in zip(x, nodes[arm][0], edge)] for arm in arms if arm > tag]
    if ways:
        middle = [p + (min(0, *w) + max(0, *w)) / 2 for p, w in zip(x, zip(*ways))]
        cell = tuple(int((m - l) % e / e * cells) for m, l, e in zip(middle, low, edge))
        inside[cell] = inside.get(cell, 0) + len(ways)
pairs = 0
for cell, n in inside.items():
    near = {tuple((c + s) % cells for c, s in zip(cell, step)) for step in itertools.product((-1, 0, 1), repeat=3)}
    pairs += n * (n - 1) + sum(n * inside.get(other, 0) for other in near - {cell})
print(pairs // 2)
END

# steps DIR KEY: of all steps of a report
steps()
{
    python3 -c 'import json, sys; print([s[sys.argv[2]] for s in json.load(open(sys.argv[1] + "/report.json"))["steps"]])' "$@"
}

# check NAME TOLERANCE: a run's pairs, nodes and forces are those of one rank
check()
{
    local key
    for key in interactions parallel_pairs nodes segments deferred; do
        [ "$(steps "$1" $key)" = "$(steps one $key)" ] || fail "$1: other $key than one rank: $(steps "$1" $key)"
    done
    "$same" one.hdf5 forces.hdf5 "$2" || fail "$1: other forces than one rank"
}

for cells in 3 5; do
    expect 1 "${network[@]}" --cells "$cells" --steps 6 --report count --output end.data --output-every 6
    expect 1 "${network[@]}" --cells "$cells" --steps 0 --output begin.data
    expected="$(python3 pairs.py begin.data "$cells") $(python3 pairs.py end_000006.data "$cells")"
    counted=$(python3 -c 'import json; s = json.load(open("count/report.json"))["steps"]; print(*(s[i]["interactions"] for i in (0, 6)))')
    [ "$counted" = "$expected" ] || fail "$cells cells: $counted pairs at first and at last, not $expected"
done

# Forces at the start differ in the order of summation only.
expect 1 "${network[@]}" --steps 0 --forces one.hdf5 --report one
while read -r ranks method options; do
    # shellcheck disable=SC2086
    expect "$ranks" "${network[@]}" --steps 0 --balance "$method" $options --forces forces.hdf5 --report first </dev/null
    check first 1e-12
done <<END
3 interaction $split --exchange two-stage+broadcast/2
7 interaction $split
2 sfc --node none
7 tiles:aspect=20 $split --sample-rate 0.6 --exchange log+node/4
3 none --schedule self
END

# After steps that change the network.
expect 1 "${network[@]}" --steps 6 --forces one.hdf5 --report one
made=$(steps one split)$(steps one collided)$(steps one refined)
[[ "$made" == *[1-9]* && "$(steps one coarsened)" == *[1-9]* ]] || fail "nodes do not come and go"
while read -r ranks method options; do
    # shellcheck disable=SC2086
    expect "$ranks" "${network[@]}" --steps 6 --costs nominal --balance "$method" $options --forces forces.hdf5 --report run </dev/null
    check run 1e-8
    [[ "$options" != *sample-rate* ]] || [[ "$(steps run split_owners)" == *[1-9]* ]] || fail "$method shares no owner"
done <<END
2 count
2 count --exchange two-stage
3 sectioning --rebalance 1 --exchange direct+broadcast/2
4 bisection --rebalance 1 --exchange direct+node/2
7 interaction $split
7 interaction $split --node none
3 sfc --rebalance 1
3 sectioning --rebalance 1
3 interaction $split --rebalance 2 --exchange log+broadcast/4+node/4
7 sfc:split,even=step $split --rebalance 2 --exchange log
3 tiles:aspect=20 $split --sample-rate 0.6 --rebalance 2 --exchange two-stage --schedule self
3 bisection --rebalance 1 --schedule awf-c
3 interaction --sample-strategy random --rebalance 3
END

# Where MPI gives no shared memory, segments are sent, and one line says so.
if "${MPIEXEC:-mpirun}" --version 2>/dev/null | grep -q 'Open MPI'; then
    for way in none auto; do
        OMPI_MCA_osc='^sm,ucx' expect 3 "${network[@]:0:${#network[@]}-1}" --steps 1 --costs nominal --balance sfc \
            --node "$way" --forces "$way.hdf5" --report "way-$way"
        grep -q '^dislocation: note: ranks get no shared memory: they send segments$' err && noted=$way
    done
    [ "$noted" = auto ] || fail "the note is for --node $noted"
    cmp none.hdf5 auto.hdf5 || fail "other forces without shared memory"
    [ "$(steps way-auto ghosts_total)" = "$(steps way-none ghosts_total)" ] || fail "other ghosts without shared memory"
fi
expect 3 "${network[@]}" --steps 1 --report together
[ "$(steps together ghosts_total)" = '[0, 0]' ] || fail "ghosts in shared memory"

# A network that doubles in its first step outgrows the memory of its segments.
expect 1 "${network[@]}" --max-seg 260 --steps 2 --forces one.hdf5 --report one
expect 3 "${network[@]}" --max-seg 260 --steps 2 --costs nominal --balance sfc --forces forces.hdf5 --report grown
check grown 1e-8

# Every method on four ranks.
expect 1 --balance help
cp out methods
[ "$(head -n 1 methods | cut -c 1-6)" = method ] || fail "--balance help does not begin with a head: $(cat methods)"
methods=$(sed -n '3,$s/ .*//p' methods)
for method in none count sfc rcb interaction sectioning bisection; do
    [ "$(echo "$methods" | grep -cx "$method")" -eq 1 ] || fail "--balance help does not list $method once"
done
scene=(--generate 'chains:n=14,box=11000,corners=8' --cells '3,3,3' --stress '0,0,2e9,0,0,0' --r-tol 10 --rann 100 --dt 1e-10)
expect 1 "${scene[@]}" --steps 6 --quiet --forces one.hdf5 --report one
for method in $methods 'sfc repair'; do
    read -r word policy <<<"$method"
    expect 4 "${scene[@]}" --steps 6 --quiet --costs nominal --imbalance-tol 0.01 --balance "$word" --rebalance "${policy:-2}" \
        --forces forces.hdf5 --report "${policy:-$word}"
    check "${policy:-$word}" 1e-5
done
grep -q '"action": *"repair"' repair/report.json || fail "no map was repaired"

python3 - $methods <<'END' || fail "reports"
import csv, json, sys
for method in sys.argv[1:]:
    report = json.load(open(f"{method}/report.json"))
    assert sum(report["interactions_by_kind"].values()) == report["interactions"] == report["steps"][-1]["interactions"]
    assert report["interactions_by_kind"].keys() <= report["cost_seconds_by_kind"].keys()
    assert [step["step"] for step in report["steps"]] == list(range(7)), method
    assert 0 <= report["regret"] < 1 and report["regret_best_seconds"] <= report["regret_run_seconds"], method
    for step in report["steps"]:
        assert step["method"] == method
        assert step["force_seconds_max"] >= step["force_seconds_mean"] > 0
        assert step["ghosts_total"] == step["ghosts_max"] == 0 and step["bytes_sent"] > 0, (method, step)
    if method != "none":
        assert sum(step["rebalanced"] for step in report["steps"]) >= 2, method
        assert sum(step["migrated"] for step in report["steps"]) > 0, method
    rows = list(csv.DictReader(open(f"{method}/loads.csv")))
    assert [(int(row["step"]), int(row["rank"])) for row in rows] == [(s, r) for s in range(7) for r in range(4)]
    for step in report["steps"]:
        mine = [row for row in rows if int(row["step"]) == step["step"]]
        assert sum(int(row["interactions"]) for row in mine) == step["interactions"], (method, step["step"])
        assert sum(int(row["particles"]) for row in mine) == step["nodes"], (method, step["step"])
        load = [float(row["load"]) for row in mine]
        assert abs(max(load) / (sum(load) / 4) - 1 - step["imbalance_measured"]) < 1e-6
END

expect 4 "${scene[@]}" --steps 2 --report said
head -n 1 out | grep -q '^dislocation .*336 nodes (generated chains) on 4 ranks, --balance auto, 3 x 3 x 3 cells$' ||
    fail "first line: $(head -n 1 out)"
[ "$(grep -c '^ *[0-2]  ' out)" -eq 3 ] || fail "three steps are not three lines: $(cat out)"
for word in rebalanced measured pairs nodes strain stress; do
    sed -n 3p out | grep -q "$word" || fail "no column $word: $(sed -n 3p out)"
done
last=$(python3 -c 'import json; s = json.load(open("said/report.json"))["steps"][-1]; print(s["interactions"], s["parallel_pairs"])')
grep -q "^${last% *} segment pairs .* ${last#* } of them near-parallel" out ||
    fail "the table disagrees with the report: $(cat out)"
[ ! -s err ] || fail "on stderr: $(cat err)"
expect 4 "${scene[@]}" --steps 2 --quiet
[ ! -s out ] && [ ! -s err ] || fail "--quiet is not: $(cat out err)"
expect 1 "${scene[@]}" --steps 2 --progress
grep -q '2/2\|100' err || fail "no progress on stderr: $(cat err)"
mv out alone
expect 1 "${scene[@]}" --steps 2
[ "$(wc -l <alone)" -eq "$(wc -l <out)" ] || fail "--progress changes the table"

# No rank holds all nodes, or all segments including its ghosts.
expect 7 --generate chains:n=60,box=20000,maxseg=600 --steps 0 --cells 10 --balance sfc --quiet --report large
python3 - <<'END' || fail "a rank of seven holds too much"
import csv, json

step = json.load(open("large/report.json"))["steps"][0]
for rank in csv.DictReader(open("large/loads.csv")):
    assert 4 * int(rank["particles"]) < step["nodes"], rank
    assert 3 * (int(rank["targets"]) + int(rank["ghosts"])) < 2 * step["segments"], rank
END
finish
