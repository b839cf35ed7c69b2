#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `meson install` into a DESTDIR, with the prefix moved afterwards: all files are present, no file names the build or
# staging folder, binaries are hardened, and every program starts and every library loads in an empty environment. The
# same holds for programs built against the installed tree with its folder as rpath, and with Equipoise as a subproject.
# usage: install.sh SOURCE BUILD PREFIX LIBDIR WITH_LIBRARY(true|false) HARDENED(true|false) COMPILER...
set -eu
source=$1 build=$2 prefix=$3 libdir=$4 with_library=$5 hardened=$6
shift 6
compiler=("$@")

fail()
{
    echo "install: $*" >&2
    exit 1
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# Meson cleans up what Ninja knows no more in the folder where it is called, and takes files of Fortran modules for such.
cd "$tmp"
stage=$tmp/stage
DESTDIR=$stage meson install -C "$build" --no-rebuild >"$tmp/log" 2>&1 || {
    cat "$tmp/log" >&2
    fail "meson install failed"
}
if grep -rIl -e "$stage" -e "$build" "$stage" >"$tmp/found"; then
    fail "these name the build or the staging folder: $(cat "$tmp/found")"
fi
root=$tmp/moved
mv "$stage$prefix" "$root"
# An empty environment except for the machine's own library paths; Meson adds the paths of the build to the environment.
paths=$(tr : '\n' <<<"${LD_LIBRARY_PATH-}" | grep -v -F "$build" | paste -s -d :)
unset LD_LIBRARY_PATH
empty=(env -i "PATH=$PATH" ${paths:+"LD_LIBRARY_PATH=$paths"})

wanted=(include/equipoise/error.h include/equipoise/version.h "$libdir/libequipoise-sampling.so" "$libdir/pkgconfig/equipoise-sampling.pc"
    "$libdir/cmake/Equipoise/EquipoiseConfig.cmake" "$libdir/cmake/Equipoise/EquipoiseConfigVersion.cmake")
if $with_library; then
    wanted+=(include/equipoise/balance.h include/equipoise/equipoise.hpp "$libdir/libequipoise.so"
        "$libdir/pkgconfig/equipoise.pc" bin/barneshut
        bin/dislocation bin/equipoise-view bin/equipoise-compare bin/loadbench
        share/equipoise/report.schema.json)
    [ ! -e "$build/preload/equipoise-lazy" ] || wanted+=(bin/equipoise-lazy "$libdir/equipoise/libequipoise-lazy.so")
    for name in io loops models; do
        wanted+=("$libdir/libequipoise-$name.so" "$libdir/pkgconfig/equipoise-$name.pc")
    done
fi
# The bindings, if they were built.
if [ -e "$build/bindings/libequipoise-fortran.so" ]; then
    wanted+=("$libdir/libequipoise-fortran.so" "$libdir/pkgconfig/equipoise-fortran.pc"
        "$libdir/equipoise/fortran/equipoise.mod" "$libdir/equipoise/fortran/equipoise.f90")
fi
if command -v scdoc >/dev/null; then
    wanted+=(share/man/man3/equipoise-sampling.3)
    $with_library && wanted+=(share/man/man3/equipoise.3 share/man/man1/barneshut.1 share/man/man1/equipoise-view.1
        share/man/man1/dislocation.1 share/man/man1/loadbench.1 share/man/man1/equipoise-compare.1)
    [ ! -e "$root/bin/equipoise-lazy" ] || wanted+=(share/man/man1/equipoise-lazy.1)
fi
for file in "${wanted[@]}"; do
    [ -s "$root/$file" ] || fail "$file is not installed"
done
for program in "$root"/bin/*; do
    "${empty[@]}" "$program" --version >"$tmp/said" 2>&1 || fail "$program does not start: $(cat "$tmp/said")"
done
if [ -e "$root/bin/equipoise-lazy" ]; then
    "${empty[@]}" "$root/bin/equipoise-lazy" -n 0 --report "$tmp/steps.csv" "$root/bin/barneshut" --generate plummer:n=100 \
        --steps 1 --quiet >"$tmp/said" 2>&1 && [ -s "$tmp/steps.csv" ] || fail "equipoise-lazy: $(cat "$tmp/said")"
fi
for file in "$root/$libdir"/libequipoise*.so "$root/$libdir"/equipoise/*.so "$root"/bin/*; do
    [ -e "$file" ] || continue
    if readelf -d "$file" | grep -q -E 'R(UN)?PATH.*'"$build"; then
        fail "$file looks for libraries in the build folder"
    fi
    # Each library loads its neighbors in the installed tree, even if there are copies elsewhere.
    "${empty[@]}" ldd "$file" >"$tmp/said" 2>&1
    ! grep -e 'not found' "$tmp/said" && ! grep libequipoise "$tmp/said" | grep -v -F -e "=> $root/" -e "$file:" ||
        fail "$file does not find its libraries: $(cat "$tmp/said")"
done
for file in "$root/$libdir"/libequipoise*.so "$root"/bin/*; do
    readelf -d -l "$file" >"$tmp/elf"
    grep -q GNU_RELRO "$tmp/elf" && grep -q -E 'FLAGS.* NOW' "$tmp/elf" || fail "$file: tables of pointers stay writable"
    grep -A 1 GNU_STACK "$tmp/elf" | grep -q RWE && fail "$file: the stack is executable"
    readelf -h "$file" | grep -q 'Type: *DYN' || fail "$file is not position-independent"
    case ${file##*/} in
    libequipoise-fortran.so) continue ;; # it only passes arguments on
    esac
    ! $hardened || nm -D "$file" | grep -q -w __stack_chk_fail || fail "$file: the stack has no guard"
    case ${file##*/} in
    libequipoise-sampling.so | libequipoise-loops.so) continue ;; # all their copies have a known size
    esac
    ! $hardened || nm -D "$file" | grep -q '_chk\b' ||
        fail "$file: copies are not checked"
