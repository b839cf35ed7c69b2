#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Networks of other codes load and run, on any ranks and with methods of every sort. Skipped where the files are absent.
# usage: dislocation_real.sh SAME_FORCES DATA [large]   large: networks of tens of thousands of nodes, else small ones
source "$(dirname "$0")/../helpers/lib.sh"
same=$1
data=${EQUIPOISE_SHARED_DATA:-$2}/dislocation
if [ ! -d "$data" ]; then
    echo "skipped: no networks of other codes here"
    exit 77
fi
# of_step DIR KEY STEP: a value of a report. first, last: of its first and its last step.
of_step()
{
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["steps"][int(sys.argv[3])][sys.argv[2]])' \
        "$1/report.json" "$2" "$3"
}
first() { of_step "$@" 0; }
last() { of_step "$@" -1; }

if [ "${3-}" = large ]; then
    begun=$SECONDS
    pairs=
    for method in sfc interaction; do
        expect 4 "$data/180chains_16.10e.data" --tile 2,2,2 --steps 0 --quiet --balance "$method" --report tiled
        [ "$(first tiled nodes) $(first tiled segments)" = "40440 47440" ] || fail "tiled: $(first tiled nodes) nodes"
        [ "${pairs:=$(first tiled interactions)}" = "$(first tiled interactions)" ] ||
            fail "tiled, $method: $(first tiled interactions) pairs instead of $pairs"
        echo "180chains tiled, $method: $pairs pairs, imbalance $(first tiled imbalance_measured)"
    done
    # A packed file of version 5, the largest of all.
    expect 4 "$data/fcc_900chains_95k.data.gz" --steps 0 --quiet --balance sfc --report packed
    [ "$(first packed nodes) $(first packed segments)" = "95400 95400" ] || fail "900 chains: $(first packed nodes) nodes"
    echo "$((SECONDS - begun)) s"
    finish
    exit
fi

# Steps follow the control files. The output can be read again, so its arms are reciprocal and Burgers vectors sum to
# zero at every node.
# A force is compared relative to its size; the middle nodes of the junction are in balance up to the digits of the
# file.
while read -r name nodes ranks tolerance steps <&3; do
    begun=$SECONDS
    expect 1 "$data/$name.data" --ctrl "$data/$name.ctrl" --steps 0 --quiet --forces one.hdf5 --report one
    expect "$ranks" "$data/$name.data" --ctrl "$data/$name.ctrl" --steps 0 --quiet --forces many.hdf5 --report many
    "$same" one.hdf5 many.hdf5 "$tolerance" || fail "$name: forces depend on the ranks"
    [ "$(value one/report.json particles)" = "$nodes" ] || fail "$name: $(value one/report.json particles) nodes"
    [ "$(value one/report.json interactions)" = "$(value many/report.json interactions)" ] ||
        fail "$name: interactions depend on the ranks"
    expect "$ranks" "$data/$name.data" --ctrl "$data/$name.ctrl" --steps "$steps" --quiet --report run --output "$name.data"
    [ "$(last run step)" = "$steps" ] || fail "$name: stopped at step $(last run step)"
    expect 1 "$name.data" --ctrl "$name.ctrl" --steps 0 --quiet --report again
    [ "$(first again nodes)" = "$(last run nodes)" ] || fail "$name: nodes were lost on the way through a file"
    echo "$name: $nodes nodes, after $steps steps $(last run nodes); $((SECONDS - begun)) s"
done 3<<'END'
frank_read_src 3 2 1e-7 20
form_binaryjunc 6 3 1e-2 20
copper_x8 274 3 1e-7 20
Tantalum 464 4 1e-7 20
Copper 2304 4 1e-7 5
END

# The largest evolved network.
chains=$data/180chains_16.10e.data
begun=$SECONDS
expect 1 "$chains" --steps 0 --quiet --forces one.hdf5 --report one
[ "$(first one nodes) $(first one segments)" = "5055 5930" ] || fail "180chains: $(first one nodes) nodes"
for method in interaction bisection auto; do
    expect 4 "$chains" --steps 0 --quiet --balance "$method" --forces many.hdf5 --report many
    "$same" one.hdf5 many.hdf5 1e-7 || fail "180chains, $method: forces differ from those of one rank"
    [ "$(first one interactions)" = "$(first many interactions)" ] || fail "180chains, $method: other pairs than one rank"
    echo "180chains, $method: imbalance $(last many imbalance_measured)"
done
expect 4 "$chains" --strain-rate 1e3 --steps 2 --quiet --balance interaction --rebalance 1 --report run
[ "$(last run step)" = 2 ] || fail "180chains: stopped at step $(last run step)"
echo "180chains: $((SECONDS - begun)) s"

finish
