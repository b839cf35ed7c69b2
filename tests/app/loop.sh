#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The loop on simulated ranks from outside: table 2.1 of the thesis (lib/include/equipoise/schedule.h), its table of
# methods, its files, and rubbish in. Then quadrature and heat on real ranks ($1, $2): what
# they compute does not depend on them.
source "$(dirname "$0")/lib.sh"

# sizes METHOD EXPECTED...: the first chunks of 800 iterations on 4 ranks with the weights of the thesis.
sizes()
{
    local method=$1
    shift
    expect 1 --method "$method" --n 800 --procs 4 --weights 1.5,0.5,1,1 --chunks
    [ "$(head -n $# out | tr '\n' ' ')" = "$* " ] || fail "$method: $(head -n $# out | tr '\n' ' ') instead of $*"
    [ "$(awk '{ sum += $1 } END { print sum }' out)" -eq 800 ] || fail "$method: chunks do not sum to 800"
}

sizes static 200 200 200 200
sizes self 1 1 1 1 1
sizes guided 200 150 113 85
sizes factoring 100 100 100 100 50 50 50 50
sizes weighted-factoring 150 50 100 100 75 25 50 50
expect 1 --method fixed --n 100 --procs 4 --chunk 30 --chunks
[ "$(tr '\n' ' ' <out)" = '30 30 30 10 ' ] || fail "fixed: $(tr '\n' ' ' <out)"

# The first chunks are as large as the user says, in proportion to the weights. A master hands out as large ones.
for engine in one-sided master; do
    expect 1 --method weighted-factoring --n 800 --procs 4 --chunk 20 --weights 1.5,0.5,1,1 --engine $engine --chunks
    [ "$(head -n 4 out | tr '\n' ' ')" = '30 10 20 20 ' ] || fail "--chunk, $engine: $(head -n 4 out | tr '\n' ' ')"
    [ "$(awk '{ sum += $1 } END { print sum }' out)" -eq 800 ] || fail "--chunk, $engine: chunks do not sum to 800"
done

# Dear iterations at the back: who begins there gets (15/16)^13 of a dear part at first, and keeps that; otherwise they
# are handed out last, one by one.
for engine in one-sided master; do
    expect 1 --method guided --n 8000 --procs 16 --cost back --engine $engine
    tail -n 1 out
done | cut -f 5 >spans
awk 'NR == 1 { first = $1 } END { exit !(NR == 2 && $1 > 1.2 * first) }' spans || fail "engines: $(cat spans)"

# Every method of the list makes a row, in the order of the list; cost is procs times makespan.
expect 1 --method help
awk '{ print $1 }' out >names
[ "$(wc -l <names)" -eq 14 ] || fail "$(wc -l <names) methods"
expect 1 --n 1000 --procs 7 --cost scatter
[ "$(head -n 1 out)" = "$(printf 'method\tn\tprocs\tchunks\tmakespan\tcost\tcov')" ] || fail "header: $(head -n 1 out)"
tail -n +2 out | cut -f 1 | cmp - names || fail 'not every method has a row'
tail -n +2 out | awk -F '\t' 'NF != 7 || $2 != 1000 || $3 != 7 || $4 < 7 || $4 > 1000 ||
    $5 <= 0 || $6 > 7 * $5 * (1 + 1e-6) || $6 < 7 * $5 * (1 - 1e-6) || $7 < 0 { exit 1 }' || fail "rows: $(cat out)"
for n in 0 1 6; do
    for cost in uniform front back centre scatter; do
        expect 1 --n $n --procs 7 --cost $cost --engine master
        awk -F '\t' -v n=$n 'NR > 1 && $4 > n { exit 1 }' out || fail "more chunks than $n iterations: $(cat out)"
    done
done

# Self-scheduling of three seconds of work on two ranks, from a file.
printf '1\n1 1\n' >costs
expect 1 --method self --cost costs --procs 2 --overhead 0 --latency 0
[ "$(tail -n 1 out)" = "$(printf 'self\t3\t2\t3\t2\t4\t%s' 0.471404521)" ] || fail "costs: $(tail -n 1 out)"
expect 1 --method self,static --cost costs --procs 2 --stall rank=1,at=0,seconds=100 --overhead 0 --latency 0
[ "$(cut -f 5 out | tr '\n' ' ')" = 'makespan 101 101 ' ] || fail "stall: $(cat out)"
expect 1 --method static --cost costs --procs 1 --speeds 0.5 --overhead 0 --latency 0
[ "$(tail -n 1 out | cut -f 5)" = 6 ] || fail "speeds: $(tail -n 1 out)"

