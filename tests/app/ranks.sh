#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The physics is the same on any number of ranks, in shared memory and by every kind of method and exchange plan, with
# old and new maps: the interactions equal those of one rank, and the forces agree to 1e-12 at first and to 1e-9 after
# ten steps, in which close pairs amplify rounding. All sent data arrive, and no rank holds everything.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1
common=(--quiet --precision double --costs nominal)
declare -A options=(
    [clusters]='--generate clusters:n=1000'
    [disks]='--generate disks:n=800 --opening geometric'
    [cutoff]='--generate clusters:n=600 --cutoff 0.2'
    [pairs]='--generate plummer:n=300 --cutoff 1e6'
)

# go RANKS SCENE STEPS NAME OPTION...
go()
{
    local ranks=$1 scene=$2 steps=$3 name=$4
    shift 4
    # shellcheck disable=SC2086 # a list of words
    expect "$ranks" ${options[$scene]} "${common[@]}" --steps "$steps" --forces "$name.hdf5" --report "$name" "$@" </dev/null
}

for scene in clusters disks cutoff pairs; do
    go 1 $scene 0 "$scene-0" --balance none
    go 1 $scene 10 "$scene-10" --balance none
done
split='--sample-rate 0.05 --imbalance-tol 0.0005'
while read -r scene steps ranks exchange words; do
    name="$scene-$steps-$ranks-${exchange//\//_}-${words//[ \/]/_}"
    way=(--exchange "$exchange")
    [[ $exchange != node-* ]] || way=(--node "${exchange#node-}")
    # shellcheck disable=SC2086 # a list of words
    go "$ranks" "$scene" "$steps" "$name" "${way[@]}" --balance $words
    tolerance=1e-9
    [ "$steps" != 0 ] || tolerance=1e-12
    "$same" "$scene-$steps.hdf5" "$name.hdf5" $tolerance || fail "forces: $name"
done <<END
clusters 0 2 log sfc
clusters 0 7 direct+broadcast/4 rcb
clusters 0 7 direct interaction $split
clusters 0 7 two-stage+broadcast/16+node/2 interaction $split
clusters 0 7 log+node/4 interaction $split
clusters 10 3 two-stage count --rebalance never
clusters 10 7 direct interaction --rebalance never $split
clusters 10 7 direct+broadcast/2+node/8 tiles:aspect=20 --rebalance 4 $split
clusters 10 7 direct sfc:split,even=step --rebalance 3 --imbalance-tol 0.0005
clusters 10 3 two-stage feedback --rebalance 2
clusters 10 7 direct interaction --rebalance 4 --sample-strategy adaptive
clusters 10 3 log+node/4 interaction --rebalance 4 --sample-strategy random
clusters 0 7 node-3 interaction $split
clusters 10 7 node-auto interaction --rebalance 4 $split
clusters 10 7 node-2 interaction --rebalance 4 $split
clusters 10 7 node-3 sfc --rebalance 1
disks 10 7 direct interaction --rebalance 4
disks 10 7 node-4 rcb --rebalance 2
disks 10 3 direct+broadcast/4 rcb --rebalance never
cutoff 0 7 two-stage tiles $split
cutoff 10 7 direct interaction --rebalance 4 $split
cutoff 10 3 log jagged:columns=2 --rebalance 4
cutoff 10 2 node-auto tiles --rebalance 4 $split
cutoff 10 7 node-4 tiles --rebalance 4 $split
pairs 0 7 direct tiles --group-size 32 $split
pairs 10 3 two-stage none
END
expect 7 --generate plummer:n=30000 "${common[@]}" --steps 0 --node none --balance sfc --report large
# Where MPI gives no shared memory, parts of trees are sent, and one line says so.
if "${MPIEXEC:-mpirun}" --version 2>/dev/null | grep -q 'Open MPI'; then
    go 3 clusters 0 apart --balance sfc --node none
    # shellcheck disable=SC2086 # a list of words
    OMPI_MCA_osc='^sm,ucx' expect 3 ${options[clusters]} --precision double --costs nominal --steps 0 --balance sfc \
        --forces unshared.hdf5
    grep -q '^barneshut: note: ranks get no shared memory: they send parts of their trees$' err || fail "no note"
    cmp apart.hdf5 unshared.hdf5 || fail "other forces without shared memory"
fi
python3 - <<'END' || fail "reports"
import csv, glob, json, os

def steps(name):
    return json.load(open(name + "/report.json"))["steps"]

def ranks(name):
    return list(csv.DictReader(open(name + "/loads.csv")))

ghosts = {}
names = sorted(os.path.dirname(path) for path in glob.glob("*-*-*-*/report.json"))
assert len(names) == 26, names
for name in names:
    scene, number, nranks = name.split("-")[:3]
    one, many = steps(f"{scene}-{number}"), steps(name)
    assert len(many) == int(number) + 1
    for a, b in zip(one, many):
        assert a["interactions"] == b["interactions"], (name, a["step"], a["interactions"], b["interactions"])
    assert abs(many[0]["energy"] - one[0]["energy"]) <= 1e-12 * abs(one[0]["energy"]), name
    rows = ranks(name)
    for what in "messages", "bytes":
        sent, received = (sum(int(row[f"last_{what}_{way}"]) for row in rows) for way in ("sent", "received"))
        assert sent == received, (name, what, sent, received)
    if "--imbalance-tol" in name and nranks == "7":
        assert many[0]["split_owners"] > 0, f"{name}: no group is shared"
    if "-node-auto-" in name:
        assert all(step["ghosts_total"] == 0 for step in many), f"{name}: ghosts on one node"
    elif "-node-" in name:
        assert many[0]["ghosts_total"] > 0, f"{name}: no ghosts between nodes"
    elif number == "0" and "interaction" in name:  # ghosts do not depend on the plan
        assert ghosts.setdefault(scene, many[0]["ghosts_total"]) == many[0]["ghosts_total"], name
# If no cell is accepted, every particle interacts with every other one.
assert steps("pairs-0")[0]["interactions"] == 300 * 299
# Ghosts are cells and particles.
for row in ranks("large"):
    assert 2 * int(row["particles"]) < 30000 and 2 * int(row["ghosts"]) < 30000, row
END
finish
