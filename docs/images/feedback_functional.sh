#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Draws feedback.png and functional.png anew: feedback_functional.sh BUILD. What is drawn are counts, the same anywhere.
set -eu

examples=$(cd "${1:?usage: feedback_functional.sh BUILD}/apps/examples" && pwd)
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for procs in 8 16 32 64 1024; do
    "$examples/feedback" --function 3 --procs "$procs" --rule guarded --history --patience 25 >"$work/sine-$procs"
done
"$examples/sieve" --nodes 32 --divisors odd --table >"$work/sieve"

gnuplot <<EOF
set terminal pngcairo size 900,520 font 'sans,11'
set grid lc rgb '#dddddd'
set key outside right top
set border 3
set tics nomirror

set output 'feedback.png'
set title 'A sine of load over 500,000 iterations, balanced by feedback'
set xlabel 'steps taken'
set ylabel '(largest load - mean) / total'
set logscale y
set format y '10^{%T}'
set xrange [0:25]
plot '$work/sine-8' skip 1 using 4:5 with linespoints lw 1.5 pt 7 ps 0.6 lc rgb '#1b6ca8' title '8 ranks', \
     '$work/sine-16' skip 1 using 4:5 with linespoints lw 1.5 pt 7 ps 0.6 lc rgb '#d1495b' title '16', \
     '$work/sine-32' skip 1 using 4:5 with linespoints lw 1.5 pt 7 ps 0.6 lc rgb '#3a7d44' title '32', \
     '$work/sine-64' skip 1 using 4:5 with linespoints lw 1.5 pt 7 ps 0.6 lc rgb '#edae49' title '64', \
     '$work/sine-1024' skip 1 using 4:5 with linespoints lw 1.5 pt 7 ps 0.6 lc rgb '#5c4d7d' title '1024'

set output 'functional.png'
set title 'Primes up to 2,000,000 on 32 nodes: divisions by odd numbers'
unset logscale
set format y '%g'
set xlabel 'node'
set ylabel 'divisions / mean'
set xrange [-0.7:31.7]
set yrange [0:1.6]
set key inside top left
set style fill solid 0.7
set boxwidth 0.4
mean = $(awk -F'\t' '$2 == "linear" {sum += $7; n++} END {printf "%.1f", sum / n}' "$work/sieve")
plot "< grep linear '$work/sieve'" using (\$3 - 0.2):(\$7 / mean) with boxes lc rgb '#d1495b' title 'equal lengths', \
     "< grep functional '$work/sieve'" using (\$3 + 0.2):(\$7 / mean) with boxes lc rgb '#1b6ca8' title 'equal times'
EOF
