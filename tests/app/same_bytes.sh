#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: same_bytes.sh CLOCK BUILD OTHER_BUILD [quick]
# Runs and comparisons of both apps, all methods, on 1, 3 and 4 ranks, by the programs of two builds with a clock that
# counts (CLOCK: the library made of counting_clock.c): they must leave the same tables, byte for byte. For
# refactorings: build the tree before the change in another folder. quick: a few of them, two of the same build.
set -u
clock=$(realpath "$1") first=$(realpath "$2") second=$(realpath "$3") quick=${4-}
# shellcheck source=scripts/mpi-env.sh
. "$(dirname "$0")/../../scripts/mpi-env.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ranks='1 3 4'
methods='none count sfc rcb interaction tiles jagged tensor feedback diffusion voronoi auto sfc:split,even=step'
if [ -n "$quick" ]; then
    ranks=3
    methods='interaction sfc:split,even=step'
fi
compare=all
[ -z "$quick" ] || compare=sfc,interaction,tiles
failures=0

# run BUILD RANKS NAME APP ARG...: a report in the folder NAME, what is printed in NAME.txt
run()
{
    local build=$1 n=$2 name=$3 app=$4
    shift 4
    "${MPIEXEC:-mpirun}" -n "$n" env LD_PRELOAD="$clock" "$build/apps/$app/$app" --seed 3 --report "$name" "$@" \
        >"$name.txt" 2>"$name.err" || {
        echo "FAIL: $app $* on $n ranks: $(cat "$name.err")"
        failures=$((failures + 1))
    }
}

# record BUILD FOLDER
record()
{
    mkdir "$2" && cd "$2" || exit 1
    for n in $ranks; do
        for input in plummer:n=3000 clusters:n=4000; do
            run "$1" "$n" "bh-$n-${input%%:*}" barneshut --generate "$input" --parts 4,32 \
                --compare $compare,sfc:split,interaction:start=tiles,interaction:pins=2
            [ -z "$quick" ] || break
        done
        for input in chains:n=6 lines:n=12; do
            run "$1" "$n" "dd-$n-${input%%:*}" dislocation --generate "$input" --parts 4,32 \
                --compare $compare,tiles:aspect=2,sfc:split,interaction:start=tiles
            [ -z "$quick" ] || break
        done
        for method in $methods; do
            run "$1" "$n" "run-bh-$n-$method" barneshut --generate clusters:n=3000 --steps 4 --rebalance 2 \
                --balance "$method" --quiet
            run "$1" "$n" "run-dd-$n-$method" dislocation --generate chains:n=6 --steps 3 --rebalance 2 \
                --balance "$method" --quiet
        done
    done
    cd ..
}

cd "$tmp" || exit 1
record "$first" first
record "$second" second
files=$(cd first && find . -name '*.csv' -o -name '*.txt' | sort)
for file in $files; do
    cmp "first/$file" "second/$file" || failures=$((failures + 1))
done
[ "$failures" -eq 0 ] || exit 1
echo "all as expected: $(echo "$files" | wc -l) files are the same"
