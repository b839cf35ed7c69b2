#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a program on some ranks of this machine: run.sh RANKS PROGRAM [ARGUMENT]...
# MPIEXEC names another launcher than mpiexec. Exit status 77 (skipped) if there is none.
set -eu

ranks=$1
shift
mpiexec=${MPIEXEC:-mpiexec}
command -v "$mpiexec" >/dev/null || {
    echo "run.sh: no $mpiexec" >&2
    exit 77
}
. "$(dirname "$0")/../../scripts/mpi-env.sh"
exec "$mpiexec" -n "$ranks" "$@"
