# SPDX-License-Identifier: BSD-3-Clause
# Ranks of really different speed: one computes with the plain kernel, the other one with the fastest that there is here.
# With --share measured and model the slower one gets less of the interactions as soon as that is known, with equal shares
# half of them. Ranks that want different runs are refused.
source "$(dirname "$0")/../helpers/lib.sh"

grep -qw avx2 /proc/cpuinfo || { echo "this processor has one kernel only"; exit 77; }
for share in equal measured model; do
    common=(--generate plummer:n=30000 --steps 4 --balance sfc --share "$share" --quiet --report "$share")
    ${MPIEXEC:-mpirun} -n 1 "$APP" "${common[@]}" --kernel plain : -n 1 "$APP" "${common[@]}" --kernel avx2 >out 2>err ||
        fail "$share: $(head -c 300 err)"
done
python3 - <<'PY' || fail "shares"
import csv
for share in ("equal", "measured", "model"):
    rows = list(csv.DictReader(open(f"{share}/loads.csv")))
    plain, fast = (int(row["interactions"]) for row in rows[-2:])
    print(f"{share:9} the plain kernel has {plain / fast:.2f} of the interactions of the fast one")
    assert plain < 0.9 * fast if share != "equal" else 0.8 < plain / fast < 1.25
PY
${MPIEXEC:-mpirun} -n 1 "$APP" --generate plummer:n=1000 --share measured : -n 1 "$APP" --generate plummer:n=1000 \
    >out 2>err && fail "ranks with different shares run"
grep -q 'different options' err || fail "ranks with different shares: $(head -c 300 err)"
finish
