#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fortran programs with mpif.h, `use mpi` and mpi_f08 see a world without the balancers.
# usage: APP=equipoise-lazy fortran.sh WORLD.f90
source "$(dirname "$0")/../helpers/lib.sh"
compiler=${MPIF90:-mpif90}

command -v "$compiler" >/dev/null || {
    echo "skipped: there is no $compiler"
    exit 77
}
tried=0
for interface in "MPIF -DOLD_NAMES" USE_MPI F08; do
    # shellcheck disable=SC2086 # two words
    "$compiler" -cpp -D$interface "$1" -o world 2>log || {
        echo "skipped: $interface is not to be had: $(tail -n 1 log)"
        continue
    }
    tried=$((tried + 1))
    [ -e alone ] || "${MPIEXEC:-mpirun}" -n 3 ./world >alone || fail "$interface without balancers: $(cat alone)"
    [ "$(wc -l <alone)" -eq 2 ] || fail "$interface without balancers: $(cat alone)"
    expect 5 -n 2 --report steps.csv ./world
    cmp out alone || fail "$interface: $(cat out)"
    [ "$(wc -l <steps.csv)" -eq 4 ] || fail "$interface: $(cat steps.csv)"
done
[ "$tried" -gt 0 ] || exit 77
run 3 -n 1 ./world abort
[ $? -eq 7 ] || fail "MPI_Abort's status is lost"
# Calls by PMPI names bypass every tool.
cat >own.f90 <<'EOT'
program own
   integer :: ierror
   call PMPI_Init(ierror)
   call PMPI_Finalize(ierror)
end program own
EOT
"$compiler" own.f90 -o own || fail "own.f90 does not compile"
refused 'calls PMPI_Init by itself' -n 0 ./own
finish
