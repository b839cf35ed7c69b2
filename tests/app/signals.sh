#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Signals that end a run: Ctrl-C and SIGTERM leave a restart file from which the run resumes as if never stopped,
# whether they reach the launcher or ranks, and no file if there is nothing to save yet; a killed rank ends the job, and
# every file is whole.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1
mpiexec=${MPIEXEC:-mpirun}
# Seconds that Open MPI's launcher waits before it passes a signal on, and again before it kills. Ranks that exit by
# themselves do not use that time.
patience=1

# All processes of this machine: id, parent, name.
processes()
{
    sed -n 's/^\([0-9]*\) (\(.*\)) [A-Z] \([0-9]*\) .*/\1 \3 \2/p' /proc/[0-9]*/stat 2>/dev/null
}

# ranks_of PID: the app's processes below a launcher, however many processes lie between.
ranks_of()
{
    processes | awk -v top="$1" -v name="$(basename "$APP")" '
        { parent[$1] = $2; command[$1] = $3 }
        END {
            for (pid in parent) {
                at = pid
                while (at in parent && at != top) {
                    at = parent[at]
                }
                if (at == top && pid != top && command[pid] == substr(name, 1, 15)) {
                    print pid
                }
            }
        }' | sort -n
}

# begin METHOD: a run without end on three ranks that is well under way; its launcher is $launcher.
begin()
{
    rm -f barneshut-restart.hdf5 run_*.hdf5*
    mkdir -p unused
    echo "of an older run" >unused/report.json
    OMPI_MCA_odls_base_sigkill_timeout=$patience "$mpiexec" -n 3 "$APP" "${common[@]}" --balance "$1" --steps 100000000 --output run.hdf5 --output-every 1 \
        --report unused >out 2>err &
    launcher=$!
    for _ in $(seq 6000); do
        [ -f run_000003.hdf5 ] && return
        sleep 0.1
    done
    fail "no third step after ten minutes: $(cat err)"
}

# ends: the launcher's status, or nothing within ten minutes.
ends()
{
    for _ in $(seq 6000); do
        if ! kill -0 "$launcher" 2>/dev/null; then
            wait "$launcher"
            return
        fi
        sleep 0.1
    done
    fail "still running ten minutes later: $*"
    # shellcheck disable=SC2046 # a list of numbers
    kill -KILL "$launcher" $(ranks_of "$launcher")
    wait "$launcher"
}

# stop METHOD SIGNAL WHO: signals the launcher, the last rank or all ranks.
stop()
{
    local status expected=$((128 + $(kill -l "$2"))) step
    [ "$3" = launcher ] && patience=4 || patience=1
    begin "$1"
    # shellcheck disable=SC2046 # a list of numbers
    case $3 in
    launcher) kill "-$2" "$launcher" ;;
    rank) kill "-$2" $(ranks_of "$launcher" | tail -n 1) ;;
    ranks) kill "-$2" $(ranks_of "$launcher") ;;
    esac
    ends "$@"
    status=$?
    [ "$3" = launcher ] && [ "$status" -ne 0 ] || [ "$status" -eq "$expected" ] || fail "status $status after $*"
    [ "$(grep -c 'go on with --restart barneshut-restart.hdf5' err)" -eq 1 ] || fail "what to do next after $*: $(cat err)"
    step=$(sed -n 's/.*stopped [a-z]* step \([0-9]*\);.*/\1/p' err)
    [ "${step:-0}" -ge 3 ] || fail "stopped at step '$step': $*"
    steps=$step
    [ -f "run_$(printf %06d "$step").hdf5" ] || return # that step took long; the resumed run does it
    # The restart file equals the snapshot written at the same step without a signal.
    expect 3 --restart barneshut-restart.hdf5 --steps "$step" --quiet --forces stopped.hdf5
    expect 3 --restart "run_$(printf %06d "$step").hdf5" --steps "$step" --quiet --forces regular.hdf5
    "$same" stopped.hdf5 regular.hdf5 0 || fail "the restart file is not the state of step $step: $*"
}

