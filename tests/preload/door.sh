#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program that requests maps by MPI_Pcontrol gets them from any number of balancers; without balancers it runs on.
# usage: APP=equipoise-lazy door.sh WORLD
source "$(dirname "$0")/../helpers/lib.sh"
door=("$1" door)

[ "$("${MPIEXEC:-mpirun}" -n 2 "${door[@]}" 20)" = nobody ] || fail "without equipoise-lazy: $(cat out)"
for case in '4 -n 1' '6 -n 3 --balance rcb' '2 -n 0'; do
    # shellcheck disable=SC2086 # several words
    expect $case "${door[@]}" 150 "${wrong[@]}"
    [ "$(cat out)" = maps ] || fail "$case: $(cat out)"
    [ ! -s err ] || fail "$case: $(cat err)"
    wrong=(wrong)
done

# If the launcher keeps the other ranks alive, a killed balancer costs new maps and nothing else.
mpirun --enable-recovery -n 3 "$APP" -n 1 --patience 1 "${door[@]}" 400 begun >out 2>err &
launcher=$!
for ((i = 0; i < 400; i++)); do
    ! grep -q begun out && kill -0 "$launcher" 2>/dev/null || break
    sleep 0.05
done
for process in $(cat /proc/"$launcher"/task/*/children 2>/dev/null); do
    if tr '\0' '\n' <"/proc/$process/environ" | grep -q -x OMPI_COMM_WORLD_RANK=2; then
        kill -9 "$process" && killed=yes
    fi
done
wait "$launcher"
status=$?
if [ -n "${killed-}" ]; then
    [ "$status" -eq 0 ] && grep -q maps out || fail "a killed balancer: status $status: $(cat out err)"
else
    echo "this launcher kills all with one: $(head -n 1 err)"
fi
finish
