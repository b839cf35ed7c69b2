#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --compare: its files and its output; it takes no step; results that do not depend on measured times are the same on
# any number of ranks; invalid options are refused.
# usage: compare.sh INPUT (of --generate)
source "$(dirname "$0")/../helpers/lib.sh"
input=$1

expect 1 --balance help
every=$(sed -n '3,$s/ .*//p' out | grep -vx none | paste -sd ' ')

expect 1 --generate "$input" --compare all,interaction:pins=2 --parts 7,2 --report one
cp out said
[ ! -s err ] || fail "on stderr: $(cat err)"
expect 3 --generate "$input" --compare count,interaction:pins=2,rate=0.5,sfc --parts 2,7 --report three --quiet \
    --network alpha=0,node=3 --exchange log
[ ! -s out ] && [ ! -s err ] || fail "--quiet is not: $(cat out err)"

python3 - "$every" <<'END' || fail "reports"
import csv, json, os, sys
methods = sys.argv[1].split() + ["interaction:pins=2"]
keys = """method parts imbalance load_max load_mean ghosts_total ghosts_max neighbours_max units sample_rate split_owners
exchange balance_seconds step_seconds step_seconds_ideal imbalance_next""".split()


def rows(folder):
    report = json.load(open(folder + "/report.json"))
    table = list(csv.DictReader(open(folder + "/compare.csv")))
    assert list(table[0])[:len(keys)] == keys, list(table[0])
    assert len(table) == len(report["compare"])
    for line, row in zip(table, report["compare"]):
        for key in keys:
            assert key in row, key
            assert line[key] == str(row[key]) or float(line[key]) == row[key], (key, line[key], row[key])
        assert row["load_max"] >= row["load_mean"] > 0 and row["step_seconds"] >= row["load_max"] * (1 - 1e-9)
        assert abs(row["load_max"] / row["load_mean"] - 1 - row["imbalance"]) < 1e-9
        assert row["step_seconds"] >= row["step_seconds_ideal"] > row["load_mean"] and row["ghosts_total"] >= row["ghosts_max"] >= 0
        assert 0 < row["neighbours_max"] < row["parts"] and row["imbalance_next"] >= 0 and row["units"] > 0
        method, _, options = (row["chosen"] or row["method"]).partition(":")
        assert (row["sample_rate"] > 0) == (method in ("interaction", "tiles", "jagged")
                                            or "split" in options.split(",")), row
    assert report["interactions"] > 0
    return report, {(row["parts"], row["method"]): row for row in report["compare"]}


report, one = rows("one")
assert [(row["parts"], row["method"]) for row in report["compare"]] == [(p, m) for p in (2, 7) for m in methods]
for parts in (2, 7):  # `auto` is one of them
    best = min(one[parts, method]["step_next"] for method in methods)
    assert one[parts, "auto"]["step_next"] <= best, parts
    assert one[parts, "auto"]["chosen"].split(":")[0] in methods, one[parts, "auto"]
other, three = rows("three")
assert [method for _, method in three] == ["count", "interaction:pins=2,rate=0.5", "sfc"] * 2
assert (other["network_alpha"], other["network_beta"], other["network_node"]) == (0, 1e-9, 3)
assert {row["exchange"] for row in other["compare"]} == {"log"}
for parts in (2, 7):  # equal counts need no times
    for key in ("ghosts_total", "ghosts_max", "neighbours_max", "units"):
        assert one[parts, "count"][key] == three[parts, "count"][key], (parts, key)
assert report["interactions"] == other["interactions"]
END

# With nominal costs the result depends on the particles only: all columns are the same on any number of ranks.
words=all,sfc:split,tiles:even=step,interaction:start=tiles
for ranks in 1 3; do
    expect $ranks --generate "$input" --compare $words --parts 3,16,100 --costs nominal --quiet --report "nominal-$ranks"
done
python3 - <<'END' || fail "comparisons depend on the ranks"
import csv

one, three = (list(csv.DictReader(open(f"nominal-{ranks}/compare.csv"))) for ranks in (1, 3))
assert len(one) == len(three) >= 3 * 12
for a, b in zip(one, three):
    different = {key: (a[key], b[key]) for key in a if key != "balance_seconds" and a[key] != b[key]}
    assert not different, (a["method"], a["parts"], different)
END

[ "$(grep -c '\*' said)" -ge 2 ] || fail "no winner is marked: $(cat said)"
[ "$(tail -n 1 said | grep -c '^This problem scales to ')" -eq 1 ] || fail "the last line says nothing: $(tail -n 1 said)"

refused method --generate "$input" --compare sfc,sideways --parts 2
refused twice --generate "$input" --compare sfc,sfc --parts 2
refused 'no option' --generate "$input" --compare sfc:pins=2 --parts 2
refused_by_all method --generate "$input" --compare sideways --parts 2
finish
