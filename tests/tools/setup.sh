#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: setup.sh SOURCE
# scripts/setup reports its actions; without root it fails only if a package that the build needs is missing. Packages,
# Meson and Ninja are fakes.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/../helpers/check.sh"
mkdir "$tmp/bin" "$tmp/scripts"
cp "$1/scripts/setup" "$tmp/scripts"

# fake NAME LINE...: makes a program of that name from shell lines.
fake()
{
    { echo '#!/bin/sh' && printf '%s\n' "${@:2}"; } >"$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}

fake id 'echo 1000'
fake sudo 'exit 1'
fake dpkg-query 'for name; do :; done
case " $MISSING " in *" $name "*) echo not-installed ;; *) echo installed ;; esac'
fake meson "[ \"\$1\" = --version ] || { mkdir -p '$tmp/build' '$tmp/build-sanitize' && : >'$tmp/build/build.ninja'; }" \
    '[ -z "${REFUSE-}" ] || { echo "meson.build:1:0: ERROR: Problem encountered: $REFUSE"; exit 1; }'
fake ninja "[ -e '$tmp/built' ] && echo 'ninja: no work to do.' && exit
echo "\$*" >>'$tmp/targets'
case \" \$* \" in *' -n '*) ;; *) : >'$tmp/built' ;; esac"

# setup EXPECTED_STATUS [ARGUMENT...]: runs scripts/setup with its output in files out and err.
setup()
{
    local status=0
    PATH=$tmp/bin:$PATH "$tmp/scripts/setup" "${@:2}" >"$tmp/out" 2>"$tmp/err" || status=$?
    [ "$status" -eq "$1" ] || fail "status $status instead of $1: $(cat "$tmp/out" "$tmp/err")"
}

export MISSING='libjansson-dev scdoc'
setup 1
[ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q 'missing packages.* libjansson-dev$' "$tmp/err" || fail "$(cat "$tmp/err")"
MISSING='scdoc doxygen libtrilinos-zoltan-dev libhdf5-dev'
REFUSE='no such MPI' setup 1
[ "$(grep -vc lacking "$tmp/err")" -eq 1 ] && grep -q '^setup: no such MPI$' "$tmp/err" || fail "$(cat "$tmp/err")"
rm -rf "$tmp/build"
setup 0
for lack in 'scdoc: man pages' 'doxygen: the pages' \
    'libtrilinos-zoltan-dev: the methods rcb' 'libhdf5-dev: HDF5'; do
    grep -q "$lack.* lacking" "$tmp/err" || fail "does not say '$lack': $(cat "$tmp/err")"
done
grep -q configuring "$tmp/out" && grep -q compiling "$tmp/out" && grep -q 'compiled in [0-9]* s' "$tmp/out" || fail "says only $(cat "$tmp/out")"
grep -q ' product$' "$tmp/targets" || fail "tests are compiled, too: $(cat "$tmp/targets")"
MISSING=
setup 0
grep -q configuring "$tmp/out" || fail 'libraries that came change nothing'
setup 0
[ "$(cat "$tmp/out" "$tmp/err")" = "setup: $tmp/build is ready" ] || fail "again: $(cat "$tmp/out" "$tmp/err")"
MISSING='libmetis-dev' setup 0
grep -q 'libmetis-dev: the method metis .* lacking' "$tmp/err" || fail "does not say what lacks: $(cat "$tmp/err")"
grep -q configuring "$tmp/out" || fail 'a partitioner that went away changes nothing'
rm "$tmp/targets" "$tmp/built"
setup 0 --all
! grep -q product "$tmp/targets" || fail "--all compiles no tests: $(cat "$tmp/targets")"
# Temporary files are in one private folder with an unpredictable name.
mkdir "$tmp/temporary"
fake clang "ls -l '$tmp/temporary' >>'$tmp/listed'"
TMPDIR=$tmp/temporary setup 0 --sanitize
grep -q '^drwx------' "$tmp/listed" && ! grep -v -E '^(total|drwx------)' "$tmp/listed" || fail "$(cat "$tmp/listed")"
[ -z "$(ls -A "$tmp/temporary")" ] || fail "left: $(ls "$tmp/temporary")"
finish
