#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# HPC Challenge with a tiny input passes its own checks on the remaining ranks.
# usage: APP=equipoise-lazy hpcc.sh
source "$(dirname "$0")/../helpers/lib.sh"
input=/usr/share/doc/hpcc/examples/_hpccinf.txt

command -v hpcc >/dev/null && [ -r "$input" ] || {
    echo 'skipped: hpcc is not installed'
    exit 77
}
sed -e 's/^1000  *Ns/64 Ns/' -e 's/^80  *NBs/16 NBs/' "$input" >hpccinf.txt
expect 5 -n 1 hpcc
grep -q '^Success=1' hpccoutf.txt && grep -q '^CommWorldProcs=4' hpccoutf.txt || fail "$(tail -n 20 hpccoutf.txt)"
! grep -q FAILED hpccoutf.txt || fail "$(grep FAILED hpccoutf.txt)"
finish
