#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Draws schedule.png anew and prints the table of docs/schedule.md: schedule.sh BUILD. What quadrature's sets cost are
# counts, and virtual time is the same anywhere.
set -eu

examples=$(cd "${1:?usage: schedule.sh BUILD}/apps/examples" && pwd)
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
methods=static,fixed,guided,factoring,adaptive-factoring,awf-c,fractiling,trapezoid
. ../../scripts/mpi-env.sh

for kind in front back centre scatter; do
    "$examples/quadrature" --n 15120 --samples 1 --cost $kind --trace "$work/$kind" >/dev/null
    for procs in 2 4 8 16 32; do
        "$examples/loop" --method $methods --procs $procs --cost "$work/$kind" |
            awk -F '\t' -v kind=$kind 'NR == 2 { cost = $6 }
                NR > 2 { printf "%s %s %.2f %d %.4f\n", kind, $1, 100 * (1 - $6 / cost), $3, $7 }'
    done
done >"$work/all"

# The best number of ranks for each, as in the thesis.
awk '!(($1, $2) in best) || $3 > best[$1, $2] { best[$1, $2] = $3; procs[$1, $2] = $4 }
    END { for (key in best) { split(key, part, SUBSEP); print part[1], part[2], best[key], procs[key] } }' \
    "$work/all" | sort >"$work/best"
for method in fixed guided factoring adaptive-factoring awf-c fractiling trapezoid; do
    printf '%s' "$method"
    for kind in front back centre scatter; do
        awk -v kind=$kind -v method=$method '$1 == kind && $2 == method { printf " | %.2f (%d)", $3, $4 }' "$work/best"
    done
    printf '\n'
done

# Table 4.7 of the thesis, 15120 sets: fixed, guided, factoring, adaptive factoring.
cat >"$work/published" <<END
front 74.96 5.84 49.21 72.42
back 76.47 63.99 52.23 74.42
centre 74.38 41.72 53.01 72.23
scatter 73.36 22.93 51.55 70.68
END
column=2
for method in fixed guided factoring adaptive-factoring; do
    for kind in front back centre scatter; do
        awk -v kind=$kind -v method=$method '$1 == kind && $2 == method { printf "%s %s ", kind, $3 }' "$work/best"
        awk -v kind=$kind -v column=$column '$1 == kind { print $column }' "$work/published"
    done >"$work/$method"
    column=$((column + 1))
done

gnuplot <<END
set terminal pngcairo size 1100,420 font 'sans,11'
set output 'schedule.png'
set multiplot layout 1,4 title 'Cost less than that of static chunking: 15,120 sets of integrals, best of 2 to 32 ranks'
set border 3
set tics nomirror
set grid ytics lc rgb '#dddddd'
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.8 border -1
set yrange [0:80]
set ylabel 'percent'
set xtics rotate by -35
unset key
set title 'fixed'
plot '$work/fixed' using 2:xtic(1) lc rgb '#1b6ca8', '' using 3 lc rgb '#edae49'
unset ylabel
set key top right
set title 'guided'
plot '$work/guided' using 2:xtic(1) lc rgb '#1b6ca8' title 'here', '' using 3 lc rgb '#edae49' title 'thesis'
unset key
set title 'factoring'
plot '$work/factoring' using 2:xtic(1) lc rgb '#1b6ca8', '' using 3 lc rgb '#edae49'
set title 'adaptive factoring'
plot '$work/adaptive-factoring' using 2:xtic(1) lc rgb '#1b6ca8', '' using 3 lc rgb '#edae49'
unset multiplot
END
