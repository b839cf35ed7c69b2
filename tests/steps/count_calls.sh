#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Collective calls of a step that keeps its map: calls of a longer run minus calls of a shorter one. A step must not need
# more than the limits here.
# usage: count_calls.sh SHIM BARNESHUT DISLOCATION
source "$(dirname "$0")/../helpers/lib.sh"
shim=$1 barneshut=$2 dislocation=$3
few=4 many=10

# calls STEPS APP [OPTION...]: numbers of all calls, one a line, in the file `calls`.
calls()
{
    local steps=$1
    APP=$2
    shift 2
    COUNT_CALLS=calls LD_PRELOAD=$shim run 3 "$@" --rebalance never --quiet --steps "$steps" ||
        fail "$APP $*: $(head -c 300 err)"
}

# costs APP BLOCKING NONBLOCKING MESSAGES [OPTION...]: the limits of each per step.
costs()
{
    local app=$1 blocking=$2 others=$3 messages=$4
    shift 4
    calls $few "$app" "$@"
    mv calls calls.few
    calls $many "$app" "$@"
    paste calls.few calls | awk -v steps=$((many - few)) -v b="$blocking" -v o="$others" -v m="$messages" -v app="$(basename "$app")" '
        { each[NR] = ($2 - $1) / steps }
        END {
            printf "%s: %g blocking collectives, %g others, %g messages a step\n", app, each[1], each[2], each[3]
            exit !(NR == 3 && each[1] <= b && each[2] <= o && each[3] <= m)
        }' || fail "$app $*: more than $blocking, $others or $messages"
}

costs "$barneshut" 4 2 6 --generate disks:n=2048 --balance sfc --node none
# Ranks that share memory gather no top of the tree.
# A report's samples stay with their ranks until the end of the run.
costs "$barneshut" 3 2 6 --generate disks:n=2048 --balance sfc --opening relative --precision mixed --report report
# A particle would leave a root box without slack between these steps.
costs "$barneshut" 3 4 8 --generate clusters:n=4096 --balance sfc
# Rungs add nothing to a step in which all have the longest one; each substep is an evaluation, with one meeting.
costs "$barneshut" 3 2 6 --generate disks:n=2048 --balance sfc --dt 0.0004 --rungs 4 --eta 1e9
costs "$barneshut" 9 8 24 --generate disks:n=2048 --balance sfc --dt 0.0016 --rungs 3 --eta 1e-12
# Few are active in three of four substeps, in two of which the tree has drifted: no particle changes its rank.
costs "$barneshut" 7 6 24 --generate disks:n=2048 --balance sfc --dt 0.008 --rungs 4 --eta 0.0006
# The far field of images is in shared memory, as are segments; neighbours travel.
costs "$dislocation" 3 15 18 --generate chains:n=6 --balance sfc --costs nominal --report report
# Nodes split, lines collide and are remeshed: rounds of messages, and one meeting. Some of these steps try the nodes two
# or three times, and each trial has a meeting: 3 calls and 1 for changes, and 1 for each trial but the first.
costs "$dislocation" 4.7 56 54 --generate chains:n=14,box=11000,corners=8 --cells 3,3,3 --stress 0,0,2e9,0,0,0 \
    --r-tol 10 --rann 100 --dt 1e-10 --balance sfc --costs nominal
exit $((failures > 0))
