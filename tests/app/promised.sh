#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# On 16 ranks the first map of every method that weighs fits the work that the steps have by the relative criterion, and
# of some by the geometric one, which has no first step of its own: the imbalance that is counted is what was promised.
# Steps are short, so that the map does not age. It does so after a restart. Costs are nominal, so that what is counted
# depends on no clock.
source "$(dirname "$0")/../helpers/lib.sh"
same=(--group-size 16 --costs nominal --quiet)
common=(--generate disks:n=8192,seed=2 "${same[@]}" --dt 0.001 --steps 2)
# Where messages cost nearly nothing even steps are even loads, but for what a step takes besides: that is held to what was
# promised, too.
even=(--network alpha=1e-8,beta=1e-12)

# within NAME: from step 2 on the imbalance of the run's report is what its first map promised, which is a few per cent but
# for planes across the whole domain and for even steps, whose loads are uneven.
within()
{
    python3 - "$1" <<'END' || fail "$1: the map was made for other work"
import json, sys
steps = json.load(open("report/report.json"))["steps"]
promised = steps[0]["imbalance_promised"]
print(f"{sys.argv[1]}: promised {100 * promised:.1f} %, predicted", *(f"{100 * step['imbalance_predicted']:.1f} %" for step in steps))
sys.exit(max(step["imbalance_predicted"] for step in steps if step["step"] >= 2) > promised + 0.01 or
         promised > 0.03 and not sys.argv[1].startswith("tensor") and "even=step" not in sys.argv[1])
END
}

expect 1 --balance help
methods=$(sed -n '3,$s/ .*//p' out | grep -vx -e none -e count -e feedback)
[ "$(echo "$methods" | wc -l)" -ge 6 ] || fail "methods of --balance help: $methods"
for opening in geometric relative; do
    tried='sfc interaction auto'
    [ $opening = geometric ] || tried="$methods sfc:split rcb:split sfc:even=step interaction:even=step"
    for method in $tried; do
        expect 16 "${common[@]}" "${even[@]}" --opening $opening --balance "$method" --report report
        within "$method, $opening"
    done
done
expect 16 "${common[@]}" --opening relative --balance sfc --rebalance never --report report --output part --output-every 2
within 'sfc, relative, never renewed'
expect 16 --restart part_000002.hdf5 "${same[@]}" --steps 4 --opening relative --balance sfc --report report
within 'sfc, relative, restarted'
finish
