#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The counts of --compare are exact: units, ghosts, messages and bytes are the same on 1, 2 and 7 ranks for every
# method. A run with one rank per part, which share no memory, and the plan named by the comparison has the same counts
# with its first map.
# usage: exact.sh INPUT [OPTION...]; INPUT of --generate. Each method runs on 3 and on 16 ranks.
source "$(dirname "$0")/../helpers/lib.sh"
common=(--generate "$@" --costs nominal --quiet --node none)
words=all,sfc:split,rcb:split,sfc:even=step,tiles:even=step,interaction:pins=2,interaction:start=tiles
words=$words,interaction:strategy=random,diffusion:start=count

for ranks in 1 2 7; do
    expect $ranks "${common[@]}" --compare "$words" --parts 4,13 --report "on-$ranks"
done
python3 - <<'END' || fail "counts differ"
import csv, sys

different = 0


def rows(folder):
    return {(row["method"], row["parts"]): row for row in csv.DictReader(open(folder + "/compare.csv"))}


one = rows("on-1")
assert len(one) >= 2 * 20
for ranks in (2, 7):
    for key, row in rows(f"on-{ranks}").items():
        for column in set(row) - {"balance_seconds"}:
            if row[column] != one[key][column]:
                different += 1
                print(f"{key}, {column} on {ranks} ranks: {row[column]}, not {one[key][column]}")
sys.exit(different != 0)
END

# Runs of the compared words. In a run `auto` also weighs the cost of its trials, so the method that it chose here is
# run instead. Methods that follow measured loads start from equal counts (`feedback`) or from boxes, which no
# comparison has.
# Words with even=step choose the cheapest plan in a run as well, so they run with plan auto.
expect 3 "${common[@]}" --compare "$words" --parts 3,16 --report what-if
python3 - >runs <<'END' || fail "no rows"
import csv

rows = list(csv.DictReader(open("what-if/compare.csv")))
for row in rows:
    word = row["chosen"] or row["method"]
    if word not in ("sectioning", "bisection"):
        like = next(r for r in rows if (r["parts"], r["method"]) == (row["parts"], "count")) if word == "feedback" else row
        print(row["parts"], row["method"], word, "auto" if "even=step" in word else like["exchange"])
END
while read -r parts method word plan; do
    expect "$parts" "${common[@]}" --exchange "$plan" --balance "$word" --steps 0 --report "run-$parts-$method" </dev/null
done <runs
python3 - <<'END' || fail "counts of runs differ"
import csv, json, sys

rows = {(row["parts"], row["method"]): row for row in csv.DictReader(open("what-if/compare.csv"))}
different = 0


def check(name, promised, real):
    global different
    if promised != real:
        print(f"{what}, {name}: {promised} promised, {real} real")
        different += 1


def largest(kind):
    return max(int(rank[f"last_{kind}_{way}"]) for rank in ranks for way in ("sent", "received"))


for line in open("runs"):
    parts, method, word, plan = line.split()
    what = f"{word} by {plan} on {parts} ranks"
    row = rows[parts, "count" if method == "feedback" else method]
    step = json.load(open(f"run-{parts}-{method}/report.json"))["steps"][0]
    ranks = list(csv.DictReader(open(f"run-{parts}-{method}/loads.csv")))
    for column in "ghosts_total ghosts_max units split_owners bytes_total bytes_max messages_max".split():
        check(column, int(row[column]), step[column])
    check("sum of ghosts", step["ghosts_total"], sum(int(rank["ghosts"]) for rank in ranks))
    check("sum of bytes", step["bytes_total"], sum(int(rank["last_bytes_sent"]) for rank in ranks))
    check("largest bytes", step["bytes_max"], largest("bytes"))
    check("largest messages", step["messages_max"], largest("messages"))
    check("imbalance", True, abs(step["imbalance_predicted"] - float(row["imbalance"])) <= 1e-12)
sys.exit(different != 0)
END
[ "$(wc -l <runs)" -ge 30 ] || fail "only $(wc -l <runs) runs"
finish