done
needed=$(readelf -d "$root/$libdir/libequipoise-sampling.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
    case $library in
    libc.* | libm.* | ld-linux* | lib?san.so.* | libgcc_s.so.*) ;;
    *) fail "the sampler needs $library" ;;
    esac
done
# MPI headers need pkg-config's flags.
export PKG_CONFIG_PATH=$root/$libdir/pkgconfig
package=equipoise-sampling
$with_library && package=equipoise
read -r -a flags <<<"$(pkg-config --cflags "$package")"
# Every symbol that the libraries export is declared in a public header, and the reverse.
find "$root/include/equipoise" -name '*.h' -printf '#include <equipoise/%P>\n' |
    "${compiler[@]}" -std=c11 -E -P "${flags[@]}" -x c - | tr '\n' ' ' |
    sed -E -e ':inner' -e 's/\{[^{}]*\}/;/g; t inner' -e 's/;/\n/g' | grep -v -w -E 'typedef|static' |
    sed -n -E -e 's/^ *extern .*\b(eqp_[a-z0-9_]+) *$/\1/p' -e 's/^[^(]*\b(eqp_[a-z0-9_]+) *\(.*/\1/p' |
    sort >"$tmp/declared"
# The names of a Fortran module are the compiler's.
in_c()
{
    find "$root/$libdir" -maxdepth 1 -name 'libequipoise*.so' ! -name '*-fortran.so' | sort
}
for library in $(in_c); do
    nm -D --defined-only "$library" | awk '{ print $3 }'
done | sort >"$tmp/exported"
diff "$tmp/declared" "$tmp/exported" >&2 || fail "< are declared in headers, > exported by the libraries: not the same"
# Exported symbols are an interface, so each added or removed symbol must show up in symbols.txt.
for library in $(in_c); do
    nm -D --defined-only "$library" | awk -v library="$(basename "$library" .so)" '{ print library, $3 }'