# continues METHOD RANKS TOLERANCE: the stopped run resumes for three steps like a run that was never stopped.
continues()
{
    expect "$2" --restart barneshut-restart.hdf5 "${same_options[@]}" --balance "$1" --steps $((steps + 3)) --forces rest.hdf5
    "$same" whole.hdf5 rest.hdf5 "$3" || fail "$1 on $2 ranks: a stopped run goes on differently"
}

same_options=(--quiet --precision double --rebalance 2)
common=(--generate disks:n=1500 "${same_options[@]}")
for row in 'sfc TERM launcher' 'rcb INT launcher' 'count INT rank' 'interaction TERM ranks'; do
    # shellcheck disable=SC2086 # a list of words
    stop $row
    method=${row%% *}
    expect 3 "${common[@]}" --balance "$method" --steps $((steps + 3)) --forces whole.hdf5
    # Ranks that share an owner add their parts of its force; which ranks share depends on measured times.
    bits=$([ "$method" = interaction ] && echo 1e-9 || echo 0)
    continues "$method" 3 "$bits"
    [ "$method" != sfc ] || continues interaction 2 1e-9
done

# Reading, trees, first forces, a comparison: the run ends long before they would finish and leaves no file.
mkdir early
cd early || exit 1
heavy=(--generate plummer:n=4000000 --theta 0.1 --kernel plain)
for row in 'TERM rank --steps 3 --output never.hdf5' 'INT ranks --compare all --parts 64 --report never'; do
    read -ra words <<<"$row"
    OMPI_MCA_odls_base_sigkill_timeout=$patience "$mpiexec" -n 2 "$APP" "${heavy[@]}" "${words[@]:2}" >../out 2>../err &
    launcher=$!
    for _ in $(seq 6000); do
        mapfile -t ranks < <(ranks_of "$launcher")
        [ "${#ranks[@]}" -eq 2 ] && takes_signals "${ranks[0]}" && takes_signals "${ranks[1]}" && break
        sleep 0.1
    done
    sleep 1
    [ "${words[1]}" = ranks ] || ranks=("${ranks[1]}")
    kill "-${words[0]}" "${ranks[@]}"
    ends "$row"
    status=$?
    [ "$status" -eq $((128 + $(kill -l "${words[0]}"))) ] || fail "status $status: $row: $(cat ../err)"
    [ "$(grep -c 'ended by a signal before there was anything to save' ../err)" -eq 1 ] || fail "$row: $(cat ../err)"
    [ -z "$(ls)" ] || fail "left behind: $row: $(ls)"
done
cd ..

# A rank is killed at any point: a message, the end of the job, no shared memory, and whole files under their final names.
for victim in 1 3; do
    begin interaction
    rank=$(ranks_of "$launcher" | sed -n "${victim}p")
    mapfile -t shared < <(awk '$2 == "rw-s" && $6 ~ "^/" && $6 !~ "^/dev/(zero|dri)" { print $6 }' "/proc/$rank/maps" | sort -u)
    [ "${#shared[@]}" -gt 0 ] || fail "the ranks share no memory"
    kill -KILL "$rank"
    ends "rank $victim killed" && fail "status 0 after a rank was killed"
    [ -s err ] || fail "no message after a rank was killed"
    for file in "${shared[@]}"; do
        [ ! -e "$file" ] || fail "left behind: $file"
    done
    # Every step with a snapshot except the last one is recorded: whole rows, and no report of a different run.
    python3 - run_*.hdf5 <<'EOF' || fail "loads.csv of a run that was killed"
import csv, os, sys
text = open("unused/loads.csv", newline="").read()
rows = list(csv.DictReader(text.splitlines()))
steps = len(rows) // 3
assert text.endswith("\n") and steps >= len(sys.argv), (steps, sys.argv)
assert [(int(row["step"]), int(row["rank"])) for row in rows] == [(k // 3, k % 3) for k in range(3 * steps)]
assert all(float(row["load"]) >= 0 and row["helped"] for row in rows)
assert not os.path.exists("unused/report.json")
EOF
    for file in run_*.hdf5; do
        expect 1 "$file" --steps 0 --quiet
    done
    files=(run_*.hdf5)
    last=${files[-1]}
    expect 3 --restart "$last" --steps $((10#${last//[!0-9]/} % 1000000 + 1)) --quiet --output run.hdf5 --output-every 1
done
finish
