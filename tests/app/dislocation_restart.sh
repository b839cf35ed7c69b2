#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A run resumes from a numbered snapshot as if never stopped; from what a signal leaves: side_by_side.sh. Written files can
# be read again: ParaDiS files, packed and in several segments, and ParaView files.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1
network=(--generate 'chains:n=20,box=12000,corners=8' --cells '4,4,4' --stress '0,0,2e9,0,0,0' --r-tol 10 --dt 1e-10)

# same_network A B: of two .data files, all nodes and arms.
same_network()
{
    python3 - "$1" "$2" "$3" <<'END' || fail "$1 and $2 are not the same network within $3 b"
import sys


def read(path):
    text = open(path).read()
    low, high = (eval("[" + ",".join(text.split(key + " = [")[1].split("]")[0].split()) + "]")
                 for key in ("minCoordinates", "maxCoordinates"))
    words = [line.split() for line in text.split("nodalData =")[1].splitlines() if line.strip() and "#" not in line]
    nodes, at = {}, 0
    while at < len(words):
        tag, x, y, z, narms, constraint = words[at]
        arms = {}
        for k in range(int(narms)):
            arms[words[at + 1 + 2 * k][0]] = [float(w) for w in words[at + 1 + 2 * k][1:] + words[at + 2 + 2 * k]]
        nodes[tag] = ([float(x), float(y), float(z)], constraint, arms)
        at += 1 + 2 * int(narms)
    assert str(len(nodes)) == text.split("nodeCount =")[1].split()[0]
    return [h - l for l, h in zip(low, high)], nodes


(edge, a), (_, b) = read(sys.argv[1]), read(sys.argv[2])
assert a.keys() == b.keys(), sorted(a.keys() ^ b.keys())[:9]
worst = 0
for tag, (x, constraint, arms) in a.items():
    y, other, theirs = b[tag]
    assert constraint == other and arms.keys() == theirs.keys(), tag
    for d in range(3):
        off = abs(x[d] - y[d])
        worst = max(worst, min(off, edge[d] - off))
    for key in arms:
        assert all(abs(p - q) < 1e-6 for p, q in zip(arms[key], theirs[key])), (tag, arms[key], theirs[key])
print(f"{len(a)} nodes, at most {worst:.2g} b apart")
assert worst <= float(sys.argv[3])
END
}

for ranks in 1 3; do
    expect "$ranks" "${network[@]}" --steps 6 --quiet --balance sfc --forces whole.hdf5 --output whole.data
    expect "$ranks" "${network[@]}" --steps 3 --quiet --balance sfc --output half.data
    expect "$ranks" --restart half.data --steps 6 --quiet --balance sfc --forces rest.hdf5 --output rest.data --report rest
    same_network whole.data rest.data 1e-6
    "$same" whole.hdf5 rest.hdf5 1e-6 || fail "a restart on $ranks ranks gives another physics"
    [ "$(python3 -c 'import json; print([s["step"] for s in json.load(open("rest/report.json"))["steps"]])')" = "[3, 4, 5, 6]" ] ||
        fail "the report of the continued run does not go from step 3 to step 6"
    diff whole.ctrl rest.ctrl >difference
    python3 - <<'END' || fail "control files differ: $(cat difference)"
def values(path):
    lines = [line.split("#")[0] for line in open(path) if not line.startswith("networkChecksum")]
    return " ".join(lines).replace("=", " = ").split()
for a, b in zip(values("whole.ctrl"), values("rest.ctrl"), strict=True):
    try:
        assert abs(float(a) - float(b)) <= 1e-6 * max(abs(float(a)), abs(float(b))), (a, b)
    except ValueError:
        assert a == b
END
done
# The run resumes with the state of its balancer, which the control file stores in comments.
for way in 'sfc auto' 'sfc repair' 'sfc gain' 'sfc 3' 'auto auto' 'auto 2' 'interaction 4'; do
    same_schedule stops_000003.data 3 16 "$way --imbalance-tol 0.005" "${network[@]}" --r-tol 50 --dt 4e-9 \
        --output stops.data --output-every 3
done
sed '/^#\$ /{s/[13579bdf]/0/;}' half.ctrl >torn.ctrl
cp half.data torn.data
refused_by_all 'torn.ctrl: is damaged: what it says of the balance has another checksum' --restart torn --steps 6
grep -v '^#\$ ' half.ctrl >older.ctrl
cp half.data older.data
expect 3 --restart older --steps 6 --quiet --balance sfc
expect 2 --restart half --steps 6 --quiet --balance bisection --forces other.hdf5
"$same" whole.hdf5 other.hdf5 1e-5 || fail "a restart on other ranks gives another physics"
refused 'is at step 3 already' --restart half.data --steps 2

# A pair has every key that ParaDiS 4.0 requires exactly once: keys without a default there (rc, maxSeg), keys whose
# default differs from the value of this run, and the keys of its far field.
needed=(numXdoms numYdoms numZdoms numXcells numYcells numZcells xBoundType yBoundType zBoundType decompType DLBfreq
    cycleStart maxstep timeNow timestepIntegrator nextDT maxDT dtIncrementFact dtDecrementFact rTol maxSeg minSeg rann
    remeshRule splitMultiNodeFreq collisionMethod fmEnabled fmMPOrder fmTaylorOrder shearModulus pois burgMag rc Ecore
    mobilityLaw MobScrew MobEdge MobClimb loadType appliedStress eRate edotdir totpStn)