printf '1\n-1\n' >negative
printf '1 2\n3 nan\n' >nan
: >empty
refused 'dynamic' --n 10 --method dynamic
refused 'empty' --n 10 --method self,,static
refused 'loop: --n' --method self
refused 'loop: --n' --n -5
refused 'procs' --n 10 --procs 0
refused 'weights' --n 10 --procs 4 --weights 1,2,3
refused 'weights' --n 10 --procs 2 --weights 1,0
refused 'weights' --n 10 --procs 2 --weights 1,nan
refused 'stall: seconds' --n 10 --procs 2 --stall rank=1
refused 'weights: the sum' --n 10 --procs 2 --weights 1e308,1e308
refused 'speeds' --n 10 --procs 2 --speeds 1,-1
refused 'missing' --cost missing
refused 'negative:2' --cost negative
refused 'nan:2' --cost nan
refused 'costs' --cost costs --n 4
refused 'stall' --n 10 --stall rank=4,at=0,seconds=1
refused 'stall' --n 10 --stall rank=1,at=0,seconds=-1
refused 'overhead' --n 10 --overhead -1
refused 'factor' --n 10 --factor 0.5
refused 'engine' --n 10 --engine two-sided
refused 'chunk' --n 10 --chunk -1
refused 'chunks' --n 10 --chunks --method self,static
refused 'nonsense' --nonsense
expect 1 --cost empty

loop=$APP
APP=$1
expect 1 --n 500 --samples 1 --trace one
cp out alone
expect 3 --n 500 --samples 1 --trace three --method self --yield
cmp one three || fail 'what sets cost depends on the ranks'
expect 3 --n 500 --samples 1 --trace three --method factoring --yield --engine master
cmp one three || fail 'what sets cost depends on the engine'
for engine in one-sided master; do
    expect 3 --n 500 --samples 1 --trace three --method weighted-factoring --chunk 5 --engine $engine
    cmp one three || fail "what sets cost depends on the first chunks: $engine"
done
[ "$(wc -l <one)" -eq 500 ] || fail "$(wc -l <one) lines of costs"
awk '$1 <= 0 { exit 1 } { sum[NR <= 100] += $1 } END { exit sum[1] < sum[0] }' one || fail 'sets at the front are not hard'
expect 1 --n 400 --samples 1 --cost scatter --trace one
awk '{ k = int((NR - 1) / 20); hard = k % 5 == 4; sum[hard] += $1; n[hard]++; run[k] += $1 }
    END { for (k in run) { if (k % 5 == 4 && run[k] / 20 < 2 * sum[0] / n[0]) exit 1 } exit n[1] != 80 }' one ||
    fail 'scattered sets are not hard at the ends of the quarters'
head -n 1 alone | cmp - <(head -n 1 out) || fail "header: $(cat alone)"
"$loop" --cost one --procs 16 --method static,guided >out 2>err || fail "loop on a trace: $(cat err)"
for method in $(cat names); do
    expect 2 --n 101 --samples 1 --method "$method" --cost back
done
for n in 0 2; do
    expect 3 --n $n --trace few
    [ "$(wc -l <few)" -eq $n ] || fail "$(wc -l <few) lines of costs for $n sets"
done
rm -f one three few alone
refused 'dynamic' --method dynamic
refused 'chunk' --chunk -1
refused 'samples' --samples 0
refused 'tolerance' --tolerance 0
refused 'integrator' --integrator guess
refused 'nowhere' --n 10 --trace nowhere/trace

APP=$2
expect 1 --ring 10 --rings 12 --tolerance 1e-6
cut -f 2,4,5,6 out >alone
awk -F '\t' 'NR == 2 && ($2 != 120 || $4 < 100 || $5 > 1e-6 || $6 < 0.49 || $6 > 0.51) { exit 1 }' out || fail "heat: $(cat out)"
expect 3 --ring 10 --rings 12 --tolerance 1e-6 --method adaptive-weighted-factoring
cut -f 2,4,5,6 out | cmp alone - || fail "heat on 3 ranks: $(cat out)"
expect 2 --ring 10 --rings 12 --tolerance 1e-6 --method awf-c --engine master --yield --chunk 3
cut -f 2,4,5,6 out | cmp alone - || fail "heat by a master: $(cat out)"
expect 3 --ring 3 --rings 2
rm -f alone
refused 'dynamic' --method dynamic
refused 'ring' --ring 2
refused 'rings' --rings 1
refused 'tolerance' --tolerance -1
finish
