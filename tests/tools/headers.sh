#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every public header compiles alone as C11 and as C++17 without warnings with every installed compiler. C++ accepts the
# initializers and the version macros.
# usage: headers.sh SOURCE_ROOT WITH_LIBRARY(true|false)
set -eu
source=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

flags=("-I$source/sampling/include")
headers=("$source"/sampling/include/equipoise/{,more/}*.h)
if $2; then
    flags+=("-I$source/lib/include" -DOMPI_SKIP_MPICXX)
    headers+=("$source"/lib/include/equipoise/{,more/}*.h)
    # MPI's own headers may warn.
    for flag in $(pkg-config --cflags ompi-c 2>/dev/null || mpicc -show | tr ' ' '\n' | grep '^-I'); do
        flags+=("${flag/#-I/-isystem}")
    done
fi
cat >"$tmp/macros.cc" <<'END'
#include <equipoise/units.h>
#include <equipoise/version.h>
#if !EQP_VERSION_AT_LEAST(0, 1, 0) || EQP_VERSION_AT_LEAST(EQP_VERSION_MAJOR, EQP_VERSION_MINOR, EQP_VERSION_PATCH + 1)
#error "the version cannot be compared"
#endif
eqp_units_totals totals = EQP_UNITS_TOTALS_ZERO;
END
if $2; then
    cat >>"$tmp/macros.cc" <<'END'
#include <equipoise/balancer.h>
#include <equipoise/points.h>
eqp_network network = EQP_NETWORK_DEFAULTS;
eqp_exchange_plan plan = EQP_EXCHANGE_PLAN_DEFAULTS;
eqp_balance_options options = eqp_balance_options_defaults();
eqp_policy_options policy = eqp_policy_options_defaults();
eqp_points points{};
eqp_problem problem{};
eqp_message message{""};
END
fi

# compiles COMPILER LANGUAGE STANDARD FILE
compiles()
{
    "$1" -x "$2" "-std=$3" -Wall -Wextra -Wpedantic -Werror "${flags[@]}" -fsyntax-only "$4" || {
        echo "$1 -std=$3: $4"
        exit 1
    }
}

ncompilers=0
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || continue
    ncompilers=$((ncompilers + 1))
    for header in "${headers[@]}"; do
        echo "#include <equipoise/${header#*/include/equipoise/}>" >"$tmp/alone.c"
        compiles "$compiler" c c11 "$tmp/alone.c"
    done
done
# C++ takes longer, so the first compiler compiles each header alone and every compiler all headers at once.
alone=true
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    ncompilers=$((ncompilers + 1))
    for header in "${headers[@]}"; do
        echo "#include <equipoise/${header#*/include/equipoise/}>" >"$tmp/alone.cc"
        ! $alone || compiles "$compiler" c++ c++17 "$tmp/alone.cc"
        cat "$tmp/alone.cc" >>"$tmp/all.cc"
    done
    alone=false
    ! $2 || echo "#include <equipoise/equipoise.hpp>" >>"$tmp/all.cc"
    compiles "$compiler" c++ c++17 "$tmp/all.cc"
    compiles "$compiler" c++ c++20 "$tmp/all.cc"
    compiles "$compiler" c++ c++17 "$tmp/macros.cc"
done
if [ "$ncompilers" -eq 0 ]; then
    echo "no compiler of a known name"
    exit 77
fi
echo "${#headers[@]} headers, $ncompilers compilers"
