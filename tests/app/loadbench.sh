#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# loadbench as a program: values do not depend on the ranks, recorded loads can be replayed, bad input gives one line.
source "$(dirname "$0")/../helpers/lib.sh"

graph='--generate octree:n=600,edge=5 --scenario walk:sigma=0.5 --unit 1e-8'
expect 1 $graph --steps 3 --balance sfc --quiet --report one
expect 3 $graph --steps 3 --balance rcb --rebalance 1 --start first --exchange log+broadcast/4 --share speeds:1,1,2 \
    --report three
grep -q '(octree:n=600,edge=5), weights by walk:sigma=0.5, on 3 ranks, --balance rcb' out || fail "$(head -n 1 out)"
expect 3 $graph --steps 3 --balance rcb --rebalance 1 --lazy 1:delay=1 --quiet --report late
expect 2 three/loads.csv --generate triangles:n=300 --steps 5 --balance none --unit 1e-8 --report again
grep -q 'weights by three/loads.csv, on 2 ranks' out || fail "title: $(head -n 1 out)"
expect 2 --generate grid:n=500 --compare sfc,rcb --parts 4,8 --quiet --report compared
python3 - <<'PY' || fail "values"
import csv, json
def report(name):
    return json.load(open(f"{name}/report.json"))
def steps(name):
    return report(name)["steps"]
one, three, late = steps("one"), steps("three"), steps("late")
assert len({s["checksum"] for s in one}) == 4 and len({s["interactions"] for s in one}) == 4
assert [(s["checksum"], s["interactions"], s["sum"]) for s in one] == [(s["checksum"], s["interactions"], s["sum"]) for s in three]
assert [s["checksum"] for s in late] == [s["checksum"] for s in one] and report("late")["lazy"]["maps"] > 0
assert three[0]["imbalance_predicted"] > 1.5 and three[3]["imbalance_predicted"] < 0.3, three
assert one[0]["cut"] == 0 and three[0]["cut"] == 0 and three[3]["cut"] > 0
# Three ranges of a hundred items weigh the recorded loads of the ranks in each step; later steps repeat the last ones.
loads = [[float(r["load"]) for r in csv.DictReader(open("three/loads.csv")) if int(r["step"]) == s] for s in range(4)]
mean = sum(map(sum, loads)) / 12
for s, of in enumerate(steps("again")):
    expected = sum(round(1000 * load / mean) * 100 for load in loads[min(s, 3)])
    assert of["interactions"] == expected, (s, of["interactions"], expected)
rows = report("compared")["compare"]
assert [(r["method"], r["parts"]) for r in rows] == [(m, p) for p in (4, 8) for m in ("sfc", "rcb")], rows
assert all(r["imbalance"] < 0.2 for r in rows), rows
PY

# Every graph and every scenario, by several methods, policies and starts; more ranks than vertices.
steps()
{
    python3 -c 'import json, sys
print([(s["checksum"], s["interactions"], s["sum"]) for s in json.load(open(sys.argv[1] + "/report.json"))["steps"]])' "$1"
}
while read -r graph weights method policy start; do
    for ranks in 1 3; do
        expect $ranks --generate "$graph" --scenario "$weights" --balance "$method" --rebalance "$policy" --start "$start" \
            --steps 3 --unit 1e-9 --array 4096 --quiet --report "on-$ranks" </dev/null
    done
    [ "$(steps on-1)" = "$(steps on-3)" ] || fail "$graph, $weights, $method: $(steps on-1) on one rank, $(steps on-3) on three"
    [ "$(steps on-3 | grep -o "'[0-9a-f]*'" | sort -u | wc -l)" -eq 4 ] || fail "$graph: values stay: $(steps on-3)"
done <<END
octree:n=200,edge=5 walk:sigma=0.5 hypergraph auto scatter
octree:n=200,edge=5 walk:sigma=0.5 sfc:split 2 first
octree:n=200,edge=5 walk:sigma=0.5 diffusion never slabs
grid:n=150 front:peak=50,width=0.05,speed=0.2 rcb 1 curve
triangles:n=150,edge=3 static tiles repair slabs
particles:n=150 jump:every=2 sfc auto scatter
grid:n=2 front sfc 1 first
grid:n=1 front:peak=1000 interaction 1 first
END

printf 'step,rank,load,predicted\n0,0,0,\n0,1,0,\n' >idle.csv
refused_by_all 'all loads are 0' idle.csv
refused 'exclude each other' idle.csv --scenario walk
refused 'would be overwritten' one/loads.csv --report one
refused 'not a loads.csv' one/report.json
refused 'no kind of graphs' --generate sponge
refused 'sigma=9 is not' --scenario walk:sigma=9
refused 'no such option' --restart file
refused 'is not a number' --unit 0
refused 'needs --parts' --compare sfc
for words in '--generate help' '--scenario help'; do
    expect 1 $words
    [ "$(wc -l <out)" -gt 5 ] || fail "$words: $(cat out)"
done
finish
