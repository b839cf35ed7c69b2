#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: gsl.sh QUADRATURE VALUES
# The example quadrature, built with -Dgsl=enabled, integrates as well with GSL: values that are known, sets of all kinds,
# any ranks.
set -u
quadrature=$1 values=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0

fail()
{
    echo "FAIL: $*"
    failures=$((failures + 1))
}

"$values" >"$tmp/log" 2>&1 || fail "values: $(cat "$tmp/log")"
# shellcheck source=scripts/mpi-env.sh
. "$(dirname "$0")/../../scripts/mpi-env.sh"
for integrator in own gsl; do
    "$quadrature" --integrator $integrator --n 400 --cost scatter --trace "$tmp/$integrator" >"$tmp/log" 2>&1 ||
        fail "$integrator: $(cat "$tmp/log")"
done
[ "$(wc -l <"$tmp/gsl")" -eq 400 ] || fail "$(wc -l <"$tmp/gsl") lines of costs"
cmp -s "$tmp/own" "$tmp/gsl" && fail 'GSL evaluates as often: it was not asked'
"${MPIEXEC:-mpirun}" -n 3 "$quadrature" --integrator gsl --n 400 --cost scatter --trace "$tmp/three" >"$tmp/log" 2>&1 ||
    fail "3 ranks: $(cat "$tmp/log")"
cmp "$tmp/gsl" "$tmp/three" || fail 'what sets cost depends on the ranks'
[ "$failures" -eq 0 ] || exit 1
echo "all as expected: GSL $(pkg-config --modversion gsl)"
