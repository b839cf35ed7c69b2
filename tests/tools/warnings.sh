#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: warnings.sh COMPILER SOURCE BUILD
# Everything, benches and tests included, builds with COMPILER without a warning of those that meson.build switches on.
set -u
compiler=$1 root=$2 build=$3

if ! command -v "$compiler" >/dev/null; then
    echo "skipped: there is no $compiler"
    exit 77
fi
# The sanitizers' flags of the build that runs this test are not wanted: gcc warns falsely with them.
unset CFLAGS LDFLAGS
if [ ! -f "$build/build.ninja" ]; then
    # Nobody runs what is built. gcc learns what it warns of while it optimizes, and is wrong where it does so by half.
    level=2
    [ "$compiler" != clang ] || level=0
    CC=$compiler meson setup -Dwerror=true -Doptimization=$level -Ddebug=false "$build" "$root" >"$build.log" 2>&1 || {
        tail -n 50 "$build.log"
        exit 1
    }
fi
ninja -C "$build" >"$build.log" 2>&1 || {
    grep -A 12 -E 'error|FAILED' "$build.log" | head -n 200
    exit 1
}
echo "no warnings: $("$compiler" --version | head -n 1)"
