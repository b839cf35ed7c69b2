#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A simulated cluster: two runs agree to the digit, on one node and on two, and forces take the messages and the
# bytes that they take on real ranks. Skipped unless bench/simulated/run.py has made its build, which takes minutes.
# usage: simulated.sh RUN.PY
source "$(dirname "$0")/../helpers/lib.sh"
judge=$1
build=$(dirname "$judge")/../../build-simulated
command -v smpirun >/dev/null || { echo 'skipped: no SimGrid (scripts/setup --tests)' && exit 77; }
[ -e "$build/counted/build.ninja" ] || { echo 'skipped: no build-simulated/ (bench/simulated/run.py makes it)' && exit 77; }
run=(--generate clusters:n=3000 --balance sfc --rebalance never --costs nominal)

for k in 1 2; do
    python3 "$judge" --nodes 1,2 --ranks 3 --steps 4 -- "${run[@]}" >table.$k 2>err || fail "judge: $(head -c 2000 err)"
done
cmp table.1 table.2 || fail 'two runs differ'
expect 3 "${run[@]}" --steps 4 --quiet --report report
python3 - <<'EOF' || fail 'counts of the judge and of the report'
import csv, statistics
with open("table.1") as file:
    rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
of = {(int(row["nodes"]), int(row["ranks"])): row for row in rows}
loads = list(csv.DictReader(open("report/loads.csv", newline="")))
for mine, theirs in ("exchanged", "last_messages_sent"), ("exchanged_bytes", "last_bytes_sent"):
    steps = {}
    for row in loads:
        steps[row["step"]] = steps.get(row["step"], 0) + float(row[theirs])
    wanted = statistics.median(list(steps.values())[2:])
    assert float(of[1, 3][mine]) == wanted > 0, (mine, of[1, 3][mine], wanted)
row = of[2, 3]
assert 0 < float(row["forces"]) < 1 and float(row["outside"]) > 0 and float(row["peak_mb"]) > 0, row
assert float(row["longest_ms"]) < float(row["step_ms"]), row
EOF
finish
