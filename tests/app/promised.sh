#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# On 16 ranks the counted imbalance of the steps is the promised imbalance of the first map: for every weighting method
# with the relative criterion, and for some with the geometric one, whose first step is like any later step. A restarted
# run goes on with the same map. Steps are short so that the map does not age, and costs are nominal so that counts
# depend on no clock.
source "$(dirname "$0")/../helpers/lib.sh"
same=(--group-size 16 --costs nominal --quiet)
common=(--generate disks:n=8192,seed=2 "${same[@]}" --dt 0.001 --steps 2)
# With nearly free messages, even steps are even loads except for the overhead of a step, which is held to its
# prediction as well.
even=(--network alpha=1e-8,beta=1e-12)

# within NAME: from step 2 on the reported imbalance is what the first map promised: at most 3 %, except for planes
# across the whole domain and for even steps, whose loads are uneven.
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
# A restarted run has the steps of one that never stopped, as the map ages.
common[-1]=4
expect 16 "${common[@]}" --opening relative --balance sfc --rebalance never --report whole
expect 16 --restart part_000002.hdf5 "${same[@]}" --steps 4 --opening relative --balance sfc --rebalance never --report rest
python3 - <<'END' || fail 'sfc, relative, restarted: the map was made for other work'
import json, sys
whole, rest = ([step["imbalance_predicted"] for step in json.load(open(name + "/report.json"))["steps"]] for name in ("whole", "rest"))
sys.exit(len(rest) != 3 or rest[1:] != whole[3:])
END
finish
