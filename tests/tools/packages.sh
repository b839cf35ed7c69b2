#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: packages.sh SOURCE
# The Debian packages build from a copy of the tree, without optimization and tests; lintian finds no error and no warning
# in them; each has its files; the programs run from a different root.
set -eu
source=$(realpath "$1")
for program in dpkg-buildpackage dpkg-checkbuilddeps dpkg-parsechangelog dh lintian; do
    command -v "$program" >/dev/null || {
        echo "$program is not installed"
        exit 77
    }
done
missing=$(dpkg-checkbuilddeps -P nocheck "$source/debian/control" 2>&1) || {
    echo "$missing"
    exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
    echo "packages: $*" >&2
    exit 1
}

version=$(awk '/define EQP_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' \
    "$source/sampling/include/equipoise/version.h")
[ "$(dpkg-parsechangelog -l "$source/debian/changelog" -S Version)" = "$version" ] ||
    fail "debian/changelog is not of version $version"

mkdir "$tmp/equipoise"
"$source/tests/tools/sources.sh" "$source" | tar -C "$source" --null -T - -cf - | tar -C "$tmp/equipoise" -xf -
cd "$tmp/equipoise"
unset CFLAGS LDFLAGS CC MPICC
DEB_BUILD_OPTIONS="nocheck noopt noautodbgsym parallel=$(nproc)" dpkg-buildpackage -us -uc -Pnocheck >"$tmp/log" 2>&1 || {
    tail -n 100 "$tmp/log" >&2
    fail 'dpkg-buildpackage failed'
}
cd "$tmp"
root=$tmp/root

# lintian and the unpacking run in parallel.
lintian --allow-root --fail-on error,warning ./*.changes >"$tmp/lintian" 2>&1 &
lintian=$!
trap 'kill "$lintian" 2>/dev/null || :; rm -rf "$tmp"' EXIT

# holds PACKAGE FILE...: the files are in this package and in no other package
holds()
{
    local package=$1 file debs
    shift
    for file in "$@"; do
        mapfile -t debs < <(grep -l -E "^$file\$" ./*.list)
        [ "${#debs[@]}" -eq 1 ] && [ "${debs[0]}" = "./$package.list" ] || fail "$file is in ${debs[*]:-none}, not in $package"
    done
}
for deb in ./*.deb; do
    dpkg-deb -c "$deb" | awk '$1 ~ /^[-l]/ { print $6 }' | sed 's|^\./||' >"$(basename "$deb" | sed 's/_.*//').list"
    dpkg-deb -x "$deb" "$root"
done
lib=usr/lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH)
holds libequipoise-sampling0.2 "$lib/libequipoise-sampling.so.0.2"
holds libequipoise0.2 "$lib/"libequipoise{,-io,-loops,-models}.so.0.2
holds libequipoise-dev "$lib/"libequipoise{,-sampling,-io,-loops,-models}.{a,so} usr/include/equipoise/{balancer,units,version}.h \
    "$lib/"pkgconfig/equipoise{,-sampling,-io,-loops,-models}.pc "$lib/cmake/Equipoise/EquipoiseConfig.cmake" \
    usr/share/man/man3/equipoise{,-sampling}.3.gz
holds equipoise usr/bin/{barneshut,dislocation,loadbench,equipoise-{compare,view,lazy}} "$lib/equipoise/libequipoise-lazy.so" \
    usr/share/man/man1/{barneshut,dislocation,loadbench,equipoise-{compare,view,lazy}}.1.gz \
    usr/share/equipoise/report.schema.json
holds python3-equipoise usr/lib/python3/dist-packages/equipoise/__init__.py
holds equipoise-doc usr/share/doc/equipoise/README.md usr/share/doc/equipoise/docs/{embed,methods}.md \
    usr/share/doc/equipoise/docs/batch/equipoise.{slurm,pbs}
# The sampler's package depends on no other package of ours.
depends=$(dpkg-deb -f libequipoise-sampling0.2_*.deb Depends)
[[ $depends =~ ^libc6\ [^,]*$ ]] || fail "the sampler depends on $depends"
grep -q -w libopenmpi3 <(dpkg-deb -f libequipoise0.2_*.deb Depends) || ! dpkg-query -W libopenmpi3 >/dev/null 2>&1 ||
    fail 'the library does not depend on MPI'

# The loader finds libraries below /usr by itself.
for file in "$root"/usr/bin/* "$root/$lib"/*.so "$root/$lib"/equipoise/*.so; do
    ! readelf -d "$file" | grep -E '\((RPATH|RUNPATH)\)' || fail "$file has a path to libraries"
done
export LD_LIBRARY_PATH=$root/$lib
# shellcheck source=scripts/mpi-env.sh
. "$source/scripts/mpi-env.sh"
"$root/usr/bin/barneshut" --version >said || fail 'barneshut does not start'
[ "$(head -n 1 said)" = "barneshut $version" ] && grep -q '^commit *unknown$' said || fail "barneshut: $(cat said)"
"$root/usr/bin/barneshut" --generate plummer:n=500 --steps 1 --quiet --report report && [ -s report/report.json ] ||
    fail 'barneshut does not run'
"$root/usr/bin/equipoise-lazy" -n 0 --check "$root/usr/bin/dislocation" >said 2>&1 || fail "equipoise-lazy: $(cat said)"
if grep -rIl -F "$tmp" "$root" >found; then
    fail "these name the place where they were built: $(cat found)"
fi
wait "$lintian" || {
    cat "$tmp/lintian" >&2
    fail 'lintian complains'
}
echo "all as expected: $(echo ./*.deb | wc -w) packages"