done | LC_ALL=C sort >"$tmp/symbols"
promised=libequipoise-sampling
$with_library && promised=libequipoise
diff <(grep "^$promised" "$source/tests/tools/symbols.txt") "$tmp/symbols" >&2 ||
    fail "< were promised in tests/tools/symbols.txt, > are exported: not the same; a new one is added there"
# A program that uses no files, splines or plots links no library for them.
if $with_library && readelf -d "$root/$libdir/libequipoise.so" | grep -E 'NEEDED.*(hdf5|libz\.|jansson)' >&2; then
    fail "libequipoise needs more than MPI and Zoltan"
fi

# All headers compile as C11, and as C++ if there is a compiler; MPI's own headers may warn. headers.sh compiles each
# alone.
for i in "${!flags[@]}"; do
    case ${flags[i]} in
    "-I$root"*) ;;
    -I*) flags[i]=-isystem${flags[i]#-I} ;;
    esac
done
find "$root/include/equipoise" -name '*.h' -printf '#include <equipoise/%P>\n' | sort >"$tmp/all.h"
"${compiler[@]}" -std=c11 -pedantic -Wall -Wextra -Werror "${flags[@]}" -fsyntax-only -x c "$tmp/all.h" ||
    fail "the installed headers do not compile"

# The consumers: one program for the sampler, and one for the whole library, as C and as C++.
version=$(pkg-config --modversion "$package")
cat >"$tmp/sampling.c" <<'END'
#include <equipoise/error.h>
#include <equipoise/version.h>
#include <string.h>
int main(void)
{
    return strcmp(eqp_error_text(EQP_OK), "no error") != 0 || strcmp(eqp_version(), EQP_VERSION) != 0 ||
           strcmp(EQP_VERSION, VERSION) != 0 || EQP_VERSION_NUMBER < EQP_VERSION_MINOR * 100 ||
           !EQP_VERSION_AT_LEAST(0, 1, 0) || EQP_VERSION_AT_LEAST(999, 0, 0);
}
END
cat >"$tmp/equipoise.c" <<'END'
#include <equipoise/balance.h>
#include <equipoise/version.h>
#include <string.h>
int main(int argc, char **argv)
{
    int failed = strcmp(EQP_VERSION, VERSION) != 0 || eqp_method_find("interaction") == NULL;
    if (argc > 1 && MPI_Init(&argc, &argv) == MPI_SUCCESS) {
        MPI_Finalize();
    }
    return failed;
}
END
cat >"$tmp/io.c" <<'END'
#include <equipoise/snapshot.h>
int main(void)
{
    eqp_snapshot *snapshot = 0;
    return eqp_snapshot_open("/nowhere/at/all.hdf5", &snapshot, 0) == EQP_OK;
}
END
cat >"$tmp/loops.c" <<'END'
#include <equipoise/more/loops.h>
int main(void)
{
    return eqp_schedule_method_count() < 14 || eqp_schedule_method_at(0) == 0;
}
END
cat >"$tmp/models.c" <<'END'
#include <equipoise/more/models.h>
#include <equipoise/more/models.h>
int main(void)
{
    eqp_speeds *speeds = 0;
    int failed = eqp_speeds_create(EQP_SPEEDS_AKIMA, 2, 10.0, &speeds) != EQP_OK;
    eqp_speeds_free(speeds);
    return failed;
}
END
programs=(sampling)
feature=disabled
if $with_library; then
    programs+=(io loops models equipoise)
    feature=enabled
fi
for name in "${programs[@]}"; do
    cp "$tmp/$name.c" "$tmp/$name.cc"
done
cat "$tmp/all.h" >>"$tmp/$name.cc"
# The installed tree with static libraries only, if they were built.
static=false
if [ -e "$root/$libdir/libequipoise-sampling.a" ]; then
    static=true
    mkdir "$tmp/static"
    cp -R "$root/." "$tmp/static"
    rm "$tmp/static/$libdir"/*.so*
fi
defines=("-DVERSION=\"$version\"")

# Link flags of the MPI that MPICC names.
mpi_words()
{
    # shellcheck disable=SC2046 # a list of words
    printf '%s ' $($(cat "$build/mpicc") -show | tr ' ' '\n' | grep -E '^-(L|l|Wl|pthread)')
}

# with_pkg_config NAME [--static]
with_pkg_config()
{
    local package=$1 program=$tmp/pkg-config-$1${2-} libraries=(-Wl,-rpath,"$root/$libdir") flags
    [ "$package" = equipoise ] || package=equipoise-$package
    ! [ "${2-}" ] || PKG_CONFIG_PATH=$tmp/static/$libdir/pkgconfig libraries=()
    read -r -a flags <<<"$(pkg-config --cflags --libs ${2-} "$package")"
    # A program that calls MPI directly must link it.
    # shellcheck disable=SC2207 # a list of words
    [ "$1" = sampling ] || libraries+=($(if [ -s "$build/mpicc" ]; then mpi_words; else pkg-config --libs ompi-c 2>/dev/null || mpicc --showme:link; fi))
    "${compiler[@]}" "${defines[@]}" -o "$program" "$tmp/$1.c" "${flags[@]}" "${libraries[@]}" && "${empty[@]}" "$program"
}

# The example in Fortran, as its page says: flags of pkg-config and the wrapper of MPI.
with_fortran()
{
    local flags
    read -r -a flags <<<"$(pkg-config --cflags --libs equipoise-fortran)"
    mpifort "$source/bindings/examples/weights.f90" "${flags[@]}" -Wl,-rpath,"$root/$libdir" -o "$tmp/with-fortran" &&
        "${empty[@]}" "$tmp/with-fortran" || return
    # A compiler of a different version needs its own module files.
    mkdir "$tmp/own-modules"
    (cd "$tmp/own-modules" && mpifort -fsyntax-only "$root/$libdir/equipoise/fortran/equipoise.f90")
}

# The installed Python package finds the installed library wherever the tree is. Tested with a program that needs
# mpi4py.
with_python()
{
    local package
    package=$(find "$root" -type d -path '*-packages/equipoise')
    [ -n "$package" ] && [ -s "$package/_where.py" ] || return
    "${empty[@]}" LIBRARY='' PACKAGES="${package%/equipoise}" "$source/tests/bindings/python.sh" 1 -c \
        "import equipoise._library as l, sys; sys.exit(not l._library._name.startswith('$root'))" || [ $? -eq 77 ]
}

# The paths in README lead to the installed tree.
with_paths()
{
    local prefix=$root paths path
    paths=$(sed -n "s|/lib/pkgconfig|/$libdir/pkgconfig|; /^export .*prefix/p" "$source/README.md")
    eval "$paths"
    for path in "${PATH%%:*}" "${MANPATH%:}" "$PKG_CONFIG_PATH" "$CMAKE_PREFIX_PATH" "$PYTHONPATH/equipoise"; do
        [ -d "$path" ] || { echo "README.md: $path is not there" && return 1; }
    done
    [ "$(command -v barneshut)" = "$root/bin/barneshut" ] && pkg-config --exists equipoise
}

with_pedantic_cxx()
{
    c++ -std=c++11 -pedantic -Wall -Wextra -Werror -DOMPI_SKIP_MPICXX "${defines[@]}" "${flags[@]}" -x c++ \
        -fsyntax-only "$tmp/${programs[-1]}.cc" || return
    ! $with_library || [ -s "$build/mpicc" ] || {
        mpicxx -std=c++17 "$source/bindings/examples/weights.cpp" $(pkg-config --cflags --libs equipoise) \
            -Wl,-rpath,"$root/$libdir" -o "$tmp/with-c++" && "${empty[@]}" "$tmp/with-c++"
    }
}

# with_cmake LANGUAGE ROOT [OPTION]
with_cmake()
{
    local folder=$tmp/cmake-$1-$(basename "$2") name suffix=c
    [ "$1" = C ] || suffix=cc
    mkdir "$folder"
    {
        echo "cmake_minimum_required(VERSION 3.12)"
        echo "project(consumer $1)"
        # A version that does not exist is not found.
        echo "find_package(Equipoise 999.0 QUIET)"
        echo "if(Equipoise_FOUND)"
        echo "  message(FATAL_ERROR \"version 999.0 is found\")"
        echo "endif()"
        for name in "${programs[@]}"; do
            echo "find_package(Equipoise $version REQUIRED COMPONENTS $name)"
            echo "add_executable(with-cmake-$name $tmp/$name.$suffix)"
            echo "target_link_libraries(with-cmake-$name Equipoise::$name)"
            echo "target_compile_definitions(with-cmake-$name PRIVATE VERSION=\"$version\")"
        done
    } >"$folder/CMakeLists.txt"
    cmake -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$2" && cmake --build "$folder/build" || return
    for name in "${programs[@]}"; do
        "${empty[@]}" "$folder/build/with-cmake-$name" || return
    done
}

# with_meson NAME OPTION...: builds with the dependencies of an installed tree or of the subproject.
with_meson()
{
    local folder=$tmp/meson-$1 name
    shift
    mkdir -p "$folder/subprojects"
    cp "$tmp"/*.c "$folder"
    ln -s "$source" "$folder/subprojects/equipoise"
    {
        echo "project('consumer', 'c')"
        echo "add_project_arguments('-DVERSION=\"$version\"', language: 'c')"
        echo "executable('sampling', 'sampling.c', dependencies: dependency('equipoise-sampling', fallback: 'equipoise'))"
        if $with_library; then
            echo "mpi = dependency('mpi', language: 'c')"
            echo "executable('equipoise', 'equipoise.c', dependencies: [dependency('equipoise', fallback: 'equipoise'), mpi])"
            for name in io loops models; do
                echo "executable('$name', '$name.c', dependencies: [dependency('equipoise-$name', fallback: 'equipoise'), mpi])"
            done
        fi
    } >"$folder/meson.build"
    meson setup "$@" "$folder/build" "$folder" && ninja -C "$folder/build" "${programs[@]}" || return
    for name in "${programs[@]}"; do
        "${empty[@]}" "$folder/build/$name" || return
    done
}

# Side by side, each in a folder of its own.
kinds=()

# start NAME COMMAND...
start()
{
    kinds+=("$1")
    ("${@:2}") >"$tmp/log-$1" 2>&1 &
    pids+=($!)
}
pids=()
for name in "${programs[@]}"; do
    start "pkg-config-$name" with_pkg_config "$name"
    ! $static || start "pkg-config-static-$name" with_pkg_config "$name" --static
done
! $with_library || [ ! -d "$root/share/man/man1" ] || [ -z "$(find "$root" -name _where.py)" ] || start paths with_paths
start meson-installed with_meson installed
start meson-subproject with_meson subproject -Doptimization=0 -Ddebug=false -Dequipoise:lib="$feature" \
    --force-fallback-for=equipoise,equipoise-sampling,equipoise-io,equipoise-loops,equipoise-models
if command -v cmake >/dev/null; then
    start cmake-c with_cmake C "$root"
    ! $static || start cmake-static with_cmake C "$tmp/static"
    ! $static || ! command -v c++ >/dev/null || start cmake-c++-static with_cmake CXX "$tmp/static"
fi
[ ! -e "$root/$libdir/libequipoise-fortran.so" ] || start fortran with_fortran
! $with_library || [ -z "$(find "$root" -type d -path '*-packages/equipoise')" ] || start python with_python
if command -v c++ >/dev/null; then
    start c++-pedantic with_pedantic_cxx
    ! command -v cmake >/dev/null || start cmake-c++-only with_cmake CXX "$root"
fi
for i in "${!kinds[@]}"; do
    wait "${pids[i]}" || {
        cat "$tmp/log-${kinds[i]}" >&2
        fail "a program of this kind cannot be built or does not run: ${kinds[i]}"
    }
done
