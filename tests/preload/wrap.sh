#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The generator reads another kind of mpi.h: integer handles, unnamed parameters, attributes with strings.
# usage: wrap.sh WRAP.py SOURCE COMPILER...
set -eu
wrap=$1 source=$2
shift 2
compiler=("$@")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

fail()
{
    echo "FAIL: $*"
    exit 1
}

cat >mpi.h <<'EOT'
#ifndef MPI_H
#define MPI_H
#define MPICH_VERSION "9"
typedef int MPI_Comm, MPI_Datatype, MPI_Request, MPI_Fint;
typedef long long MPI_Count;
typedef struct MPI_Status { int MPI_SOURCE; } MPI_Status;
#define MPI_COMM_WORLD ((MPI_Comm)0x44000000)
#define MPI_COMM_NULL ((MPI_Comm)0x04000000)
#define MPI_SUCCESS 0
#define MPI_Address(...) static_assert(0, "MPI_Address was removed")
#define OLD(text) __attribute__((deprecated(text))) __attribute__((visibility("default")))
#define BOTH(name, arguments) int MPI_##name arguments; int PMPI_##name arguments;
BOTH(Comm_rank, (MPI_Comm, int *))
BOTH(Comm_free, (MPI_Comm *comm))
BOTH(Bcast, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm))
BOTH(Bcast_c, (void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm))
BOTH(Comm_compare, (MPI_Comm comm1, MPI_Comm comm2, int *result))
BOTH(Comm_spawn, (const char *command, char *argv[], MPI_Comm comm, MPI_Comm *intercomm, int codes[]))
BOTH(Wait, (MPI_Request *request, MPI_Status *status))
BOTH(Isend, (const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
             MPI_Request *request) OLD("use; another (MPI_Comm)"))
BOTH(Get_count, (const MPI_Status *status, MPI_Datatype type, int *count))
BOTH(Abort, (MPI_Comm comm, int code))
int MPI_Own(MPI_Comm comm); /* no other name: no way on */
MPI_Comm MPI_Comm_f2c(MPI_Fint comm);
MPI_Comm PMPI_Comm_f2c(MPI_Fint comm);
#endif
EOT
for kind in c fortran; do
    python3 "$wrap" $kind $kind.c "${compiler[@]}" -I.
    "${compiler[@]}" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I. -I"$source/preload" -I"$source/lib/include" \
        -I"$source/sampling/include" $kind.c || fail "$kind: what is written does not compile"
done
# Every function with a communicator, and those that wait; not those that files by hand have.
wrapped=$(sed -n 's/^EQP_WRAPPER int \(MPI_[A-Za-z_]*\)(.*/\1/p' c.c | tr '\n' ' ')
[ "$wrapped" = 'MPI_Bcast MPI_Bcast_c MPI_Comm_compare MPI_Comm_free MPI_Comm_rank MPI_Comm_spawn MPI_Isend MPI_Wait ' ] ||
    fail "wrapped are $wrapped"
[ "$(grep -c ' = eqp__comm(' c.c)" -eq 7 ] || fail "$(grep -c ' = eqp__comm(' c.c) communicators are replaced"
for name in mpi_bcast_ mpi_bcast_f08ts_ mpi_bcast_f08ts_large_ mpi_abort_ mpi_init_f08_ mpi_errhandler_get_; do
    grep -q "^EQP_WRAPPER void $name(" fortran.c || fail "$name is not wrapped"
done
grep -q 'pmpi_comm_spawn_(.*command_length_, argv_length_);' fortran.c || fail 'lengths of texts are lost'
echo 'int main(void);' >mpi.h
! python3 "$wrap" c c.c "${compiler[@]}" -I. 2>said || fail 'an mpi.h without functions is taken'
grep -q 'wrap.py: mpi.h declares no function' said || fail "$(cat said)"
echo "all as expected"
