#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A run that was stopped goes on as if it had not been: by a numbered snapshot and by SIGTERM.
source "$(dirname "$0")/lib.sh"
same=$1

for ranks in 1 3; do
    common=(--generate disks:n=2000 --steps 12 --quiet --balance sfc --opening relative)
    expect "$ranks" "${common[@]}" --forces whole.hdf5
    expect "$ranks" "${common[@]}" --output part.hdf5 --output-every 5
    [ -f part_000010.hdf5 ] && [ -f part_000012.hdf5 ] && [ ! -f part_000011.hdf5 ] || fail "numbered snapshots: $(ls)"
    expect "$ranks" --restart part_000005.hdf5 --steps 12 --quiet --balance sfc --opening relative --forces rest.hdf5
    "$same" whole.hdf5 rest.hdf5 0 || fail "a restart on $ranks ranks does not give the same bits"
    expect 2 --restart part_000005.hdf5 --steps 12 --quiet --balance count --opening relative --forces other.hdf5
    "$same" whole.hdf5 other.hdf5 1e-9 || fail "a restart on other ranks gives another physics"
done

# A signal ends a run, with a restart file.
"$APP" --generate disks:n=2000 --steps 100000000 --quiet --balance sfc >out 2>err &
pid=$!
sleep 3
kill -TERM "$pid"
wait "$pid"
status=$?
[ "$status" -eq 143 ] || fail "status $status instead of 143 after SIGTERM -- $(cat err)"
[ "$(grep -c 'go on with --restart' err)" -eq 1 ] || fail "what to do next: $(cat err)"
step=$(sed -n 's/.*after step \([0-9]*\);.*/\1/p' err)
expect 2 --restart barneshut-restart.hdf5 --steps "$((step + 2))" --report again
[ "$(python3 -c 'import json; print(json.load(open("again/report.json"))["steps"][0]["step"])')" = "$step" ] ||
    fail "the report of the continued run does not begin at step $step"
finish
