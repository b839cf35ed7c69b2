#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --generate: every kind that its help lists, with all of its keys, gives the same network on any number of ranks, in
# files and in copies. tests/unit/test_dd_generate.c checks the networks themselves.
source "$(dirname "$0")/../helpers/lib.sh"

expect 1 --generate help
cp out kinds
[ ! -s err ] || fail "--generate help, on stderr: $(cat err)"
[ "$(sed -n 's/^\([a-z][a-z-]*\)  .*/\1/p' kinds | grep -vx kind | sort | paste -sd ' ')" = 'chains frank-read lines loops' ] ||
    fail "--generate help lists other kinds: $(cat kinds)"

# made RANKS NETWORK [OPTION...]: writes made.data
made()
{
    local ranks=$1 what=$2
    shift 2
    rm -f made.data made.ctrl
    expect "$ranks" --generate "$what" --steps 0 --far-order 2 --quiet --output made.data --report made "$@"
}

# same NAME: NAME.data and made.data are one network. The first time step follows from sums of forces, whose order differs.
same()
{
    cmp -s <(grep -v -e nextDT -e '#\$ ' "$1.data") <(grep -v -e nextDT -e '#\$ ' made.data)
}

# Keys at the defaults in the help, then at different values.
for what in frank-read:n=5,box=20000,maxseg=700,length=6000,angle=0 loops:n=9,box=20000,maxseg=900,radius=800,sides=6 \
    lines:n=7,box=16000,maxseg=750,along112=1 chains:n=6,box=15000,maxseg=800,corners=5,spread=0.3; do
    kind=${what%%:*}
    pairs=$(awk -v kind="$kind" '/^[a-z]/ { mine = $1 == kind } mine && /^  / && $1 != "n" { print $1 "=" $2 }' kinds)
    [ -n "$pairs" ] || fail "$kind: no keys"
    made 1 "$kind:n=8"
    mv made.data eight.data
    made 1 "$kind:n=8,${pairs//$'\n'/,}"
    same eight || fail "$kind: these are not the defaults:" $pairs
    made 1 "$what" --seed 3
    mv made.data alone.data
    mv made.ctrl alone.ctrl
    made 3 "$what" --seed 3
    same alone || fail "$what: another network on 3 ranks"
    diff <(grep -v -e nextDT -e '^#\$' alone.ctrl) <(grep -v -e nextDT -e '^#\$' made.ctrl) >difference ||
        fail "$what: other parameters on 3 ranks: $(cat difference)"
    expect 1 alone.data --ctrl alone.ctrl --steps 0 --far-order 2 --quiet --output made.data
    same alone || fail "$what: writing and reading changes the network"
done
made 1 "$what" --seed 4
! same alone || fail "$what: the seed changes nothing"

# Copies multiply all counts and are the same on any ranks.
nodes()
{
    python3 -c 'import json; print(json.load(open("made/report.json"))["steps"][0]["nodes"])'
}
made 1 lines:n=4,box=9000 --seed 2
nodes=$(nodes)
made 1 lines:n=4,box=9000 --seed 2 --tile 2,1,3
[ "$(nodes)" -eq $((6 * nodes)) ] || fail "six copies of $nodes nodes have $(nodes)"
mv made.data alone.data
made 7 lines:n=4,box=9000 --seed 2 --tile 2,1,3
same alone || fail "copies: another network on 7 ranks"
finish
