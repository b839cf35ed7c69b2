#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What --compare counts is exact: to the last unit, ghost, message and byte it is the same on 1, 2 and 7 ranks, for every
# method; and a run on as many ranks as parts has the same units and ghosts by its first map. That it sends the same messages
# and bytes is for tests/mpi/test_bh_whatif.c and test_dd_whatif.c: reports of runs have what maps took, too.
# usage: exact.sh INPUT (of --generate) METHOD... (more words for runs)
source "$(dirname "$0")/lib.sh"
input=$1
shift
common=(--generate "$input" --costs nominal --quiet)
words=all,sfc:split,rcb:split,sfc:even=step,tiles:even=step,interaction:pins=2,interaction:start=tiles
words=$words,interaction:strategy=random,diffusion:start=count

for ranks in 1 2 7; do
    expect $ranks "${common[@]}" --compare "$words" --parts 4,13 --report "on-$ranks"
done
# Directly: other plans depend on the numbers that parts have, which runs give to ranks where least moves.
expect 3 "${common[@]}" --exchange direct --compare "$words" --parts 2,3,4,8 --report what-if
for run in 2:interaction 3:tiles 4:hypergraph 8:interaction 8:sfc:split "$@"; do
    expect "${run%%:*}" "${common[@]}" --exchange direct --balance "${run#*:}" --steps 0 --report "run-$run"
done

python3 - <<'END' || fail "counts differ"
import csv, glob, json, sys

different = 0
times = ("balance_seconds",)


def rows(folder):
    return {(row["method"], row["parts"]): row for row in csv.DictReader(open(folder + "/compare.csv"))}


def check(what, one, other):
    global different
    if one != other:
        different += 1
        print(f"{what}: {one}, not {other}")


one = rows("on-1")
assert len(one) >= 2 * 20
for ranks in (2, 7):
    for key, row in rows(f"on-{ranks}").items():
        for column in row:
            if column not in times:
                check(f"{key}, {column} on {ranks} ranks", row[column], one[key][column])
promised = rows("what-if")
folders = glob.glob("run-*")
for folder in folders:
    parts, method = folder[4:].split(":", 1)
    row = promised[method, parts]
    step = json.load(open(folder + "/report.json"))["steps"][0]
    for column in ("ghosts_total", "ghosts_max", "units", "split_owners"):
        check(f"{method} on {parts} ranks, {column}", step[column], int(row[column]))
    gap = abs(step["imbalance_predicted"] - float(row["imbalance"]))
    check(f"{method} on {parts} ranks, imbalance", gap <= 1e-12, True)
assert len(folders) >= 5
sys.exit(different != 0)
END
finish
