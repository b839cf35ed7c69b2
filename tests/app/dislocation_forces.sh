#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --check-forces: every kernel that this processor has agrees with reference forces, of tables by quadrature (as in
# tests/unit/test_dd_pairs.c) and, where they are present, of tables that come with the data of other codes.
source "$(dirname "$0")/../helpers/lib.sh"
here=$1
shared=${EQUIPOISE_SHARED_DATA:-$2}/dislocation

# check TABLE ROWS: prints category, rows, worst; as many rows as the table has, none worse than its category allows.
check()
{
    expect 1 --check-forces "$1" --isa "$isa"
    [ ! -s err ] || fail "$isa, $1: on stderr: $(cat err)"
    python3 - "$1" "$isa" <<'END' || fail "$isa, $1: $(cat out)"
import csv, os, sys
table = [line.rstrip("\n").split("\t") for line in open(sys.argv[1]) if not line.startswith("#")]
names, rows = table[0], table[1:]
whole = "pair" if "p3x" in names else "self"
asked = {}
for row in rows:
    name = row[names.index("category")] if "category" in names else whole
    asked[name] = asked.get(name, 0) + 1
answer = list(csv.reader(open("out"), delimiter="\t"))
assert answer[0] == ["category", "rows", "worst"], answer[0]
assert {name: int(n) for name, n, _ in answer[1:]} == asked and len(answer) == len(asked) + 1
worst = {name: float(value) for name, _, value in answer[1:]}
for name, value in worst.items():
    far = 1e-6 if "segseg" in sys.argv[1] else 1e-5
    limit = far if name == "far" else 1e-5 if name in ("near_parallel", "infinite_line") else 1e-9
    print(f"{sys.argv[2]:7} {os.path.basename(sys.argv[1]):24} {name:24} {value:.1e}")
    assert value <= limit, name
END
}

isas=
for isa in plain avx2 avx512 auto; do
    run 1 --check-forces "$here/dislocation_selves.tsv" --isa "$isa"
    if [ $? -eq 2 ] && [ "$isa" != plain ] && [ "$isa" != auto ] && grep -q "$isa does not run on this processor" err; then
        echo "skipped: $isa, which this processor does not have"
        [ "$(wc -l <err)" -eq 1 ] || fail "more than a line: $(cat err)"
        continue
    fi
    isas="$isas $isa"
    check "$here/dislocation_pairs.tsv"
    check "$here/dislocation_selves.tsv"
    if [ -d "$shared" ]; then
        check "$shared/segseg_reference.tsv"
        check "$shared/selfforce_reference.tsv"
    fi
done
[ -d "$shared" ] || echo "skipped: tables of other codes, which are not here"

# A wrong reference value is detected.
sed '$s/[0-9.e+-]*$/1/' "$here/dislocation_selves.tsv" >wrong.tsv
expect 1 --check-forces wrong.tsv
awk -F '\t' '$1 == "self" && $3 < 1e-3 { exit 1 }' out || fail "a wrong reference force goes unnoticed: $(cat out)"
# Several ranks report the same, once.
expect 1 --check-forces "$here/dislocation_pairs.tsv"
mv out alone
expect 3 --check-forces "$here/dislocation_pairs.tsv"
cmp -s alone out || fail "three ranks print otherwise than one: $(diff alone out)"

# The far field agrees with direct sums over shells of images, is the same on any ranks, and its error falls with the
# order.
network="--generate chains:n=4,box=20000,maxseg=800 --cells 5"
images()
{
    # shellcheck disable=SC2086
    expect "$1" $network --far-order "$2" --check-forces images:shells=2
    [ "$(wc -l <out)" = 2 ] || fail "not one line of the far field: $(cat out)"
    tail -n 1 out
}
images 1 2 >order2
images 1 6 >order6
images 3 6 >ranks3
cmp -s order6 ranks3 || fail "the far field's error depends on ranks: $(diff order6 ranks3)"
paste order2 order6 | awk '{ exit !($10 < 0.03 && $10 < 0.3 * $5) }' || fail "errors of orders 2 and 6: $(cat order2 order6)"

# A signal ends a check at once, since there is nothing to save.
# shellcheck disable=SC2086
"$APP" $network --check-forces images:shells=50 >out 2>err &
pid=$!
for _ in $(seq 6000); do
    takes_signals "$pid" && break
    sleep 0.1
done
sleep 1
kill -TERM "$pid"
for _ in $(seq 6000); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
done
kill -KILL "$pid" 2>/dev/null && fail "direct sums go on a minute after a signal"
wait "$pid"
status=$?
[ "$status" -eq 143 ] && [ ! -s out ] && grep -q 'ended by a signal before there was anything to save' err ||
    fail "direct sums and a signal: status $status: $(cat out err)"

table=$here/dislocation_pairs.tsv
# Damaged tables are the fuzz target's.
for row in 'a 0' 'mu -1' 'nu 0.5'; do
    read -r name value <<<"$row"
    awk -F '\t' -v OFS='\t' -v name="$name" -v value="$value" 'NR == 2 { for (k = 1; k <= NF; k++) if ($k == name) at = k }
        NR == 4 { $at = value } 1' "$table" >"$name.tsv"
    refused "$name.tsv.*4.*$name is not" --check-forces "$name.tsv"
done
sed '2s/fq1x/fq0x/' "$table" >column.tsv
sed '4s/\t[^\t]*$/\tmany/' "$table" >word.tsv
for word in missing.tsv 'column.tsv.*fq1x' 'word.tsv.*4'; do
    refused_by_all "$word" --check-forces "${word%%.\**}"
done
refused sse --check-forces "$table" --isa sse
# shellcheck disable=SC2086
for images in images:shells=0 images:shells=x images:shells= images:boxes=2 images:shells=2,3; do
    refused "$images.*shells=N" $network --check-forces "$images"
done
refused SNAPSHOT --check-forces images
finish
