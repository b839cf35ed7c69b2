#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# equipoise-compare as a program: all formats of a run give the same result, maps match their table, small sets are as
# even as possible, and bad input gives one line. usage: referee.sh MAKE_TRACE
source "$(dirname "$0")/../helpers/lib.sh"
make_trace=$1

printf 'item load\n0 1\n' >plain.csv
for format in csv tsv vt boxes charm; do
    python3 "$make_trace" $format $format 216 3 4
done
sed 's/,/;/g' csv/items.csv >both.csv
cat csv/edges.csv >>both.csv
expect 1 csv/items.csv --edges csv/edges.csv --compare sfc --quiet --report csv-report
expect 1 tsv/items.tsv --edges tsv/edges.tsv --compare sfc --quiet --report tsv-report
expect 1 both.csv --compare sfc --quiet --report both-report
expect 1 vt/data.0.json vt/data.3.json vt/data.2.json vt/data.1.json --compare sfc --quiet --report vt-report
expect 1 boxes/LBC.txt --compare sfc --quiet --report boxes-report
expect 3 charm --compare sfc --quiet --report charm-report
python3 - <<'PY' || fail "formats"
import csv, json
def run(name):
    rows = json.load(open(f"{name}-report/report.json"))["compare"]
    assert [r["method"] for r in rows] == ["as-run", "sfc"], rows
    return rows
base = run("csv")
for name in "tsv", "both", "boxes", "vt", "charm":
    rows, fixed = run(name), name in ("vt", "charm")
    for mine, theirs in zip(rows, base):
        if theirs["method"] == "sfc" and fixed:
            continue  # without positions the curve differs
        for key in "load_max", "load_mean", "imbalance", "imbalance_next", "step_seconds", "ghosts_total", "bytes_total":
            if name != "boxes" or key not in ("ghosts_total", "bytes_total", "step_seconds"):
                # Processors do 1e-5 s of background work in vt's trace and in the dump.
                assert abs(mine[key] - theirs[key]) <= (2e-5 if fixed else 1e-8) * max(1, abs(theirs[key])), (name, key, mine, theirs)
PY

python3 - <<'PY' || fail "loads of the run"
import csv
loads = [float(r["load"]) for r in csv.DictReader(open("csv-report/loads.csv"))]
run = [0.0] * 12
for r in csv.DictReader(open("csv/items.csv")):
    run[4 * int(r["phase"]) + int(r["rank"])] += float(r["load_seconds"])
assert len(loads) == 12 and all(abs(a - b) < 1e-9 for a, b in zip(loads, run)), (loads, run)
PY

# A map written for vt and read again: the phase that it was made from is unchanged, the next phases follow the map.
mkdir new
expect 1 vt --compare sfc --map new/data.%p.json --method sfc --quiet --report made
expect 1 new --compare count --phase 1 --quiet --report again
python3 - <<'PY' || fail "files for OfflineLB"
import json
made, again = (json.load(open(f"{name}/report.json")) for name in ("made", "again"))
sfc, followed = made["compare"][1], again["compare"][0]
assert followed["method"] == "as-run" and abs(followed["imbalance"] - sfc["imbalance_next"]) < 1e-12, (followed, sfc)
homes = {}
for r in range(4):
    old, new = (json.load(open(f"{name}/data.{r}.json")) for name in ("vt", "new"))
    assert [p["id"] for p in new["phases"]] == [0, 1, 2] and new["metadata"]["type"] == "LBDatafile"
    key = lambda task: json.dumps(task["entity"], sort_keys=True)
    assert sorted(map(key, old["phases"][0]["tasks"])) == sorted(map(key, new["phases"][0]["tasks"]))
    for p in new["phases"]:
        assert all(t["node"] == r for t in p["tasks"])
        homes[r, p["id"]] = sorted(map(key, p["tasks"]))
    assert homes[r, 1] == homes[r, 2]
    assert all(t["entity"]["home"] == r for t in new["phases"][2]["tasks"] if not t["entity"]["migratable"])
