#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --generate: every kind and key that its help lists works, and gives the same network on any number of ranks and tiles.
source "$(dirname "$0")/../helpers/lib.sh"

expect 1 --generate help
cp out kinds
for kind in frank-read loops lines chains; do
    [ "$(grep -c "^$kind  " kinds)" -eq 1 ] || fail "--generate help does not list $kind once: $(cat kinds)"
done
[ ! -s err ] || fail "--generate help, on stderr: $(cat err)"

# made RANKS NETWORK [OPTION...]: writes made.data
made()
{
    local ranks=$1 what=$2
    shift 2
    rm -f made.data made.ctrl
    expect "$ranks" --generate "$what" --steps 0 --quiet --output made.data --report made "$@"
}

# count KEY: of nodes or segments of the report.
count()
{
    python3 -c 'import json, sys; print(json.load(open("made/report.json"))["steps"][0][sys.argv[1]])' "$1"
}

# Each kind, with its own keys: the same bytes on all numbers of ranks.
for what in frank-read:n=5,box=20000,maxseg=700,length=6000,angle=0 loops:n=9,box=20000,maxseg=900,radius=800,sides=6 \
    lines:n=7,box=16000,maxseg=750,along112=1 chains:n=6,box=15000,maxseg=800,corners=5,spread=0.3; do
    made 1 "$what" --seed 3
    mv made.data alone.data
    mv made.ctrl alone.ctrl
    made 3 "$what" --seed 3
    # The first step follows from velocities: sums of forces in another order. The network's file has it in comments.
    cmp -s <(grep -v -e nextDT -e '#\$ ' alone.data) <(grep -v -e nextDT -e '#\$ ' made.data) ||
        fail "$what: another network on 3 ranks"
    diff <(grep -v -e nextDT -e '^#\$' alone.ctrl) <(grep -v -e nextDT -e '^#\$' made.ctrl) >difference ||
        fail "$what: other parameters on 3 ranks: $(cat difference)"
    made 1 "$what" --seed 4
    ! cmp -s alone.data made.data || fail "$what: the seed changes nothing"
    # Another way in, the same network, so it is a sound one; and it moves.
    expect 2 alone.data --ctrl alone.ctrl --steps 0 --quiet --output again.data
    cmp -s <(grep -v '#\$ ' alone.data) <(grep -v '#\$ ' again.data) || fail "$what: writing and reading changes the network"
    expect 2 --generate "$what" --seed 3 --stress 0,0,5e8,0,0,0 --steps 2 --quiet
    python3 - "$what" <<'END' || fail "$what: not what was asked for"
import math, sys
kind, keys = sys.argv[1].split(":")
keys = {key: float(value) for key, value in (pair.split("=") for pair in keys.split(","))}
text = open("alone.data").read()
low, high = ([float(w) for w in text.split(key + " = [")[1].split("]")[0].split()]
             for key in ("minCoordinates", "maxCoordinates"))
edge = [h - l for l, h in zip(low, high)]
assert edge == [keys["box"]] * 3, edge
lines = [line.split() for line in text.split("nodalData =")[1].splitlines() if line.strip() and "#" not in line]
nodes, at = {}, 0
while at < len(lines):
    tag, x, y, z, narms, constraint = lines[at]
    nodes[tag] = ([float(x), float(y), float(z)], int(constraint),
                  {lines[at + 1 + 2 * k][0]: [float(w) for w in lines[at + 1 + 2 * k][1:] + lines[at + 2 + 2 * k]]
                   for k in range(int(narms))})
    at += 1 + 2 * int(narms)
longest, left, objects = 0, set(nodes), 0
while left:
    objects, open_ends = objects + 1, [left.pop()]
    while open_ends:
        new = left.intersection(nodes[open_ends.pop()][2])
        left -= new
        open_ends.extend(new)
assert objects == keys["n"], objects
for x, constraint, arms in nodes.values():
    assert all(l <= c < h for l, c, h in zip(low, x, high)), x
    assert len(arms) == 2 or (len(arms) == 1 and constraint == 7 and kind == "frank-read")
    for other, arm in arms.items():
        d = [p - q - e * round((p - q) / e) for p, q, e in zip(nodes[other][0], x, edge)]
        longest = max(longest, math.hypot(*d))
        assert abs(math.hypot(*arm[:3]) - 1) < 1e-9 and abs(math.hypot(*arm[3:]) - 1) < 1e-9, arm
        # A line lies in its glide plane, with its Burgers vector.
        assert abs(sum(p * q for p, q in zip(arm[:3], arm[3:]))) < 1e-6
        assert abs(sum(p * q for p, q in zip(d, arm[3:]))) < 1e-6 * math.hypot(*d), (d, arm)
assert 0.3 * keys["maxseg"] < longest <= keys["maxseg"] * (1 + 1e-9), longest
ends = [node for node in nodes.values() if node[1] == 7]
assert len(ends) == (2 * keys["n"] if kind == "frank-read" else 0)
print(f"{kind:10} {len(nodes)} nodes, longest segment {longest:.6g}")
END
done

# Twice as many objects are twice as many nodes, whatever else is left out; every kind by its name alone.
for kind in $(sed -n 's/^\([a-z][a-z-]*\)  .*/\1/p' kinds); do
    [ "$kind" != kind ] || continue
    made 1 "$kind:n=4"
    four=$(count segments)
    made 1 "$kind:n=8"
    [ "$(count segments)" -gt "$four" ] || fail "$kind: not more of them: $(count segments) and $four segments"
    mv made.data eight.data
    # Keys are as the help says: all of them are taken with their defaults.
    pairs=$(awk -v kind="$kind" '/^[a-z]/ { mine = $1 == kind } mine && /^  / && $1 != "n" { print $1 "=" $2 }' kinds)
    [ -n "$pairs" ] || fail "$kind: no keys"
    made 1 "$kind:n=8,${pairs//$'\n'/,}"
    cmp -s <(grep -v '#\$ ' eight.data) <(grep -v '#\$ ' made.data) || fail "$kind: these are not the defaults:" $pairs
done

# Copies: as many of everything, the same on all ranks.
made 1 lines:n=4,box=9000 --seed 2
nodes=$(count nodes)
made 1 lines:n=4,box=9000 --seed 2 --tile 2,1,3
[ "$(count nodes)" -eq $((6 * nodes)) ] || fail "six copies of $nodes nodes have $(count nodes)"
mv made.data alone.data
for ranks in 2 7; do
    made "$ranks" lines:n=4,box=9000 --seed 2 --tile 2,1,3
    cmp -s <(grep -v -e nextDT -e '#\$ ' alone.data) <(grep -v -e nextDT -e '#\$ ' made.data) || fail "copies: another network on $ranks ranks"
done
finish
