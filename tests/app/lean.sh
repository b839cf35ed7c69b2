#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A build without Zoltan or HDF5 computes, balances and compares with the remaining methods, reads the remaining
# formats, and refuses the missing ones in one line.
# usage: lean.sh DISLOCATION ZOLTAN(with|without) HDF5(with|without) FOLDER_OF_DATA
source "$(dirname "$0")/../helpers/lib.sh"
dislocation=$1 zoltan=$2 hdf5=$3 data=$4
plummer=(--generate plummer:n=400 --quiet)

expect 1 --balance help
mv out methods
grep -q '^tiles ' methods || fail "no tiles: $(cat methods)"
if [ "$zoltan" = without ]; then
    for method in rcb rib interaction hypergraph; do
        grep -q "^$method  *not built: .*Zoltan" methods || fail "--balance help does not say that there is no $method"
        refused "barneshut: .*this build lacks $method: no Zoltan" "${plummer[@]}" --balance "$method" --report no
    done
    refused_by_all 'this build lacks rib: no Zoltan' "${plummer[@]}" --balance rib
    refused 'start: this build lacks rcb: no Zoltan' "${plummer[@]}" --compare diffusion:start=rcb --parts 4
fi

# The same interactions, on any ranks and by any method.
for run in 1:none 2:sfc 3:auto; do
    expect "${run%:*}" "${plummer[@]}" --balance "${run#*:}" --rebalance 2 --steps 4 --report "$run"
    [ "$(value "$run/report.json" interactions)" = "$(value 1:none/report.json interactions)" ] || fail "$run: interactions"
done
expect 2 "${plummer[@]}" --compare all --parts 4,7 --report compared
for method in count sfc tiles jagged tensor feedback diffusion voronoi auto; do
    [ "$(grep -c "^$method," compared/compare.csv)" -eq 2 ] || fail "not compared: $method"
done
expect 2 "${plummer[@]}" --steps 6 --share model --balance sfc --report model

python3 -c 'for i in range(500): print(1, (i * 0.618) % 1, (i * 0.382) % 1, i / 500, 0, 0, 0)' >bodies.txt
expect 2 bodies.txt --quiet --steps 1 --balance sfc --report text
[ "$(value text/report.json particles)" = 500 ] || fail 'not 500 particles of a text'
if [ "$hdf5" = without ]; then
    refused_by_all 'clusters.hdf5: is an HDF5 file, and this build is without HDF5' "$data/clusters.hdf5" --report no
    refused 'forces: .*without HDF5' "${plummer[@]}" --steps 0 --forces forces.hdf5
    refused 'output: .*without HDF5' "${plummer[@]}" --steps 1 --output end.hdf5
    # This build writes no restart file and promises none.
    "$APP" "${plummer[@]}" --dt 1e-6 --steps 100000000 >out 2>err &
    pid=$!
    sleep 1
    kill -TERM $pid
    wait $pid
    [ $? -eq 143 ] || fail "a signal: $(cat err)"
    ! grep -q restart err && [ -z "$(ls ./*restart* 2>/dev/null)" ] || fail "a restart file: $(cat err)"
fi

APP=$dislocation
expect 2 --generate chains:n=4 --steps 2 --balance sfc --output chains --quiet
expect 3 chains.data --ctrl chains.ctrl --steps 2 --balance tiles --report network --quiet
finish
