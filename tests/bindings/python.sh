#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a Python program on RANKS ranks with the package in PACKAGES and the library LIBRARY.
# usage: python.sh RANKS PROGRAM [ARGUMENT]...
# Skipped (77) where no python3 has numpy and an mpi4py of the library's MPI.
set -eu
here=$(dirname "$0")
. "$here/../../scripts/mpi-env.sh"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PACKAGES
[ -z "${LIBRARY-}" ] || export EQUIPOISE_LIBRARY=$LIBRARY
# A machine without these packages skips the test.
probe='import sys
try:
    import numpy
    from mpi4py import MPI
except ImportError as e:
    print(e)
    sys.exit(77)
import equipoise._library
try:
    equipoise._library.communicator(MPI.COMM_WORLD)
except ImportError as e:
    print(e)
    sys.exit(77)'
status=77 said='there is no python3'
for python in "${PYTHON:-python3}" /usr/bin/python3; do
    command -v "$python" >/dev/null || continue
    status=0
    said=$("$python" -c "$probe" 2>&1) || status=$?
    [ "$status" -eq 77 ] || break
done
if [ "$status" -ne 0 ]; then
    echo "$said"
    exit "$status"
fi
ranks=$1
shift
exec "$here/../helpers/run.sh" "$ranks" "$python" "$@"
