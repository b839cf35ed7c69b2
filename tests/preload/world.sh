#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A C program sees a world without the balancers, ends normally, and is measured.
# usage: APP=equipoise-lazy world.sh WORLD CLOCK   (CLOCK: a library of the user's own)
scripts=$(realpath "$(dirname "$0")/../../scripts")
source "$scripts/../tests/helpers/lib.sh"
world=$1 clock=$2

# ends STATUS WHAT [OPTION...]: on 2 of 3 ranks.
ends()
{
    local status=$1 what=$2
    shift 2
    run 3 -n 1 "$@" "$world" "$what"
    [ $? -eq "$status" ] || fail "$what: not status $status: $(head -c 300 err)"
}

"${MPIEXEC:-mpirun}" -n 4 "$world" | sort >alone || fail "without balancers: $(cat alone)"
[ "$(wc -l <alone)" -eq 12 ] || fail "without balancers: $(cat alone)"
expect 6 -n 2 "$world"
sort out | cmp - alone && [ ! -s err ] || fail "$(sort out | diff - alone) $(cat err)"
expect 6 -n 2 --spread node "$world" thread
sort out | cmp - alone && [ ! -s err ] || fail "by nodes, with threads: $(sort out | diff - alone) $(cat err)"
ends 0 spawn
[ ! -s out ] || fail "spawn: $(cat out)"
# A program that it starts has its own world and an environment without the launcher's variables; the user's libraries stay.
cat >start <<EOT
#!/bin/bash
set -eu -o pipefail
echo "\$LD_PRELOAD" >preloaded
! env | grep EQP_LAZY_ || exit
unset "\${!OMPI_@}" "\${!PMIX_@}" "\${!PMI_@}" "\${!HYD@}"
source "$scripts/mpi-env.sh"
"${MPIEXEC:-mpirun}" -n 2 "$world" | sed 's/^/started: /'
EOT
chmod +x start
LD_PRELOAD=$clock run 3 -n 1 "$world" start ./start || fail "start: status $?: $(cat err)"
[ "$(grep -c '^started: .*, of 2$' out)" -eq 2 ] && ! grep -v '^started: ' out || fail "start: $(cat out err)"
[ "$(cat preloaded)" = "$clock" ] || fail "start: LD_PRELOAD is $(cat preloaded)"
# The same holds for a program that a script starts by another launcher before the main program.
if [ -n "$("${MPIEXEC:-mpirun}" -n 1 env | grep -E '^(PMIX_NAMESPACE|SLURM_STEP_ID)=')" ]; then
    sed -i '/grep EQP_LAZY_/d' start
    PMIX_NAMESPACE=another run 1 -n 1 ./start || fail "a script starts: status $?: $(cat err)"
    [ "$(grep -c '^started: .*, of 2$' out)" -eq 2 ] || fail "a script starts: $(cat out err)"
fi
ends 7 abort
ends 3 exit
# Open MPI's mpirun sometimes loses a rank's error message and logs the loss; such a run is repeated.
for _ in 1 2 3 4 5 6 7 8 9 10; do
    ! run 3 -n 1 "$world" wrong || fail "a fatal error, and all goes on"
    grep -q 'ORTE_ERROR_LOG.*show_help' err || break
done
grep -q MPI_ERR_RANK err || fail "a fatal error: $(cat err)"

# One row per rank and step: steps marked by the program, each with two collective calls; or one step per collective call.
expect 3 -n 1 --report steps.json "$world" steps marked
python3 - steps.json <<'EOT' || fail "report: $(cat steps.json)"
import json, sys
report = json.load(open(sys.argv[1]))
assert (report["ranks"], report["balancers"], report["steps_by"]) == (2, 1, "MPI_Pcontrol"), report
assert len(report["cpu_seconds"]) == 6 and all(len(row) == 2 for row in report["cpu_seconds"])
assert all(second > 0 for row in report["cpu_seconds"] for second in row)
EOT
# With more than 4096 steps, neighbouring rows are summed.
expect 2 -n 1 --report many.csv "$world" many
[ "$(head -n 1 many.csv)" = step,rank,cpu_seconds ] || fail "head: $(head -n 1 many.csv)"
[ "$(wc -l <many.csv)" -eq 2052 ] && [ "$(tail -n 1 many.csv | cut -d , -f 1)" -eq 4100 ] ||
    fail "many steps: $(wc -l <many.csv) lines, the last is $(tail -n 1 many.csv)"
# A report that cannot be written does not change the exit status.
ends 5 return --report /nowhere/steps.csv
grep -c 'equipoise-lazy: /nowhere/steps.csv' err >count
[ "$(cat count)" -eq 1 ] || fail "$(cat count) lines: $(cat err)"
finish
