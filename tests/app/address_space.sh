#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Under an address-space limit, a run without a memory cap runs out of memory with the map that speeds ask for; a run
# with a cap completes. Memory use depends on the machine's MPI, so the limit lies between the peaks of both runs
# without it.
source "$(dirname "$0")/../helpers/lib.sh"
clock=$1
scene=(--quiet --generate hernquist:n=350000 --theta 1 --costs nominal --exchange direct --balance sfc
    --share 'speeds:8,1,1,1' --steps 1)
cap=(--memory-cap 1.2mean)

# peak ARG...: the largest address space of a process, in kB; each process reports its own at exit.
peak()
{
    rm -f peaks
    "${MPIEXEC:-mpirun}" -n 4 env LD_PRELOAD="$clock" PEAK_FILE="$PWD/peaks" "$APP" "$@" >out 2>err || return
    sort -n peaks | tail -n 1
}

free=$(peak "${scene[@]}") || fail "without a limit and a cap: $(head -c 1000 err)"
capped=$(peak "${scene[@]}" "${cap[@]}") || fail "without a limit: $(head -c 1000 err)"
echo "$free kB without a cap, $capped kB with one"
[ "$capped" -gt 0 ] && [ "$((free - capped))" -gt 10000 ] || fail "a cap saves too little to tell"

export REAL_APP=$APP LIMIT=$(((free + capped) / 2))
cat >limited <<'END'
#!/bin/sh
ulimit -v "$LIMIT"
exec "$REAL_APP" "$@"
END
chmod +x limited
APP=./limited
run 4 "${scene[@]}"
status=$?
[ "$status" -ne 0 ] && [ "$status" -lt 128 ] && grep -q 'barneshut: .*out of memory' err ||
    fail "status $status without a cap: $(head -c 1000 err)"
expect 4 "${scene[@]}" "${cap[@]}"
finish
