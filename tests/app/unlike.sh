# SPDX-License-Identifier: BSD-3-Clause
# Ranks of different speed: the clock of one, which counts its readings, runs three times as fast as that of the other. With
# --share measured and model the slow rank gets fewer interactions as soon as its speed is known, with equal shares half
# of them. Ranks with different options are refused. Argument: the counting clock.
source "$(dirname "$0")/../helpers/lib.sh"

for share in equal measured model; do
    common=("$APP" --generate plummer:n=10000 --steps 4 --balance sfc --share "$share" --quiet --report "$share")
    [ "$share" != equal ] || common+=(--costs nominal)
    ${MPIEXEC:-mpirun} -n 1 env LD_PRELOAD="$1" COUNTING_TICK=3000 "${common[@]}" : \
        -n 1 env LD_PRELOAD="$1" COUNTING_TICK=1000 "${common[@]}" >out 2>err || fail "$share: $(head -c 300 err)"
done
python3 - <<'PY' || fail "shares"
import csv
for share in ("equal", "measured", "model"):
    rows = list(csv.DictReader(open(f"{share}/loads.csv")))
    slow, fast = (int(row["interactions"]) for row in rows[-2:])
    print(f"{share:9} the slow rank has {slow / fast:.2f} of the interactions of the fast one")
    assert slow < 0.9 * fast if share != "equal" else 0.8 < slow / fast < 1.25
PY
${MPIEXEC:-mpirun} -n 1 "$APP" --generate plummer:n=1000 --share measured : -n 1 "$APP" --generate plummer:n=1000 \
    >out 2>err && fail "ranks with different shares run"
grep -q 'different options' err || fail "ranks with different shares: $(head -c 300 err)"
finish
