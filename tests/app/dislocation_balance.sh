#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every method of `--balance help` on four ranks computes the pairs and forces of one rank after five steps in which
# nodes are created and removed. The report of a run is complete.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1

# The network of the test: under a stress that splits, joins, removes and makes nodes in each of the first steps.
network=(--generate 'chains:n=14,box=11000,corners=8' --cells '3,3,3' --stress '0,0,2e9,0,0,0' --r-tol 10 --rann 100 --dt 1e-10)

# report DIR KEY: a value of report.json, as Python prints it; steps.KEY is the value in the last step
# equal DIR DIR KEY...: fails unless the values of two reports are equal
cat >report.py <<'END'
import json, sys
def value(folder, keys):
    value = json.load(open(f"{folder}/report.json"))
    for key in keys.split("."):
        value = value[key][-1] if key == "steps" else value[key]
    return value
if len(sys.argv) == 3:
    print(value(*sys.argv[1:]))
else:
    a, b, *keys = sys.argv[1:]
    for key in keys:
        assert value(a, key) == value(b, key), f"{key}: {value(a, key)} in {a}, {value(b, key)} in {b}"
END

report()
{
    python3 report.py "$@"
}

equal()
{
    report "$@" || fail "the reports of $1 and $2"
}

expect 1 --balance help
cp out methods
[ "$(head -n 1 methods | cut -c 1-6)" = method ] || fail "--balance help does not begin with a head: $(cat methods)"
methods=$(sed -n '3,$s/ .*//p' methods)
for method in none count sfc rcb interaction sectioning bisection; do
    [ "$(echo "$methods" | grep -cx "$method")" -eq 1 ] || fail "--balance help does not list $method once"
done

expect 1 "${network[@]}" --steps 5 --quiet --forces five.hdf5 --report five --output five.data
for kind in split collided coarsened refined; do
    python3 - "$kind" <<'END' || fail "no node was $kind in five steps: the network tests nothing"
import json, sys
sys.exit(sum(step[sys.argv[1]] for step in json.load(open("five/report.json"))["steps"]) == 0)
END
done
for method in $methods; do
    expect 4 "${network[@]}" --steps 5 --quiet --balance "$method" --rebalance 2 --forces a.hdf5 --report "$method-5" \
        --output a.data
    equal five "$method-5" interactions interactions_by_kind steps.nodes steps.segments steps.split steps.collided \
        steps.zipped steps.coarsened steps.refined
    "$same" five.hdf5 a.hdf5 1e-5 || fail "$method: after five steps forces differ from those of one rank"
done
# By counted work, because the CPU seconds of five small steps decide at random if a repair pays.
expect 4 "${network[@]}" --steps 5 --quiet --balance sfc --rebalance repair --costs nominal \
    --imbalance-tol 0.01 --forces a.hdf5 --report repaired --output a.data
equal five repaired interactions interactions_by_kind steps.nodes steps.segments steps.split steps.collided
"$same" five.hdf5 a.hdf5 1e-5 || fail "repaired maps: after five steps forces differ from those of one rank"
grep -q '"action": *"repair"' repaired/report.json || fail "no map was repaired"

python3 - $methods <<'END' || fail "reports"
import csv, json, sys
for method in sys.argv[1:]:
    report = json.load(open(f"{method}-5/report.json"))
    assert sum(report["interactions_by_kind"].values()) == report["interactions"] == report["steps"][-1]["interactions"]
    assert report["interactions_by_kind"].keys() <= report["cost_seconds_by_kind"].keys()
    assert [step["step"] for step in report["steps"]] == list(range(6)), method
    assert 0 <= report["regret"] < 1 and report["regret_best_seconds"] <= report["regret_run_seconds"], method
    for step in report["steps"]:
        assert step["method"] == method
        assert step["force_seconds_max"] >= step["force_seconds_mean"] > 0
        assert step["ghosts_total"] >= step["ghosts_max"] > 0 and step["bytes_sent"] > 0
    if method != "none":
        assert sum(step["rebalanced"] for step in report["steps"]) >= 2, method
        assert sum(step["migrated"] for step in report["steps"]) > 0, method
    rows = list(csv.DictReader(open(f"{method}-5/loads.csv")))
    assert [(int(row["step"]), int(row["rank"])) for row in rows] == [(s, r) for s in range(6) for r in range(4)]
    for step in report["steps"]:
        mine = [row for row in rows if int(row["step"]) == step["step"]]
        assert sum(int(row["interactions"]) for row in mine) == step["interactions"], (method, step["step"])
        assert sum(int(row["particles"]) for row in mine) == step["nodes"], (method, step["step"])
        load = [float(row["load"]) for row in mine]
        assert abs(max(load) / (sum(load) / 4) - 1 - step["imbalance_measured"]) < 1e-6
END

expect 4 "${network[@]}" --steps 2 --report said
head -n 1 out | grep -q '^dislocation .*336 nodes (generated chains) on 4 ranks, --balance auto, 3 x 3 x 3 cells$' ||
    fail "first line: $(head -n 1 out)"
[ "$(grep -c '^ *[0-2]  ' out)" -eq 3 ] || fail "three steps are not three lines: $(cat out)"
for word in rebalanced measured pairs nodes strain stress; do
    sed -n 3p out | grep -q "$word" || fail "no column $word: $(sed -n 3p out)"
done
grep -q "^$(report said interactions) segment pairs .* $(report said steps.parallel_pairs) of them near-parallel" out ||
    fail "the table disagrees with the report: $(cat out)"
[ ! -s err ] || fail "on stderr: $(cat err)"
expect 4 "${network[@]}" --steps 2 --quiet
[ ! -s out ] && [ ! -s err ] || fail "--quiet is not: $(cat out err)"
expect 1 "${network[@]}" --steps 2 --progress
grep -q '2/2\|100' err || fail "no progress on stderr: $(cat err)"
mv out alone
expect 1 "${network[@]}" --steps 2
[ "$(wc -l <alone)" -eq "$(wc -l <out)" ] || fail "--progress changes the table"
finish