# complete CTRL KEY...: each key occurs once in CTRL.
complete()
{
    local ctrl=$1 key
    shift
    for key in "$@"; do
        [ "$(grep -c "^$key = " "$ctrl")" = 1 ] || fail "$ctrl: $key does not stand once: $(grep "^$key" "$ctrl")"
    done
}
complete half.ctrl "${needed[@]}" fmCorrectionTbl
grep -q '^fmEnabled = 1$' half.ctrl || fail "4 x 4 x 4 cells are for fast multipoles"
grep -q '^#  ctablegen -nu 0.324.* -mporder 2 -torder 5 -pbc 7 -outfile fm-ctab.nu0.324.m2.t5.dat$' half.ctrl ||
    fail "nobody is told how the table is made"
complete rest.ctrl "${needed[@]}" fmCorrectionTbl # after a restart not twice
grep -q '^#  ctablegen ' rest.ctrl || fail "a restart forgets how the table is made"
expect 1 --generate 'chains:n=20' --cells 3 --steps 0 --quiet --output three
complete three.ctrl "${needed[@]}" Rijmfile RijmPBCfile
grep -q '^fmEnabled = 0$' three.ctrl || fail "ParaDiS refuses fast multipoles with 3 cells"
printf 'rc = 5\nmaxSeg = 100\nfmEnabled = 1\nfmCorrectionTbl = "own.dat"\nnumXcells = 99\nfmMPOrder = 3\n' >own.ctrl
expect 1 three.data --ctrl own.ctrl --steps 0 --quiet --output own-later
complete own-later.ctrl fmEnabled fmCorrectionTbl fmMPOrder
grep -q '^fmCorrectionTbl = "own.dat"$' own-later.ctrl || fail "a table that was given is lost"
grep -q '^numXcells = 99$' own-later.ctrl || fail "the cells of ParaDiS are lost"
for key in dataFileVersion numFileSegments minCoordinates maxCoordinates nodeCount dataDecompType dataDecompGeometry; do
    complete half.data $key
done

# A pair from two different runs is refused, and so is a truncated control file; the network file has a copy of its own.
cp half.ctrl kept.ctrl
cp whole.ctrl half.ctrl
refused_by_all "half.ctrl: belongs to another network than that of half" --restart half --steps 7
head -n 30 kept.ctrl >half.ctrl
refused 'half.ctrl: is torn' --restart half --steps 7
sed -n 's/^#= //p' half.data >half.ctrl
cmp half.ctrl kept.ctrl || fail "the network has other parameters than its control file"
expect 1 --restart half --steps 4 --quiet
grep -v networkChecksum kept.ctrl >half.ctrl # as ParaDiS and older versions write it
expect 1 --restart half --steps 4 --quiet
cp kept.ctrl half.ctrl

# The written network is read with its parameters: as plain input, packed, in several segments.
expect 1 half.data --ctrl half.ctrl --steps 0 --quiet --forces read.hdf5
gzip -c half.data >packed
expect 2 packed --ctrl half.ctrl --steps 0 --quiet --forces packed.hdf5
"$same" read.hdf5 packed.hdf5 1e-12 || fail "a packed file is another network"
gzip -c half.ctrl >packed.ctrl
expect 1 packed --ctrl packed.ctrl --steps 0 --quiet --forces packed.hdf5
"$same" read.hdf5 packed.hdf5 1e-12 || fail "a packed control file says something else"
python3 - <<'END'
text = open("half.data").read()
head, body = text.split("nodalData =\n")
lines = [line for line in body.splitlines(True) if "#" not in line]
nodes, at = [], 0
while at < len(lines):
    end = at + 1 + 2 * int(lines[at].split()[4])
    nodes.append("".join(lines[at:end]))
    at = end
third = len(nodes) // 3
open("parts.data.0", "w").write(head.replace("numFileSegments = 1", "numFileSegments = 3") + "nodalData =\n" +
                                "".join(nodes[:third]))
open("parts.data.1", "w").write("".join(nodes[third:2 * third]))
open("parts.data.2", "w").write("".join(nodes[2 * third:]))
END
for ranks in 1 3; do
    expect "$ranks" parts.data.0 --ctrl half.ctrl --steps 0 --quiet --forces parts.hdf5
    "$same" read.hdf5 parts.hdf5 1e-12 || fail "three segments of a file on $ranks ranks are another network"
done
mv parts.data.2 elsewhere
refused_by_all parts.data parts.data.0 --ctrl half.ctrl --steps 0

# Numbered snapshots, of both kinds.
expect 2 "${network[@]}" --steps 5 --quiet --output part.data --output-every 2 --forces five.hdf5
for step in 2 4 5; do
    [ -s "part_00000$step.data" ] && [ -s "part_00000$step.ctrl" ] || fail "no snapshot of step $step: $(ls)"
done
[ ! -e part_000003.data ] || fail "a snapshot that nobody wanted: $(ls)"
expect 2 --restart part_000004.data --steps 5 --quiet --forces rest.hdf5
"$same" five.hdf5 rest.hdf5 1e-6 || fail "going on from a numbered snapshot gives another physics"
expect 2 "${network[@]}" --steps 5 --quiet --output lines.vtp --output-every 2 --report lines
python3 - <<'END' || fail "files for ParaView"
import json, os, xml.etree.ElementTree as tree
frames = [frame.get("file") for frame in tree.parse("lines.pvd").getroot().iter("DataSet")]
assert frames == [f"lines_00000{step}.vtp" for step in (2, 4, 5)], frames
steps = {step["step"]: step for step in json.load(open("lines/report.json"))["steps"]}
for name, step in zip(frames, (2, 4, 5)):
    head = open(name, "rb").read().split(b"<AppendedData")[0].decode()
    piece = [word for word in head.replace(">", " ").split() if word.startswith("NumberOfLines=")]
    lines = sum(int(word.split('"')[1]) for word in piece)
    assert lines == steps[step]["segments"], (name, lines, steps[step]["segments"])
    assert "urgers" in head and "ank" in head, head
END

finish
