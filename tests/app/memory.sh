#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory as a hard cap: no step exceeds it, whatever the speeds ask for; a comparison names the maps that do not fit; an
# impossible cap ends with a proof; invalid words are refused.
source "$(dirname "$0")/../helpers/lib.sh"
scene=(--quiet --generate 'plummer:n=20000,seed=2' --costs nominal --exchange direct)
fast=(--balance sfc --share speeds:4,1,1 --steps 2)

expect 3 "${scene[@]}" "${fast[@]}" --report free --memory-cap 1T
cap=$(python3 -c 'import json; print(int(max(s["memory_max"] for s in json.load(open("free/report.json"))["steps"]) * 0.975))')
expect 3 "${scene[@]}" "${fast[@]}" --report capped --memory-cap "$cap"
rungs=(--balance sfc --steps 1 --rungs 5 --dt 0.01 --eta 0.001 --softening 0.01)
expect 4 "${scene[@]}" "${rungs[@]}" --report unbound
expect 4 "${scene[@]}" "${rungs[@]}" --report bound --memory-cap 1T
expect 1 "${scene[@]}" --compare sfc,rcb --parts 4 --report compared --memory-cap 1.02mean
python3 - "$cap" <<'END' || fail "a step or a map is not as its cap"
import json, sys

free, capped, compared, unbound, bound = (
    json.load(open(name + "/report.json")) for name in ("free", "capped", "compared", "unbound", "bound"))
print([s["memory_use"] for s in capped["steps"]], [r["memory_use"] for r in compared["compare"]])
assert all(s["memory_use"] == 0 and s["memory_max"] > 0 for s in unbound["steps"])
assert all(0 < s["memory_use"] <= (1 if s["rebalanced"] else 1.01) for s in capped["steps"])
assert capped["steps"][0]["memory_max"] <= float(sys.argv[1])
assert capped["steps"][-1]["imbalance_predicted"] > free["steps"][-1]["imbalance_predicted"]
# The same map with an evaluation before its use; the memory of the evaluation counts.
most = [max(s["memory_max"] for s in r["steps"]) for r in (unbound, bound)]
on_top = bound["peak_bytes"][0] - unbound["peak_bytes"][0]
print("evaluated:", most[1] - most[0], "bytes more by the model,", on_top, "more of rank 0")
assert most[1] > most[0] + 1e6 and on_top > 0.3 * (most[1] - most[0])
assert all(r["memory_use"] > 0.9 and r["memory_max"] > 0 for r in compared["compare"])
END

run 3 "${scene[@]}" "${fast[@]}" --memory-cap 33500000
[ $? -ne 0 ] && grep -q 'proven: the items sum to' err || fail "33500000: $(head -c 500 err)"

refused 'memory-cap' "${scene[@]}" --steps 1 --memory-cap 0
refused 'memory-cap' "${scene[@]}" --steps 1 --memory-cap 5X
refused 'not below 1mean' "${scene[@]}" --steps 1 --memory-cap 0.5mean
refused_on 3 '2 capacities do not divide 3' "${scene[@]}" --steps 1 --memory-cap 1G,2G
refused_on 3 'no lazy maps' "${scene[@]}" --balance sfc --steps 1 --memory-cap 1G --lazy thread
finish
