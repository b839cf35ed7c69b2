#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# An external program before and after it was balanced has the same physics on any ranks, by any method, conserves
# energy or mass, and has less imbalance in counted work. usage: foreign.sh BEFORE DIRECT STEPS METHOD...; APP is the
# balanced program, DIRECT one that opens all nodes of its tree, or "".
source "$(dirname "${BASH_SOURCE[0]}")/../helpers/lib.sh"

before=$1
direct=$2
steps=$3
shift 3
after=$APP

# The lines of `out` that are physics, and the imbalance in percent.
physics()
{
    grep '^step' out
}
imbalance()
{
    sed -n 's/^imbalance \([0-9.]*\)%.*/\1/p' out
}

# conserved FILE: particles stay, energy to 0.2 %, mass to 1e-12, as do the bounds 0 and 1 of what mass is made of.
conserved()
{
    awk '{ gsub(",", "")
           for (k = 3; k <= NF; k++) {
               if ($k == "particles") bad += $(k - 1) != (FNR == 1 ? n = $(k - 1) : n)
               if ($k == "energy" || $k == "mass") {
                   v = $(k + 1)
                   if (FNR == 1) first = v
                   bad += (v / first - 1) ^ 2 > ($k == "mass" ? 1e-24 : 4e-6)
               }
               if ($k == "from") bad += $(k + 1) < -1e-12 || $(k + 3) > 1 + 1e-12
           } }
         END { exit bad > 0 || FNR < 2 || first == "" }' "$1"
}

# same FILE FILE: every number agrees to 1e-9, every word to the letter.
same()
{
    awk 'function differ(a, b) {
             gsub(/[,:%]/, "", a)
             gsub(/[,:%]/, "", b)
             return a != b && (a + 0 == 0 || (a - b) ^ 2 > 1e-18 * a ^ 2)
         }
         NR == FNR { line[FNR] = $0; n = FNR; next }
         { m = split(line[FNR], word); bad += m != NF
           for (k = 1; k <= NF; k++) bad += differ(word[k], $k) }
         END { exit bad > 0 || n < 2 || FNR != n }' "$1" "$2"
}

# less A B: A is at most 12, and less than half of B.
less()
{
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a <= 12 && 2 * a < b) }'
}

APP=$before
expect 1 "$steps"
physics >alone
conserved alone || fail "particles, energy, mass or bounds change"
for ranks in 1 3 4; do
    APP=$before
    expect $ranks "$steps"
    physics >unbalanced
    same alone unbalanced || fail "$ranks ranks, before: other physics than on one"
    was=$(imbalance)
    APP=$after
    for method in '' "${@:1:ranks}"; do
        expect $ranks "$steps" ${method:+"$method"}
        physics >balanced
        same alone balanced || fail "$ranks ranks, ${method:-no method}: other physics than before"
        if [ -z "$method" ]; then
            [ "$(imbalance)" = "$was" ] || fail "$ranks ranks: imbalance $(imbalance) % without a method, $was % before"
        elif [ $ranks -gt 1 ]; then
            less "$(imbalance)" "$was" || fail "$ranks ranks, $method: imbalance $(imbalance) %, before $was %"
        fi
    done
done

if [ -n "$direct" ]; then
    APP=$direct
    expect 4 0
    paste -d ' ' <(head -n 1 alone) <(physics) | tr -d , |
        awk '{ exit !(NF == 22 && ($9 / $20 - 1) ^ 2 < 4e-6 && ($11 / $22 - 1) ^ 2 < 1e-4) }' ||
        fail "energy is off a direct sum by 0.2 %, or forces by 1 %: $(physics)"
fi
finish
