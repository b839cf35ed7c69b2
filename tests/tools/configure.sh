#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: configure.sh SOURCE COMPILER...
# The build uses the MPI that CC or MPICC names, or none: one line names a mismatch, and the build continues without an
# optional dependency. If there are two HDF5 libraries, it uses the serial one. The second MPI, Zoltan and HDF5 are
# fakes.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/../helpers/check.sh"
source=$1
compiler=("${@:2}")
# Meson cleans up what Ninja knows no more in the folder where it is called, and takes files of Fortran modules for such.
cd "$tmp" || exit 1
unset MPICC CC CFLAGS LDFLAGS

# configure NAME [VARIABLE=VALUE]...: Meson's output in file NAME, the build directory is build-NAME; with $options.
options=
configure()
{
    local name=$1
    shift
    # shellcheck disable=SC2086 # a list of words
    env CC="${compiler[*]}" "$@" meson setup "$tmp/build-$name" "$source" -Dtests=disabled -Dbench=false $options >"$tmp/$name" 2>&1
}

# refused NAME PATTERN [VARIABLE=VALUE]...: fails with one line of ours that matches.
refused()
{
    local name=$1 pattern=$2
    shift 2
    configure "$name" "$@" && fail "$name is accepted"
    [ "$(grep -c 'ERROR: ' "$tmp/$name")" -eq 1 ] && grep -q -E "ERROR: .*$pattern" "$tmp/$name" ||
        fail "$name: not one line with '$pattern': $(tail -n 3 "$tmp/$name")"
}

# An MPI with its wrapper, and a Zoltan linked with it.
mkdir "$tmp/mpi" "$tmp/zoltan" "$tmp/parallel"
cat >"$tmp/mpi/mpi.h" <<'END'
typedef int MPI_Comm;
int MPI_Init(int *argc, char ***argv);
END
echo '#include "mpi.h"
int MPI_Init(int *argc, char ***argv) { return *argc < 0 || !argv; }' >"$tmp/mpi/mpi.c"
echo 'int MPI_Init(int *argc, char ***argv);
int Zoltan_Initialize(int argc, char **argv, float *version) { return version ? MPI_Init(&argc, &argv) : 0; }' \
    >"$tmp/zoltan/zoltan.c"
"${compiler[@]}" -shared -fPIC -o "$tmp/mpi/libfakempi.so" "$tmp/mpi/mpi.c" &&
    "${compiler[@]}" -shared -fPIC -o "$tmp/zoltan/libtrilinos_zoltan.so" "$tmp/zoltan/zoltan.c" -L"$tmp/mpi" -lfakempi ||
    exit 1
cat >"$tmp/mpi/mpicc" <<END
#!/bin/sh
flags='-I$tmp/mpi -L$tmp/mpi -lfakempi'
[ "\$1" != -show ] || exec echo cc \$flags
exec ${compiler[*]} "\$@" \$flags
END
chmod +x "$tmp/mpi/mpicc"
cp "$tmp/mpi/mpicc" "$tmp/mpi/mpiexec"
# An HDF5 that reports itself as parallel, under the common name.
printf 'Name: HDF5\nDescription: fake\nVersion: 1.12.0\nCflags: -I%s\nLibs:\n' "$tmp/parallel" >"$tmp/parallel/hdf5.pc"
echo '#define H5_HAVE_PARALLEL 1' >"$tmp/parallel/H5pubconf.h"

export LD_LIBRARY_PATH=$tmp/mpi
both='Zoltan .*/libtrilinos_zoltan\.so.* is linked with .*/libmpi.*, this build with .*/libfakempi\.so'
options=-Dzoltan=enabled refused other-zoltan "$both" CC="$tmp/mpi/mpicc"
configure no-zoltan CC="$tmp/mpi/mpicc" || fail "goes not on without Zoltan: $(tail -n 5 "$tmp/no-zoltan")"
[ "$(grep -c 'WARNING: Zoltan' "$tmp/no-zoltan")" -eq 1 ] && grep -q -E "WARNING: $both; going on without Zoltan" "$tmp/no-zoltan" ||
    fail "not one line of another MPI: $(grep WARNING "$tmp/no-zoltan")"
grep -q 'rcb, rib, interaction, hypergraph *: NO' "$tmp/no-zoltan" && ! grep -q zoltan "$tmp"/build-no-zoltan/meson-private/*.pc ||
    fail 'the other Zoltan is linked'
[ "$(cat "$tmp/build-no-zoltan/mpiexec")" = "$tmp/mpi/mpiexec" ] || fail "the launcher is $(cat "$tmp/build-no-zoltan/mpiexec")"
refused two-mpi "CC is .*, MPICC is true" CC="$tmp/mpi/mpicc" MPICC=true

LD_LIBRARY_PATH=$tmp/mpi:$tmp/zoltan
if configure same MPICC="$tmp/mpi/mpicc" LDFLAGS="-L$tmp/zoltan" PKG_CONFIG_PATH="$tmp/parallel"; then
    # Reconfigured without the variable, the build keeps its choice.
    meson setup --reconfigure "$tmp/build-same" "$source" >"$tmp/again" 2>&1 || fail "again: $(tail -n 3 "$tmp/again")"
    file=$tmp/build-same/meson-private/equipoise.pc
    grep -q -e "-L$tmp/mpi -lfakempi" "$file" && grep -q -e "-I$tmp/mpi" "$file" || fail "equipoise.pc: $(cat "$file")"
    grep -q ompi "$file" && fail "Open MPI is used: $(cat "$file")"
    if pkg-config --exists hdf5-serial; then
        grep -q hdf5-serial "${file%.pc}-io.pc" || fail "not the serial HDF5: $(cat "${file%.pc}-io.pc")"
    fi
else
    fail "a Zoltan of the same MPI: $(tail -n 5 "$tmp/same")"
fi
mv "$tmp/parallel/hdf5.pc" "$tmp/parallel/hdf5-serial.pc"
options=-Dhdf5=enabled refused parallel-hdf5 'HDF5 .* parallel' PKG_CONFIG_PATH="$tmp/parallel"
finish
