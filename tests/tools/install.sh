#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `meson install` into a DESTDIR: everything is there, nothing names the place where it was built or staged, and
# programs build against the installed tree with pkg-config and with CMake.
# usage: install.sh BUILD_DIR PREFIX LIBDIR WITH_LIBRARY(true|false) COMPILER...
set -eu
build=$1 prefix=$2 libdir=$3 with_library=$4
shift 4
compiler=("$@")

fail()
{
    echo "install: $*" >&2
    exit 1
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
stage=$tmp/stage
DESTDIR=$stage meson install -C "$build" --no-rebuild >"$tmp/log" 2>&1 || {
    cat "$tmp/log" >&2
    fail "meson install failed"
}
root=$stage$prefix

wanted=(include/equipoise/error.h "$libdir/libequipoise-sampling.so" "$libdir/pkgconfig/equipoise-sampling.pc"
    "$libdir/cmake/Equipoise/EquipoiseConfig.cmake" "$libdir/cmake/Equipoise/EquipoiseConfigVersion.cmake")
if $with_library; then
    wanted+=(include/equipoise/balance.h "$libdir/libequipoise.so" "$libdir/pkgconfig/equipoise.pc" bin/barneshut
        bin/dislocation bin/equipoise-plot)
fi
if command -v scdoc >/dev/null; then
    wanted+=(share/man/man3/equipoise-sampling.3)
    $with_library && wanted+=(share/man/man3/equipoise.3 share/man/man1/barneshut.1 share/man/man1/equipoise-plot.1
        share/man/man1/dislocation.1)
fi
for file in "${wanted[@]}"; do
    [ -s "$root/$file" ] || fail "$file is not installed"
done
if grep -rIl -e "$stage" -e "$build" "$stage" >"$tmp/found"; then
    fail "these name the build or the staging folder: $(cat "$tmp/found")"
fi
for library in "$root/$libdir"/*.so; do
    if readelf -d "$library" | grep -q -E 'R(UN)?PATH.*'"$build"; then
        fail "$library looks for libraries in the build folder"
    fi
done
needed=$(readelf -d "$root/$libdir/libequipoise-sampling.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
    case $library in
    libc.* | libm.* | ld-linux* | lib?san.so.* | libgcc_s.so.*) ;;
    *) fail "the sampler needs $library" ;;
    esac
done
# Every header compiles alone, as C11 and, where there is a C++ compiler, as C++; MPI headers need pkg-config's flags.
export PKG_CONFIG_PATH=$tmp/pc
mkdir "$PKG_CONFIG_PATH"
for file in "$root/$libdir"/pkgconfig/*.pc; do
    sed "s|^prefix=.*|prefix=$root|" "$file" >"$PKG_CONFIG_PATH/$(basename "$file")"
done
package=equipoise-sampling
$with_library && package=equipoise
read -r -a flags <<<"$(pkg-config --cflags "$package")"
# Every symbol that the libraries export is declared in a public header, and the reverse.
find "$root/include/equipoise" -name '*.h' -printf '#include <equipoise/%f>\n' |
    "${compiler[@]}" -std=c11 -E -P "${flags[@]}" -x c - | tr '\n' ' ' |
    sed -E -e ':inner' -e 's/\{[^{}]*\}/;/g; t inner' -e 's/;/\n/g' | grep -v -w -E 'typedef|static' |
    sed -n -E -e 's/^ *extern .*\b(eqp_[a-z0-9_]+) *$/\1/p' -e 's/^[^(]*\b(eqp_[a-z0-9_]+) *\(.*/\1/p' |
    sort >"$tmp/declared"
for library in "$root/$libdir"/libequipoise*.so; do
    nm -D --defined-only "$library" | awk '{ print $3 }'
done | sort >"$tmp/exported"
diff "$tmp/declared" "$tmp/exported" >&2 || fail "< are declared in headers, > exported by the libraries: not the same"
for header in "$root"/include/equipoise/*.h; do
    name=equipoise/$(basename "$header")
    echo "#include <$name>" >"$tmp/alone.c"
    "${compiler[@]}" -std=c11 -Wall -Wextra -Werror "${flags[@]}" -fsyntax-only "$tmp/alone.c" ||
        fail "$name needs others before it"
    if command -v c++ >/dev/null; then
        cp "$tmp/alone.c" "$tmp/alone.cc"
        c++ -Wall -Wextra -Werror "${flags[@]}" -DOMPI_SKIP_MPICXX -fsyntax-only "$tmp/alone.cc" ||
            fail "$name is not usable from C++"
    fi
done

cat >"$tmp/sampling.c" <<'END'
#include <equipoise/error.h>
#include <string.h>
int main(void)
{
    return strcmp(eqp_error_text(EQP_OK), "no error") != 0;
}
END
cat >"$tmp/equipoise.c" <<'END'
#include <equipoise/balance.h>
#include <equipoise/base.h>
#include <string.h>
int main(int argc, char **argv)
{
    int failed = strcmp(eqp_version(), VERSION) != 0 || eqp_method_find("sfc") == NULL;
    if (argc > 1 && MPI_Init(&argc, &argv) == MPI_SUCCESS) {
        MPI_Finalize();
    }
    return failed;
}
END
programs=(sampling)
$with_library && programs+=(equipoise)
version=$(pkg-config --modversion "$package")
export LD_LIBRARY_PATH=$root/$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for name in "${programs[@]}"; do
    package=$name
    [ "$name" = equipoise ] || package=equipoise-$name
    read -r -a flags <<<"$(pkg-config --cflags --libs "$package")"
    libraries=()
    # A program that calls MPI itself links it itself.
    [ "$name" = equipoise ] && read -r -a libraries <<<"$(pkg-config --libs ompi-c 2>/dev/null || mpicc --showme:link)"
    "${compiler[@]}" -DVERSION="\"$version\"" -o "$tmp/with-pkg-config-$name" "$tmp/$name.c" \
        "${flags[@]}" "${libraries[@]}" ||
        fail "$name does not link with pkg-config"
    "$tmp/with-pkg-config-$name" || fail "the program built with pkg-config fails: $name"
done

if command -v cmake >/dev/null; then
    mkdir "$tmp/cmake"
    cp "$tmp"/*.c "$tmp/cmake"
    {
        echo "cmake_minimum_required(VERSION 3.12)"
        echo "project(consumer C)"
        for name in "${programs[@]}"; do
            echo "find_package(Equipoise $version REQUIRED COMPONENTS $name)"
            echo "add_executable(with-cmake-$name $name.c)"
            echo "target_link_libraries(with-cmake-$name Equipoise::$name)"
            echo "target_compile_definitions(with-cmake-$name PRIVATE VERSION=\"$version\")"
        done
    } >"$tmp/cmake/CMakeLists.txt"
    {
        cmake -S "$tmp/cmake" -B "$tmp/cmake/build" -DCMAKE_PREFIX_PATH="$root" &&
            cmake --build "$tmp/cmake/build"
    } >"$tmp/log" 2>&1 || {
        cat "$tmp/log" >&2
        fail "CMake cannot use the installed tree"
    }
    for name in "${programs[@]}"; do
        "$tmp/cmake/build/with-cmake-$name" || fail "the program built with CMake fails: $name"
    done
    # A version that we do not offer must not be found.
    sed -i "s/find_package(Equipoise $version/find_package(Equipoise 999.0/" "$tmp/cmake/CMakeLists.txt"
    if cmake -S "$tmp/cmake" -B "$tmp/cmake/build2" -DCMAKE_PREFIX_PATH="$root" >"$tmp/log" 2>&1; then
        fail "CMake finds version 999.0"
    fi
fi
