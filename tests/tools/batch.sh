#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: batch.sh SOURCE
# The jobs of docs/batch start from the snapshot, resume from the restart file of a stopped job, return the status of
# the run, and leave no restart file after a completed run. The launchers are fakes.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/../helpers/check.sh"
jobs=$(realpath "$1/docs/batch")
mkdir "$tmp/bin" "$tmp/work"
cd "$tmp/work" || exit 1

for launcher in srun mpirun; do
    # A stopped run leaves its restart file.
    cat >"$tmp/bin/$launcher" <<'END'
#!/bin/sh
echo "$*" >>said
case " $* " in *' --compare '*) exit 0 ;; esac
[ -z "${STOPPED-}" ] || : >barneshut-restart.hdf5
exit "${STOPPED:-0}"
END
    chmod +x "$tmp/bin/$launcher"
done
export PATH=$tmp/bin:$PATH PBS_O_WORKDIR=$PWD PBS_JOBID=12.host SLURM_JOB_ID=12 SLURM_NTASKS=128

# job KIND STATUS: runs a job; $run gets the arguments of its launcher
job()
{
    local status=0
    rm -f said
    if [ "$1" = slurm ]; then
        bash "$jobs/equipoise.slurm" galaxy.hdf5 40 >out 2>&1 || status=$?
    else
        snapshot=galaxy.hdf5 steps=40 bash "$jobs/equipoise.pbs" >out 2>&1 || status=$?
    fi
    [ "$status" -eq "$2" ] || fail "$1: status $status instead of $2: $(cat out)"
    run=$(tail -n 1 said)
}

for kind in slurm pbs; do
    bash -n "$jobs/equipoise.$kind" || fail "$kind: no shell script"
    STOPPED=143 job "$kind" 143
    case $run in *'barneshut galaxy.hdf5 --steps 40 '*'--report report-12') ;; *) fail "$kind: first $run" ;; esac
    [ "$kind" = pbs ] || grep -q -- '--compare .* --parts 128 ' said || fail "$kind: compares not: $(cat said)"
    job "$kind" 0
    case $run in *'barneshut --restart barneshut-restart.hdf5 --steps 40 '*) ;; *) fail "$kind: then $run" ;; esac
    [ "$(wc -l <said)" -eq 1 ] || fail "$kind: compares again"
    [ ! -e barneshut-restart.hdf5 ] || fail "$kind: the restart file stays"
done
bash "$jobs/equipoise.slurm" >out 2>&1 && fail 'slurm: runs without a snapshot'
bash "$jobs/equipoise.pbs" >out 2>&1 && fail 'pbs: runs without a snapshot'
finish