assert any(homes[r, 0] != homes[r, 1] for r in range(4))
assert len({task for r in range(4) for task in homes[r, 1]}) == 216 + 4
PY

# Two phases of one cycle: a map that is even only in their sum waits in both. Edges of the second phase count in it
# alone.
python3 - <<'PY'
with open("cycle.csv", "w") as f:
    print("item,x,y,load,phase,rank,bytes", file=f)
    for phase in range(4):
        for i in range(64):
            print(i, i, 0, 1 if phase % 2 == 0 else 3 if i < 16 else 0, phase, i // 16, 10, sep=",", file=f)
    print("\nfrom,to,bytes,phase", file=f)
    for i in range(15):
        print(i, i + 1, 10, 1, sep=",", file=f)
PY
expect 1 cycle.csv --cycle 2 --compare sfc,levelled,auto --quiet --report cycle-report
expect 2 cycle.csv --cycle 2 --compare sfc,levelled,auto --quiet --report cycle-again
python3 - <<'PY' || fail "cycles"
import json
rows, again = (json.load(open(f"cycle-{name}/report.json"))["compare"] for name in ("report", "again"))
run, sfc, levelled, auto = rows
assert run["method"] == "as-run" and abs(run["cycle_efficiency"] - (16 + 12) / (16 + 48)) < 1e-12, run
assert abs(run["phases"][1]["imbalance"] - 3) < 1e-12 and run["ghosts_total"] == 0, run
assert sfc["cycle_efficiency"] < 0.7 and levelled["cycle_efficiency"] > 1 - 1e-9, (sfc, levelled)
assert levelled["phases"][0]["ghosts_total"] == 0 and levelled["phases"][1]["ghosts_total"] >= 3, levelled
assert auto["step_seconds"] <= min(sfc["step_seconds"], levelled["step_seconds"]), auto
for row, same in zip(rows, again):
    assert row["load_max"] == row["step_seconds"] or row["ghosts_total"] > 0, row
    assert abs(row["imbalance"] - row["imbalance_next"]) < 1e-12, row
    assert all(row[k] == same[k] for k in ("load_max", "ghosts_total", "cycle_efficiency", "phases")), (row, same)
PY

# Small sets: no map is more even than the optimum, and each is as even as its method guarantees; the modeled loads and
# ghosts of a map follow from its file.
cat >small.py <<'PY'
import csv, itertools, json, random, subprocess, sys, os

app = os.environ["APP"]
for seed in range(3):
    rng = random.Random(seed)
    n = 8 + seed
    load = [[1, rng.randrange(1, 30), rng.choice([1, 1, 2, 40])][seed] / 8 for _ in range(n)]
    if seed == 2:
        load[3] = 0.0
    edges = [(rng.randrange(n), rng.randrange(n), rng.randrange(1, 999)) for _ in range(2 * n)]
    place = [[rng.random() for _ in range(3)] for _ in range(n)]
    with open("small.csv", "w") as out:
        out.write("item,x,y,z,load\n" + "".join(f"{i},{x},{y},{z},{load[i]}\n" for i, (x, y, z) in enumerate(place)))
        out.write("from,to,bytes\n" + "".join(f"{a},{b},{c}\n" for a, b, c in edges))
    # Without positions the curve is the order of the items.
    with open("line.csv", "w") as out:
        out.write("item load\n" + "".join(f"{i} {w}\n" for i, w in enumerate(load)))
    optimum, contiguous = {}, {}
    for parts in 2, 3, 4:
        def largest(part):
            sums = [0.0] * parts
            for i, p in enumerate(part):
                sums[p] += load[i]
            return max(sums)
        optimum[parts] = min(largest((0,) + rest) for rest in itertools.product(range(parts), repeat=n - 1))
        cuts = itertools.combinations_with_replacement(range(n + 1), parts - 1)
        contiguous[parts] = min(max(sum(load[a:b]) for a, b in zip((0,) + c, c + (n,))) for c in cuts)
    def rows(file):
        subprocess.run([app, file, "--compare", "all", "--parts", "2,3,4", "--quiet", "--report", "small"], check=True)
        found = json.load(open("small/report.json"))["compare"]
        return {(r["method"], r["parts"]): r for r in found}
    even = sum(load)
    for file in "small.csv", "line.csv":
        found = rows(file)
        for (method, parts), row in found.items():
            assert row["load_max"] >= optimum[parts] * (1 - 1e-12), (seed, file, method, parts, row)
            assert abs(row["load_mean"] * parts - even) < 1e-9 * even
            # A cut misses its target by one item at most, and the cuts of a bisection by two.
            if method not in ("count", "tensor", "voronoi", "feedback", "auto"):
                assert row["load_max"] <= even / parts + 2 * max(load) + 1e-9, (seed, file, method, parts, row)
            if method != "auto": # auto has tried them all
                auto = found["auto", parts]
                assert auto["step_seconds"] <= row["step_seconds"] * (1 + 1e-9), (seed, file, method, parts, auto, row)
            if method == "greedy":
                assert row["load_max"] <= optimum[parts] * (1 + 1e-12), (seed, file, parts, row, optimum)
            if file == "line.csv" and method == "sfc":
                assert abs(row["load_max"] - contiguous[parts]) < 1e-9, (seed, parts, row, contiguous)
            if file == "line.csv" and method in ("count", "feedback"):
                assert row["load_max"] >= contiguous[parts] - 1e-9, (seed, method, parts, row)
    for method in "count", "rcb", "hypergraph":
        subprocess.run([app, "small.csv", "--compare", method, "--parts", "3", "--map", "small.map", "--quiet", "--report",
                        "one"], check=True)
        part = {int(r["item"]): int(r["part"]) for r in csv.DictReader(open("small.map"))}
        row = json.load(open("one/report.json"))["compare"][0]
        assert sorted(part) == list(range(n)) and set(part.values()) <= {0, 1, 2}
        sums = [sum(load[i] for i in part if part[i] == p) for p in range(3)]
        assert abs(row["load_max"] - max(sums)) < 1e-9, (seed, method, row, sums)
        assert row["ghosts_total"] == len({(a, part[b]) for a, b, _ in edges if part[a] != part[b]}), (seed, method, row)
        if row["exchange"] == "direct":
            assert row["bytes_total"] == sum(c for a, b, c in edges if part[a] != part[b]), (seed, method, row)
PY
python3 small.py || fail "small sets"

# Tasks that share blocks: every part with a task of a block holds the block once. A map without imbalance exists with
# four blocks per part, which is the capacity; the map of the run and the maps of other methods do not fit or are
# uneven. Rank 3 was idle according to its file.
cat >blocks.py <<'PY'
import json, random
rng = random.Random(5)
parts = [[] for _ in range(4)]
for p in range(4):  # each part has three of the 12 blocks and one block of another part
    for k in range(4):
        parts[p] += [((3 * p + k) % 12, w) for w in rng.sample(range(1, 20), 3)]
    parts[p].append((3 * p, 150 - sum(w for _, w in parts[p])))
tasks = [t for part in parts for t in part]
rng.shuffle(tasks)
ranks = [[], [], [], []]
for i, (block, load) in enumerate(tasks):
    user = {"task_working_bytes": 1.1e8, "task_footprint_bytes": 1024, "shared_id": block, "shared_bytes": 1.6e9,
            "rank_working_bytes": 9.8e8}
    rank = block % 3
    ranks[rank].append({"entity": {"id": 4 * i + 3, "home": rank, "type": "object", "migratable": True}, "node": rank,
                        "time": load, "user_defined": user})
for r in range(4):
    json.dump({"metadata": {"rank": r, "type": "LBDatafile"}, "phases": [{"id": 0, "tasks": ranks[r]}]},
              open(f"blocks/toy.{r}.json", "w"))
PY
mkdir blocks
python3 blocks.py
echo 'Notes on the tasks.' >blocks/NOTES.md
expect 1 blocks --memory-cap 8000000000 --report fits --map fits.map
grep -q 'NOTES.md is passed over' out && grep -q ', 4 ranks;' out && grep -q '4 parts: no largest load is below 150000 ms (even share); greedy reaches it' out ||
    fail "blocks: $(cat out)"
expect 3 blocks --memory-cap 8000000000 --quiet --map three.map
cmp fits.map three.map || fail "greedy depends on the ranks"
expect 1 blocks --memory-cap 4G
grep -q 'No map into 4 parts that was compared fits' out && grep -q 'all items, blocks and ranks need' out && ! grep -q 'Use ' out ||
    fail "nothing fits: $(cat out)"
refused 'no map that was compared fits into memory' blocks --memory-cap 4G --map none.map
refused '3 capacities do not divide 4 parts' blocks --memory-cap 8G,8G,9G
refused 'the trace has no memory' plain.csv --parts 2 --memory-cap 8G
expect 1 csv/items.csv --memory-cap 1.01mean --compare sfc,greedy --quiet --report bytes
python3 - <<'PY' || fail "memory"
import csv, json
report = json.load(open("fits/report.json"))
rows = {r["method"]: r for r in report["compare"]}
task = {4 * i + 3: t for i, t in enumerate([t for r in range(4) for t in json.load(open(f"blocks/toy.{r}.json"))["phases"][0]["tasks"]])}
task = {t["entity"]["id"]: t for t in task.values()}
part = {int(r["item"]): int(r["part"]) for r in csv.DictReader(open("fits.map"))}
held = []
for p in range(4):
    mine = [task[i] for i in part if part[i] == p]
    assert sum(t["time"] for t in mine) == 150, (p, mine)
    held.append(9.8e8 + 1.1e8 + 1024 * len(mine) + 1.6e9 * len({t["user_defined"]["shared_id"] for t in mine}))
assert rows["greedy"]["memory_max"] == max(held) <= 8e9 and rows["greedy"]["imbalance"] < 1e-12, (rows, held)
assert rows["sfc"]["memory_use"] > 1 and rows["as-run"]["imbalance"] > 0.3 and rows["auto"]["memory_use"] <= 1, rows
assert report["bounds"] == [{"parts": 4, "load_max": 150.0, "why": "even share", "nearest": "greedy", "reached": True}], report
rows = json.load(open("bytes/report.json"))["compare"]
assert all(r["memory_use"] <= 1 for r in rows if r["method"] == "greedy"), rows
PY

# Idle ranks, zero loads, loads that are counts, and the rank report of equipoise-lazy.
printf 'item,load,rank\n' >idle.csv
for i in 0 1 2 3 4 5 6 7 8; do echo "$i,7,$((i % 3))" >>idle.csv; done
expect 1 idle.csv --ranks 4 --report idle-report
grep -q 'as-run *33.33%' out && grep -q ' 4 ranks' out && grep -q 'below 21 (heaviest items' out && ! grep -q 'step ms' out || fail "idle: $(cat out)"
refused 'rank 2 occurs, but there are 2 ranks' idle.csv --ranks 2
sed 's/,7,/,0,/' idle.csv >zero.csv
expect 1 zero.csv
grep -q 'Nothing to balance: nothing has a load' out || fail "no load: $(cat out)"
printf 'step,rank,cpu_seconds\n0,0,1\n0,1,3\n1,0,1\n1,1,3\n' >steps.csv
expect 1 steps.csv
grep -q 'as-run *50.00%' out && grep -q 'each rank is one item' out || fail "steps: $(cat out)"

# Loads may have any unit: with free messages only the seconds depend on it.
awk -F, -v OFS=, 'NR > 1 { $5 *= 2 ^ 50 } { print }' OFMT=%.17g CONVFMT=%.17g csv/items.csv >large.csv
awk -F, -v OFS=, 'NR > 1 { $5 *= 2 ^ -200 } { print }' OFMT=%.17g CONVFMT=%.17g csv/items.csv >little.csv
for name in csv/items large little; do
    expect 1 $name.csv --network alpha=0,beta=0 --compare sfc,rcb,interaction --quiet --report unit
    python3 -c '
import json
for r in json.load(open("unit/report.json"))["compare"]:
    print(r["method"], "%.6f %.6f" % (r["imbalance"], r["imbalance_next"]), "%.4f" % (r["step_seconds"] / r["load_mean"]))' >"$(basename $name).unit"
done
cmp items.unit large.unit && cmp items.unit little.unit || fail "the unit of loads changes maps"
printf 'item,load,rank\n0,1e18,0\n1,1e18,1\n2,1e18,0\n' >largest.csv
expect 1 largest.csv --compare all

# The number of ranks of the program has no effect; the map of the run is written as it was read.
expect 1 csv/items.csv --edges csv/edges.csv --map one.map --method rcb --parts 8 --quiet
expect 3 csv/items.csv --edges csv/edges.csv --map three.map --method rcb --parts 8 --quiet
cmp one.map three.map || fail "a map depends on the ranks that make it"
expect 1 csv/items.csv --map own.map --method as-run --phase 2
grep -q 'as-run' out || fail "no row of the run: $(cat out)"
grep -q 'later phases' out && fail "there is no later phase"
python3 - <<'PY' || fail "the run's own map"
import csv
run = {r["item"]: r["rank"] for r in csv.DictReader(open("csv/items.csv")) if r["phase"] == "2"}
assert run == {r["item"]: r["part"] for r in csv.DictReader(open("own.map"))}
PY
expect 1 vt
grep -q 'need positions.*: 1$' out || fail "methods that are left out: $(tail -n 3 out)"
grep -q 'items (4 of them fixed)' out || fail "title: $(head -n 1 out)"

# Refusals name the mistake and its place.
printf 'item,load\n0,1\n1,nan\n' >nan.csv
refused_by_all 'nan.csv: line 3: load.*not finite' nan.csv --parts 2
head -c 5000 vt/data.1.json >cut.json
refused 'cut.json: line 1, column' cut.json
head -c 5000 charm/lbdata.dat.0 >cut.dat
refused 'cut.dat: a dump of Charm' cut.dat
refused 'give --parts' plain.csv
refused 'no phase 9' csv/items.csv --phase 9
refused 'has 2 phases from there on' csv/items.csv --phase 1 --cycle 3
refused 'one number of parts' csv/items.csv --parts 2,4 --map m
refused 'needs --map' csv/items.csv --method sfc
refused 'none of the methods that were compared' csv/items.csv --map m --method metis
refused 'come from vt' csv/items.csv --map 'm.%p'
# Output never overwrites an input file, whatever its name; a file of a report is not a map.
cp -r csv kept
ln -s csv/edges.csv edges.link
ln csv/items.csv items.hard
mkdir shown
cp csv/items.csv shown/items.csv
cp csv/edges.csv shown/compare.csv
refused_by_all 'input would be overwritten' csv/items.csv --map csv/items.csv
refused 'input would be overwritten' csv/items.csv --map items.hard
refused 'input would be overwritten' csv/items.csv --edges csv/edges.csv --map edges.link
refused 'input would be overwritten' csv --map csv/edges.csv
refused 'input would be overwritten' csv/items.csv --edges shown/compare.csv --report shown
refused 'input would be overwritten' vt --map vt/data.%p.json
refused 'cannot be both' csv/items.csv --report new --map new/compare.csv
refused 'cannot write to folder' csv/items.csv --map no/where.csv
diff -r csv kept || fail "a trace has changed"
refused 'no positions' plain.csv --parts 2 --compare rcb
refused 'give a TRACE'
refused 'No such file' nowhere.csv
mkdir empty
refused 'a folder without files' empty
expect 1 --compare help
[ "$(wc -l <out)" -gt 5 ] || fail "methods: $(cat out)"
finish
