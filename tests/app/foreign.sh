#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# An external program before and after it was balanced has the same physics on any ranks, by any method, and less
# imbalance in counted work. usage: foreign.sh BEFORE STEPS METHOD...; APP is the balanced program.
source "$(dirname "${BASH_SOURCE[0]}")/../helpers/lib.sh"

before=$1
steps=$2
shift 2
after=$APP

# The lines of `out` that are physics, and the imbalance in percent.
physics()
{
    grep -E '^(step|forces)' out
}
imbalance()
{
    sed -n 's/^imbalance \([0-9.]*\)%.*/\1/p' out
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
for ranks in 1 3 4; do
    APP=$before
    expect $ranks "$steps"
    physics >unbalanced
    same alone unbalanced || fail "$ranks ranks, before: other physics than on one"
    was=$(imbalance)
    APP=$after
    for method in off "${@:1:ranks}"; do
        expect $ranks "$steps" --balance "$method"
        physics >balanced
        same alone balanced || fail "$ranks ranks, $method: other physics than before"
        if [ "$method" = off ]; then
            [ "$(imbalance)" = "$was" ] || fail "$ranks ranks: imbalance $(imbalance) % with off, $was % before"
        elif [ $ranks -gt 1 ]; then
            less "$(imbalance)" "$was" || fail "$ranks ranks, $method: imbalance $(imbalance) %, before $was %"
        fi
    done
done

refused_by_all STEPS "$steps" --balance nonsense
refused_by_all STEPS "$steps" --balance
refused_by_all steps 0
finish
