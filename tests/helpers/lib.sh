# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the tests of the apps. Source it with APP set to the program.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/mpi-env.sh"

source "$(dirname "${BASH_SOURCE[0]}")/check.sh"
work=$tmp
# Open MPI starts a daemon for a program without a launcher, which takes half of the time of a short test; without it all
# such programs call their folders alike, so each test has a place of its own for them.
sessions=$(mktemp -d)
export OMPI_MCA_ess_singleton_isolated=1 OMPI_MCA_orte_tmpdir_base=$sessions
trap 'rm -rf "$work" "$sessions"' EXIT
# The interpreter itself, since PATH may name a wrapper script that searches for it on each call.
python=$(python3 -c 'import sys; print(sys.executable)')
python3()
{
    "$python" "$@"
}
cd "$work" || exit 1

# run RANKS ARG...: stdout and stderr in files out and err; the status is the app's. One rank runs without mpirun, so that
# the launcher's own words are not among those of the app.
run()
{
    local ranks=$1
    shift
    if [ "$ranks" -eq 1 ]; then
        "$APP" "$@" >out 2>err
    else
        # After a rank exits with a status, Open MPI's launcher waits a second for ranks that have ended already.
        OMPI_MCA_odls_base_sigkill_timeout=${OMPI_MCA_odls_base_sigkill_timeout:-0} \
            "${MPIEXEC:-mpirun}" -n "$ranks" "$APP" "$@" >out 2>err
    fi
}

# expect RANKS ARG...: a run that must succeed.
expect()
{
    run "$@" || fail "status $? of: $* -- $(head -c 4000 err)"
}

# refused WORD ARG...: on one rank; WORD must be in the line. refused_by_all: on one rank and on three.
refused()
{
    refused_on 1 "$@"
}

refused_by_all()
{
    refused_on '1 3' "$@"
}

refused_on()
{
    local numbers=$1 word=$2 ranks status before after count GLOBIGNORE=out:err
    shift 2
    for ranks in $numbers; do
        before=$(echo *)
        run "$ranks" "$@"
        status=$?
        after=$(echo *)
        [ "$status" -eq 2 ] || fail "status $status instead of 2 on $ranks ranks: $* -- $(head -c 2000 err)"
        [ "$before" = "$after" ] || fail "files appeared on $ranks ranks: $*"
        [ ! -s out ] || [ "$ranks" -gt 1 ] || fail "something on stdout: $*"
        # mpirun adds lines of its own; the app's begin with its name or with the file's.
        count=$(grep -c "$word" err)
        [ "$count" -eq 1 ] || fail "$count lines with '$word' on $ranks ranks: $* -- $(head -c 300 err)"
        [ "$ranks" -gt 1 ] || [ "$(wc -l <err)" -eq 1 ] || fail "$(wc -l <err) lines: $* -- $(head -c 300 err)"
    done
}

# takes_signals PID: whether a process has handlers of its own for SIGTERM.
takes_signals()
{
    local caught
    caught=$(sed -n 's/^SigCgt:\t//p' "/proc/$1/status" 2>/dev/null)
    (((16#${caught:-0} & 0x4000) != 0))
}

# value FILE KEY: of a report.
value()
{
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}

# same_schedule FILE FIRST STEPS 'METHOD RENEWAL [OPTION...]' ARG...: on three ranks. With nominal costs no clock decides: a
# second run makes its maps when the first does, as it does and for the same reasons, and so does one that goes on from step
# FIRST, which FILE is written at.
same_schedule()
{
    local file=$1 first=$2 steps=$3 what=$4 way run
    read -ra way <<<"$4"
    shift 4
    for run in whole again rest; do
        [ "$run" != rest ] || set -- --restart "$file"
        "${MPIEXEC:-mpirun}" -n 3 "$APP" "$@" --steps "$steps" --quiet --costs nominal --balance "${way[0]}" \
            --rebalance "${way[1]}" "${way[@]:2}" --report "schedule-$run" >out 2>err ||
            fail "$what, $run: status $? -- $(head -c 2000 err)"
    done
    python3 - "$first" "$what" <<'END' || fail "$what: other maps in another run, or after a restart at step $first"
import json, sys

whole, again, rest = ([[s.get(key) for key in ("step", "action", "rebalanced", "chosen", "why")]
                       for s in json.load(open(f"schedule-{run}/report.json"))["steps"]]
                      for run in ("whole", "again", "rest"))
assert whole == again, [pair for pair in zip(whole, again) if pair[0] != pair[1]][:1]
whole, rest = ([s for s in steps if s[0] > int(sys.argv[1])] for steps in (whole, rest))
assert whole and whole == rest, [pair for pair in zip(whole, rest) if pair[0] != pair[1]][:1]
assert any(step[2] for step in whole[1:]) or "repair" in sys.argv[2], "no map at all"
END
    rm -r schedule-whole schedule-again schedule-rest
}
