#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A C program below which the world was divided sees a world of the ranks that are left, ends as it wants to, and is
# measured.
# usage: APP=equipoise-lazy world.sh WORLD
source "$(dirname "$0")/../app/lib.sh"
world=$1

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
ends 7 abort
ends 3 exit
# Open MPI's mpirun loses what a rank says of its error now and then, and logs that itself; such a run is made again.
for _ in 1 2 3; do
    ! run 3 -n 1 "$world" wrong || fail "a fatal error, and all goes on"
    grep -q 'ORTE_ERROR_LOG.*show_help' err || break
done
grep -q MPI_ERR_RANK err || fail "a fatal error: $(cat err)"

# A row for each step of a rank: those that the program marks, in which two collective calls are; or every such call.
expect 3 -n 1 --report steps.json "$world" steps marked
python3 - steps.json <<'EOT' || fail "report: $(cat steps.json)"
import json, sys
report = json.load(open(sys.argv[1]))
assert (report["ranks"], report["balancers"], report["steps_by"]) == (2, 1, "MPI_Pcontrol"), report
assert len(report["cpu_seconds"]) == 6 and all(len(row) == 2 for row in report["cpu_seconds"])
assert all(second > 0 for row in report["cpu_seconds"] for second in row)
EOT
# Of many steps neighbours are added up: 4100 and what comes after them.
expect 2 -n 1 --report many.csv "$world" many
[ "$(head -n 1 many.csv)" = step,rank,cpu_seconds ] || fail "head: $(head -n 1 many.csv)"
[ "$(wc -l <many.csv)" -eq 2052 ] && [ "$(tail -n 1 many.csv | cut -d , -f 1)" -eq 4100 ] ||
    fail "many steps: $(wc -l <many.csv) lines, the last is $(tail -n 1 many.csv)"
# A report that cannot be written is not the program's fault.
ends 5 return --report /nowhere/steps.csv
grep -c 'equipoise-lazy: /nowhere/steps.csv' err >count
[ "$(cat count)" -eq 1 ] || fail "$(cat count) lines: $(cat err)"
finish
