#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The sampler is self-contained: it configures, builds and passes its tests without MPI, Zoltan and HDF5, includes none
# of their headers, needs libc and libm only, and is strict C11.
# usage: sampling_alone.sh SOURCE_ROOT
# Uses the commands in CC, MESON and NINJA if set, else cc, meson and ninja.
set -euo pipefail

if [ $# -ne 1 ] || [ ! -f "$1/sampling/meson.build" ]; then
    echo "usage: sampling_alone.sh SOURCE_ROOT" >&2
    exit 2
fi
root=$(cd "$1" && pwd)
export CC=${CC:-cc}
meson=${MESON:-meson}
ninja=${NINJA:-ninja}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Meson cleans up what Ninja knows no more in the folder where it is called, and takes files of Fortran modules for such.
cd "$scratch"
build=$scratch/build

fail()
{
    echo "sampling_alone: $*" >&2
    exit 1
}

# Runs a command quietly and shows its output if it fails.
quietly()
{
    "$@" >"$scratch/log" 2>&1 || {
        cat "$scratch/log" >&2
        fail "failed: $*"
    }
}

echo "strict C11"
count=0
for source in "$root"/sampling/*.c "$root"/sampling/include/equipoise/{,more/}*.h; do
    # CC may contain options, so it is split on purpose.
    # shellcheck disable=SC2086
    quietly $CC -std=c11 -Wall -Wextra -pedantic -Werror -I"$root/sampling/include" -x c -c "$source" \
        -o "$scratch/object.o"
    count=$((count + 1))
done
echo "  $count files"

# pkg-config finds only cmocka, and the compiler wrappers of MPI and HDF5 fail.
mkdir "$scratch/bin" "$scratch/pkgconfig"
cp "$(pkg-config --variable=pcfiledir cmocka)/cmocka.pc" "$scratch/pkgconfig"
for tool in mpicc mpiexec mpirun h5cc h5pcc; do
    printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/$tool"
    chmod +x "$scratch/bin/$tool"
done
export PATH=$scratch/bin:$PATH PKG_CONFIG_LIBDIR=$scratch/pkgconfig
unset PKG_CONFIG_PATH CPATH C_INCLUDE_PATH LIBRARY_PATH

echo "build without the library"
# The test checks that the sampler builds and passes, not its speed.
quietly "$meson" setup "$build" "$root" -Dlib=disabled -Dtests=enabled -Ddefault_library=shared -Doptimization=0
# The suite unit runs every unit test of the sampler; two of them suffice to show that a build without the library has
# them.
quietly "$ninja" -C "$build" -j 2 apps/examples/embed_sampler tests/unit/test_error \
    tests/unit/test_units

echo "dependencies"
"$ninja" -C "$build" -t deps >"$scratch/deps"
grep -q 'equipoise/error\.h' "$scratch/deps" || fail "ninja knows no dependencies"
if grep -E '/(mpi|mpicxx|zoltan|hdf5|H5|jansson|zlib)[A-Za-z0-9_]*\.h$' "$scratch/deps"; then
    fail "a header of the library's dependencies is used"
fi
# The example that embeds the sampler also builds without the library.
if grep -F -e "${root##*/}/lib/" -e "${root##*/}/apps/" "$scratch/deps" | grep -v '/apps/examples/[a-z_]*\.c$'; then
    fail "a file of the library or of an app is used"
fi
library=$(find "$build/sampling" -maxdepth 1 -name 'libequipoise-sampling.so*' -type f | head -n 1)
[ -n "$library" ] || fail "no shared library"
readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$scratch/needed"
grep -q . "$scratch/needed" || fail "the shared library needs nothing at all"
if grep -v -E '^lib(c|m)\.' "$scratch/needed"; then
    fail "the shared library needs more than libc and libm"
fi
echo "  $(tr '\n' ' ' <"$scratch/needed")"

echo "tests"
quietly "$meson" test -C "$build" --no-rebuild --print-errorlogs error units embed-sampler
ok=$(sed -n 's/^Ok: *//p' "$scratch/log")
[ "${ok:-0}" -eq 3 ] || fail "${ok:-0} of 3 tests passed"
echo "  ${ok// /} passed"
