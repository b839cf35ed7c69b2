#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: lazy.sh SAME_FORCES CLOCK TOLERANCE STEPS INPUT...
# TOLERANCE: of forces; dislocation sums them by cells, so they depend on the map. STEPS: of runs that lose a balancer
# rank; 0: the test only compares the physics, since the shell and the library provide the rest for all apps.
# Maps from dedicated ranks or a thread give the same physics whenever they arrive. With delay the tables are the same
# for any number of such ranks; a run outlives these ranks; impossible settings are refused.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1 clock=$2 tolerance=$3 steps=$4
shift 4
input=("$@" --quiet)
mpiexec=${MPIEXEC:-mpirun}

if [ "$steps" -gt 0 ]; then
    # Refusals that need no run on several ranks.
    refused 'lazy.*leave none' "${input[@]}" --lazy 1
    refused "'-1'" "${input[@]}" --lazy -1
    refused "'x'" "${input[@]}" --lazy x
    refused 'needs delay' "${input[@]}" --lazy 0
    refused "'0'" "${input[@]}" --lazy 1:delay=0
    refused 'exclude each other' "${input[@]}" --lazy thread:wait=1,delay=1
    refused "'0'" "${input[@]}" --lazy thread:patience=0
    refused 'no lazy maps by interaction' "${input[@]}" --lazy thread --balance interaction
    refused 'no lazy maps by none' "${input[@]}" --lazy thread --balance none
    refused 'no lazy maps by feedback' "${input[@]}" --lazy 0:delay=1 --balance feedback
    refused 'no map is used' "${input[@]}" --lazy thread --compare sfc --parts 2
    refused_on 3 'lazy.*leave none' "${input[@]}" --lazy 3
    refused_on 3 'no lazy maps by none' "${input[@]}" --lazy 1 --balance none
fi

# same_run NAME LEAST: its physics are those of `plain`, and it has taken at least LEAST maps.
same_run()
{
    "$same" plain.hdf5 "$1.hdf5" "$tolerance" >same || fail "$1: other forces: $(cat same)"
    python3 - "$1" "$2" <<'PY' || fail "report of $1"
import json, sys
plain, lazy = (json.load(open(f"{name}/report.json")) for name in ("plain", sys.argv[1]))
assert [s["interactions"] for s in plain["steps"]] == [s["interactions"] for s in lazy["steps"]], "interactions"
maps = sum(s["action"] == "renew" and s["map_age"] > 0 for s in lazy["steps"])
assert lazy["lazy"]["maps"] == maps >= int(sys.argv[2]), (lazy["lazy"], maps)
for before, s in zip(lazy["steps"], lazy["steps"][1:]):
    assert "was not made" not in s["why"], s["why"]
    assert s["action"] == "renew" or s["map_age"] == before["map_age"] + 1, s
PY
}

# lazily RANKS LEAST LAZY ARG...
lazily()
{
    expect "$1" "${input[@]}" --steps 6 --forces "$3.hdf5" --report "$3" --lazy "${@:3}"
    same_run "$3" "$2"
}

