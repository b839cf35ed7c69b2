#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The sampler builds and passes its tests where there is no MPI, Zoltan, HDF5, zlib and jansson: pkg-config finds only
# cmocka, the MPI compiler wrappers fail, and no compiler command names any of them.
# usage: sampler_alone.sh SOURCE_DIR COMPILER
set -eu
source=$1 compiler=$2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/pc" "$tmp/bin"
cmocka=$(pkg-config --variable=pcfiledir cmocka)/cmocka.pc
cp "$cmocka" "$tmp/pc"
for tool in mpicc mpiexec mpirun h5cc h5pcc; do
    printf '#!/bin/sh\nexit 1\n' >"$tmp/bin/$tool"
    chmod +x "$tmp/bin/$tool"
done
export PATH=$tmp/bin:$PATH PKG_CONFIG_LIBDIR=$tmp/pc CC=$compiler
unset PKG_CONFIG_PATH CPATH C_INCLUDE_PATH LIBRARY_PATH

{
    meson setup -Dlib=disabled -Dbuildtype=plain -Doptimization=1 "$tmp/build" "$source" &&
        ninja -C "$tmp/build" &&
        meson test -C "$tmp/build" --no-rebuild --suite unit
} >"$tmp/log" 2>&1 || {
    tail -n 60 "$tmp/log"
    exit 1
}
if grep -E -i -n 'mpi/include|openmpi|trilinos|zoltan|hdf5|jansson' "$tmp/build/build.ninja"; then
    echo "sampler_alone: the build names a library that it must not need" >&2
    exit 1
fi
grep -E '^(Ok|Fail|Skipped):' "$tmp/log"
# Tests that were not built prove nothing.
grep -q -E '^Ok: +[1-9]' "$tmp/log"
