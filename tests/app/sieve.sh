#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The program sieve: the number of primes, work that does not depend on the ranks, and the balance of both splits.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# field COLUMN DIVISORS SPLIT: of the last table
field()
{
    awk -F'\t' -v column="$1" -v d="$2" -v s="$3" '$1 == d && $2 == s {print $column}' out
}

# at_least A B
at_least()
{
    awk -v a="$1" -v b="$2" 'BEGIN {exit !(a != "" && a >= b)}'
}

# The source's 32 nodes: about 71 % where numbers are cut into equal lengths, above 99 % where time is.
expect 1 --max 2000000 --nodes 32
for divisors in primes odd; do
    for split in linear functional; do
        [ "$(field 4 $divisors $split)" -eq 148933 ] || fail "wrong number of primes: $divisors $split"
    done
    at_least "$(field 7 $divisors functional)" 99 || fail "$divisors: efficiency $(field 7 $divisors functional)"
    [ "$(field 5 $divisors functional)" -eq "$(field 5 $divisors linear)" ] || fail "$divisors: the work depends on the split"
done
at_least "$(field 7 odd linear)" 70.5 && at_least 72.5 "$(field 7 odd linear)" || fail "odd: $(field 7 odd linear)"
at_least "$(field 7 primes linear)" 75 && at_least 78 "$(field 7 primes linear)" || fail "primes: $(field 7 primes linear)"

# The same counts on any number of ranks.
expect 1 --max 200000 --nodes 7 --table
mv out table
expect 3 --max 200000 --nodes 7 --table
diff table out || fail "three ranks count otherwise than one"

# One node for each rank without --nodes.
expect 2 --max 200000 --divisors odd --split functional
[ "$(field 3 odd functional)" -eq 2 ] || fail "not two nodes on two ranks"

# Every fit and a given exponent, down to numbers that nothing can be known from.
for max in 2 3 9 17 18 26 121 1000; do
    case $max in
    2) primes=1 ;; 3) primes=2 ;; 9) primes=4 ;; 17 | 18) primes=7 ;; 26) primes=9 ;; 121) primes=30 ;; 1000) primes=168 ;;
    esac
    for nodes in 40 $([ $max -ne 26 ] || echo 1); do
        for way in '--fit samples' '--fit primes' '--exponent 1.43'; do
            # shellcheck disable=SC2086
            expect 1 --max $max --nodes $nodes $way
            [ "$(awk -F'\t' -v p="$primes" 'NR > 1 && $4 == p' out | wc -l)" -eq 4 ] || fail "$max $nodes $way: $(cat out)"
        done
    done
done

refused_by_all 'max' --max 1
refused 'max' --max x
refused 'nodes' --nodes -1
refused 'divisors' --divisors even
refused 'split' --split half
refused 'fit' --fit none
refused 'exponent' --exponent 0.5
refused 'exponent' --exponent -1
refused 'nonsense' --nonsense
expect 1 --help
grep -q -- '--exponent' out || fail "no help"
expect 1 --version
grep -q '^sieve [0-9]' out || fail "no version"
finish