expect 1 "${input[@]}" --steps 6 --forces plain.hdf5 --report plain --balance sfc
lazily 3 0 1 --balance sfc
# With methods that assign work units, ranks may share a group; its forces are sums over ranks and differ by rounding.
tolerance=${tolerance/#0/1e-13} lazily 4 0 2:spread=node --balance interaction --rebalance 1
tolerance=${tolerance/#0/1e-13} lazily 5 0 4 --balance tiles --rebalance 1
tolerance=${tolerance/#0/1e-13} lazily 3 0 thread --balance jagged --rebalance 1
tolerance=${tolerance/#0/1e-13} lazily 3 0 auto --balance interaction --rebalance 2
grep -q 'in line' auto/report.json || fail 'auto says not why'
tolerance=${tolerance/#0/1e-13} lazily 2 0 0:delay=2 --balance auto --rebalance 1
tolerance=${tolerance/#0/1e-13} lazily 3 1 1:wait=0 --balance tiles --rebalance 1
lazily 3 1 1:delay=1,repair=never --balance sfc --rebalance 2
lazily 3 1 1:delay=2,repair=2 --balance sfc --rebalance 2

if [ "$steps" -eq 0 ]; then
    finish
    exit
fi

# counts FILE: the columns that do not depend on a clock.
counts()
{
    python3 - "$1" <<'PY'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    print(*(row[key] for key in ("step", "rank", "particles", "targets", "interactions", "ghosts", "bytes_sent", "helped") if key in row))
PY
}

# Three ranks take the same maps in the same steps, no matter which process makes them. If they make the maps
# themselves, that work advances their clocks, so only the counts are the same.
for lazy in 3 0 1 2; do
    for method in sfc tiles; do
        [ "$method" = sfc ] || [ "$lazy" = 3 ] || [ "$lazy" = 0 ] || continue
        name=$method-$lazy
        "$mpiexec" -n $((3 + lazy)) env LD_PRELOAD="$clock" "$APP" "${input[@]}" --steps 6 --rebalance 2 \
            --balance "$method" --lazy "$lazy:delay=2" --report "$name" >out 2>err || fail "$name: status $?: $(cat err)"
        [ "$(value "$name/report.json" lazy | grep -c "'maps': [1-9]")" -eq 1 ] || fail "$name: no map"
        if [ "$lazy" = 0 ]; then
            [ "$(counts "$method-3/loads.csv")" = "$(counts "$name/loads.csv")" ] || fail "$name: other counts"
        else
            cmp "$method-3/loads.csv" "$name/loads.csv" || fail "$name: other loads"
        fi
    done
done

# Some launchers end all ranks as soon as one ends.
"$mpiexec" --enable-recovery -n 2 bash -c '
    [ "${OMPI_COMM_WORLD_RANK:-1}" = 0 ] || kill -KILL $$
    sleep 0.3
    : >outlived' >out 2>err
if [ ! -f outlived ]; then
    echo "skipped: with $mpiexec no rank outlives another one"
    finish
    exit 0
fi

# outlives NAME SIGNAL SEND LAZY: the last of three ranks sends itself the signal when it begins message SEND, one of
# its maps. The run has a folder of its own.
outlives()
{
    mkdir "$1" "$sessions/$1" && cd "$1" || exit 1
    # Launchers that start and end at the same time create and remove each other's folders.
    OMPI_MCA_orte_tmpdir_base=$sessions/$1 "$mpiexec" --enable-recovery -n 3 bash -c '
        if [ "$OMPI_COMM_WORLD_RANK" = 2 ]; then
            export SIGNAL_AT_SEND=$1 LD_PRELOAD=$2
        fi
        exec "${@:3}"' bash "$(kill -l "$2") $3" "$clock" "$APP" "${input[@]}" --steps "$steps" --balance sfc --rebalance 1 \
        --lazy "$4" --forces end.hdf5 --report end >out 2>err
    echo $? >status
}

# late NAME SIGNAL: the rank is lost after its first maps. A slow machine needs more patience to receive one.
late()
{
    local patience
    for patience in 1 8 64; do
        (outlives "$1" "$2" 20 "1:patience=$patience")
        [ "$(value "$1/end/report.json" lazy | grep -c "'maps': 0")" -eq 1 ] || return
        [ "$patience" = 64 ] || rm -r "$1" "$sessions/$1"
    done
}

expect 1 "${input[@]}" --steps "$steps" --forces plain.hdf5 --report plain --balance sfc
outlives early-KILL KILL 1 1:wait=0,patience=0.1 &
outlives early-STOP STOP 1 1:wait=0,patience=0.1 &
late late-KILL KILL &
late late-STOP STOP &
wait
for name in early-KILL early-STOP late-KILL late-STOP; do
    [ "$(cat $name/status)" = 0 ] || fail "$name: status $(cat $name/status): $(head -c 300 $name/err)"
    mv $name/end.hdf5 $name.hdf5
    mv $name/end/* $name
    case $name in
        early*)
            same_run $name 0
            grep -q LOST $name/report.json || fail "$name: $(grep state $name/report.json)"
            ;;
        late*) same_run $name 1 ;;
    esac
done
finish
