#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: gsl.sh SOURCE BUILD
# The example quadrature builds with -Dgsl=enabled, and integrates as well with GSL: values that are known, sets of all
# kinds, any ranks.
set -u
root=$1 build=$2

if ! pkg-config --exists gsl 2>/dev/null; then
    echo "skipped: there is no GSL (Debian: libgsl-dev)"
    exit 77
fi
# The flags of the build that runs this test are not wanted: what they find is found there.
unset CFLAGS LDFLAGS
if [ ! -f "$build/build.ninja" ]; then
    meson setup -Dgsl=enabled -Dbench=false -Dtests=disabled -Doptimization=0 -Ddebug=false "$build" "$root" >"$build.log" 2>&1 || {
        tail -n 50 "$build.log"
        exit 1
    }
fi
ninja -C "$build" apps/examples/quadrature apps/examples/quadrature_values >"$build.log" 2>&1 || {
    grep -A 12 -E 'error|FAILED' "$build.log" | head -n 100
    exit 1
}
failures=0

fail()
{
    echo "FAIL: $*"
    failures=$((failures + 1))
}

"$build/apps/examples/quadrature_values" >"$build.log" 2>&1 || fail "values: $(cat "$build.log")"
# shellcheck source=scripts/mpi-env.sh
. "$root/scripts/mpi-env.sh"
quadrature=$build/apps/examples/quadrature
for integrator in own gsl; do
    "$quadrature" --integrator $integrator --n 400 --cost scatter --trace "$build/$integrator" >"$build.log" 2>&1 ||
        fail "$integrator: $(cat "$build.log")"
done
[ "$(wc -l <"$build/gsl")" -eq 400 ] || fail "$(wc -l <"$build/gsl") lines of costs"
cmp -s "$build/own" "$build/gsl" && fail 'GSL evaluates as often: it was not asked'
"${MPIEXEC:-mpirun}" -n 3 "$quadrature" --integrator gsl --n 400 --cost scatter --trace "$build/three" >"$build.log" 2>&1 ||
    fail "3 ranks: $(cat "$build.log")"
cmp "$build/gsl" "$build/three" || fail 'what sets cost depends on the ranks'
[ "$failures" -eq 0 ] || exit 1
echo "all as expected: GSL $(pkg-config --modversion gsl)"
