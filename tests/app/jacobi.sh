#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# jacobi: the system is solved whoever holds its rows, no row is lost on the way, and the shares are those of the
# simulator, iteration by iteration.
# usage: APP=jacobi jacobi.sh SPEEDS
source "$(dirname "$0")/lib.sh"
speeds=$1

cat >cliff <<'EOT'
0 87 900
0 96 30
1 84 750
1 92 25
2 189 850
2 208 28
3 327 840
EOT

# moved, settled: of the last line in out.
moved()
{
    sed -n 's/^#.* \([0-9]*\) rows moved.*/\1/p' out
}

settled()
{
    sed -n 's/^#.*settled after \([0-9]*\) iterations$/\1/p' out
}

for model in constant piecewise akima; do
    expect 4 --n 400 --model "$model" --emulate cliff
    grep -q '^# solved' out || fail "$model: $(tail -n 1 out)"
    grep -v '^#' out >table
    lines=$(wc -l <table)
    "$speeds" --n 400 --model "$model" --functions cliff 2>/dev/null | head -n "$lines" >simulated
    cmp table simulated || fail "$model: the shares are not those of the simulator"
    if [ "$model" = constant ]; then
        grep -q 'did not settle' out || fail "constant: $(tail -n 1 out)"
        swinging=$(moved)
    else
        [ "$(settled)" -le 10 ] || fail "$model: $(tail -n 1 out)"
        [ "$(moved)" -lt $((swinging / 4)) ] || fail "$model moves $(moved) rows, constant $swinging"
    fi
done

# Measured times, one rank, more ranks than rows.
expect 1 --n 50
grep -q '^# solved.* 0 rows moved' out || fail "one rank: $(tail -n 1 out)"
expect 3 --n 100
grep -q '^# solved' out || fail "measured: $(tail -n 1 out)"
expect 3 --n 2
grep -q '^# solved' out || fail "more ranks than rows: $(tail -n 1 out)"
expect 1 --help
expect 1 --version
run 1 --n 50 --iterations 2
[ $? -eq 1 ] || fail "two iterations are enough"
grep -q '^# not solved' out || fail "not solved: $(tail -n 1 out)"

rm -f table simulated
printf '0 1\n' >short
refused_by_all 'short:1:' --n 50 --emulate short
refused_by_all 'holds 4 speed functions' --n 50 --emulate cliff
refused missing --n 50 --emulate missing
refused ' --n' --n 0
refused ' --n' --n 1000000000
refused model --model linear
refused residual --residual 0
finish
