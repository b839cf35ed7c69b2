#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# equipoise-plot from the outside: what it writes, its exit status, one line for each mistake and then no file.
# usage: equipoise_plot.sh EQUIPOISE_PLOT
set -eu
plot=$(realpath "$1")

fail()
{
    echo "equipoise-plot: $*" >&2
    exit 1
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

header=step,rank,load,method,predicted,particles
# loads RANKS STEPS: rank 0 has twice the load of the others.
loads()
{
    echo $header
    for ((step = 0; step < $2; step++)); do
        for ((rank = 0; rank < $1; rank++)); do
            echo "$step,$rank,$((rank == 0 ? 2 : 1)),\"a,b\",1.5,512"
        done
    done
}
loads 4 3 >four.csv
loads 1 3 >one.csv
loads 200 1 >many.csv

# refused TEXT ARGUMENT...
refused()
{
    local text=$1 status=0
    shift
    "$plot" "$@" >said 2>&1 || status=$?
    [ $status = 2 ] || fail "exit status $status instead of 2: $*"
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
    grep -q -F -e "$text" said || fail "'$(cat said)' does not say '$text'"
    [ ! -e out ] || fail "something is written in spite of: $(cat said)"
}
refused "OUTDIR is missing"
refused "OUTDIR is empty" "" a=four.csv
refused "LABEL=LOADS.CSV is missing" out
refused "--title: no such option" --title x out a=four.csv
for argument in four.csv =four.csv a= ""; do
    refused "not of the form" out "$argument"
done
refused "a: two runs have this label" out a=four.csv b=one.csv a=many.csv
refused "nothing.csv: cannot read" out a=four.csv b=nothing.csv
refused ".: cannot read" out a=.
refused "four.csv: cannot" four.csv a=four.csv
: >bad.csv && refused "bad.csv: holds no loads" out a=bad.csv
# damaged TEXT LINE...
damaged()
{
    local text=$1
    shift
    printf '%s\n' "$@" >bad.csv
    refused "bad.csv: $text" out a=bad.csv
}
damaged "holds no loads" $header
damaged "not a loads.csv: there is no column 'load'" step,rank,predicted 0,0,1
damaged "line 2: load is not" $header 0,0,nan,x,1,1
damaged "line 2: load is not" $header 0,0,-1,x,1,1
damaged "line 2: step or rank" $header 0,zero,1,x,1,1
damaged "line 2: predicted is not" $header 0,0,1,x,much,1
damaged "line 3: particles" $header 0,0,1,x,1,1 0,1,1,x,1,1.5
damaged "line 3: the row is too short" $header 0,0,1,x,1,1 1,0,1
damaged "line 2: rows are not" $header 0,1,1,x,1,1
damaged "line 3: rows are not" $header 0,0,1,x,1,1 0,0,1,x,1,1
damaged "line 3: rows are not" $header 1,0,1,x,1,1 0,0,1,x,1,1
damaged "line 4: the last step has too few" $header 0,0,1,x,1,1 0,1,1,x,1,1 1,0,1,x,1,1
damaged "line 5: the step before has too few" $header 0,0,1,x,1,1 0,1,1,x,1,1 1,0,1,x,1,1 2,0,1,x,1,1
damaged "line 4: the step has more" $header 0,0,1,x,1,1 1,0,1,x,1,1 1,1,1,x,1,1

"$plot" --help | grep -q "^Usage: equipoise-plot OUTDIR LABEL=LOADS.CSV" || fail "--help"
"$plot" --version | grep -q -E '^equipoise-plot [0-9]+\.[0-9]+\.[0-9]+$' || fail "--version"

# Without gnuplot: one line, and what gnuplot needs later.
mkdir empty
PATH=$tmp/empty "$plot" out a=four.csv 2>said || fail "fails without gnuplot"
[ "$(wc -l <said)" = 1 ] || fail "without gnuplot, not one line: $(cat said)"
grep -q "gnuplot is not installed" said || fail "without gnuplot: $(cat said)"
[ "$(ls out)" = plots.gp ] || fail "without gnuplot there is more than plots.gp"

if ! command -v gnuplot >/dev/null; then
    echo "gnuplot is not installed"
    exit 77
fi
check_plots()
{
    local file
    for file in loads imbalance; do
        [ "$(head -c 4 "$1/$file.png" | tail -c 3)" = PNG ] || fail "$1/$file.png is no PNG"
        tail -n 3 "$1/$file.svg" | grep -q '</svg>' || fail "$1/$file.svg is not complete"
    done
}
"$plot" "new folder/it's" "it's=four.csv" one=one.csv "200 ranks=many.csv" 2>said || fail "$(cat said)"
[ ! -s said ] || fail "speaks: $(cat said)"
check_plots "new folder/it's"
for name in four one many; do
    "$plot" -- "$name" sfc="$name.csv" 2>said || fail "$name: $(cat said)"
    check_plots "$name"
done
# The script draws the plots again.
rm four/*.png
(cd four && gnuplot plots.gp) || fail "plots.gp does not draw"
check_plots four
