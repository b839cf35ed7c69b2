#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Snapshots of other codes load and run, and forces do not depend on ranks or method. Skipped where the files are absent.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1
data=${EQUIPOISE_SHARED_DATA:-$2}/nbody
if [ ! -d "$data" ]; then
    echo "skipped: no snapshots of other codes here"
    exit 77
fi

# real FILE PARTICLES SOFTENING G
real()
{
    # If ranks share a group, mixed precision rounds its list at different places.
    local common=("$data/$1" --steps 1 --softening "$3" --G "$4" --quiet --precision double)
    expect 1 "${common[@]}" --balance none --forces one.hdf5 --report one
    expect 3 "${common[@]}" --balance interaction --forces three.hdf5 --report three
    [ "$(value one/report.json particles)" = "$2" ] || fail "$1: $(value one/report.json particles) particles"
    [ "$(value one/report.json interactions)" = "$(value three/report.json interactions)" ] ||
        fail "$1: interactions depend on the ranks"
    "$same" one.hdf5 three.hdf5 1e-12 || fail "$1: forces depend on the ranks"
}

real g2_galaxy_littleendian.dat 60000 0.4 43007.1
real g2_gassphere_littleendian.dat 1472 0.02 1
real bonsai_model3_child_compact.tipsy 22000 0.1 1
real amuse_plummer16k.in 16384 0.01 1
finish
