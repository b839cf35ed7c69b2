#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Invalid input gives one line with the error and its place, status 2 on every rank, and no output file.
source "$(dirname "$0")/../helpers/lib.sh"

# A closed loop of four nodes and a line of three between pinned ends; edits are Python on the list `nodes` of [tag, [x, y, z], constraint, [[tag, burgers, normal], ...]] and on `head`.
# network FILE [EDIT]
network()
{
    python3 - "$@" <<'END'
import sys
b, n = [0.5 ** 0.5, -0.5 ** 0.5, 0.0], [1.0, 1.0, 1.0]
head = {"dataFileVersion": "5", "numFileSegments": "1", "minCoordinates": "[ -4000 -4000 -4000 ]",
        "maxCoordinates": "[ 4000 4000 4000 ]", "nodeCount": None, "dataDecompType": "2",
        "dataDecompGeometry": "[ 1 1 1 ]"}
domains = "domainDecomposition =\n 0 -4000 -4000 -4000 4000 4000 4000\n"
nodes = []


def add(tag, x, constraint=0):
    nodes.append([tag, x, constraint, []])


def find(tag):
    return next(node for node in nodes if node[0] == tag)


def join(one, other, burgers):
    find(one)[3].append([other, list(burgers), list(n)])
    find(other)[3].append([one, [-c for c in burgers], list(n)])


for k, x in enumerate(([300, 0, -300], [0, 300, -300], [-300, 0, 300], [0, -300, 300])):
    add(f"0,{k}", [float(c) for c in x])
for k in range(4):
    join(f"0,{k}", f"0,{(k + 1) % 4}", b)
for k in range(3):
    add(f"3,{2 * k}", [2000.0, 500.0 * k, -500.0 * k], 7 if k != 1 else 0)
join("3,0", "3,2", b)
join("3,2", "3,4", b)
if len(sys.argv) > 2:
    exec(sys.argv[2])
head["nodeCount"] = head["nodeCount"] or str(len(nodes))
text = "".join(f"{key} = {value}\n" for key, value in head.items()) + domains + "nodalData =\n"
for tag, x, constraint, arms in nodes:
    text += f" {tag} {x[0]} {x[1]} {x[2]} {len(arms)} {constraint}\n"
    for other, burgers, normal in arms:
        text += f"   {other} {burgers[0]} {burgers[1]} {burgers[2]}\n     {normal[0]} {normal[1]} {normal[2]}\n"
open(sys.argv[1], "w").write(text)
END
}

network good.data
refused_by_all 'good.data: 7 particles or nodes; the limit is 6 (--max-particles)' good.data --steps 0 --max-particles 6
printf '\211HDF\r\n\032\nand what follows' >snapshot.hdf5
refused 'snapshot.hdf5: is an HDF5 file' snapshot.hdf5 --steps 0
refused 'snapshot.hdf5: is an HDF5 file' good.data --ctrl snapshot.hdf5 --steps 0
expect 1 good.data --steps 1 --quiet
expect 3 good.data --steps 1 --quiet

# Command-line options override the control file; keys without an option keep their values. The control file that the
# run writes has both.
printf 'rc = 3\nmaxSeg = 600\npois = 0.25\nnumXcells = 4\nnumYcells = 5\nnumZcells = 6\nmaxstep = 0\neRate = 7\nloadType = 1\ntimeNow = 5\ncycleStart = 9\n' \
    >some.ctrl
# says FILE KEY VALUE...
says()
{
    local file=$1
    shift
    while [ $# -gt 0 ]; do
        [ "$(sed -n "s/^$1 *= *//p" "$file" | tr -d '"[]' | xargs)" = "$2" ] || fail "$file: $1 is not $2: $(grep "^$1" "$file")"
        shift 2
    done
}
expect 2 good.data --ctrl some.ctrl --quiet --output plain
says plain.ctrl rc 3 maxSeg 600 pois 0.25 numXcells 4 numYcells 5 numZcells 6 eRate 7 loadType 1 timeNow 0 cycleStart 0 mobilityLaw BCC_0
expect 2 good.data --ctrl some.ctrl --quiet --output over --steps 0 --cells 3,4,5 --nu 0 --strain-rate 0 --mobility FCC_0 \
    --rc 4 --max-seg 700 --min-seg 60 --r-tol 2 --rann 3 --mu 5e10 --burg 0.25 --dt 0.5 --integrator euler \
    --stress 1e6,0,0,-2e6,0,3 --cross-slip yes
says over.ctrl rc 4 maxSeg 700 pois 0 numXcells 3 numYcells 4 numZcells 5 eRate 0 loadType 1 mobilityLaw FCC_0 minSeg 60 rTol 2 \
    rann 3 shearModulus 50000000000 burgMag 0.25 nextDT 0.5 timestepIntegrator euler enableCrossSlip 1
[ "$(sed -n '/^appliedStress/,/]/p' over.ctrl | tr -d '[]' | xargs)" = 'appliedStress = 1000000 0 0 -2000000 0 3' ] ||
    fail "over.ctrl: another stress: $(grep -A 2 ^appliedStress over.ctrl)"
# Free boundaries fold no coordinates and accept a segment longer than half the box.
network free.data 'find("3,4")[1] = [-1500.0, -3000.0, -1000.0]'
refused 'free.data.*3,4' free.data --steps 0
printf 'rc = 5\nmaxSeg = 900\nxBoundType = 1\nyBoundType = 1\nzBoundType = 1\n' >free.ctrl
refused 'segment of the input' free.data --ctrl free.ctrl --steps 0
network free.data 'find("3,2")[1] = [2000.0, 4100.0, -500.0]; find("3,0")[1] = [2000.0, 3900.0, 0.0]; find("3,4")[1] = [2000.0, 4200.0, -1000.0]'
expect 2 free.data --ctrl free.ctrl --steps 0 --quiet --output freed
grep -q '^ *3,2 2000 4100 -500 ' freed.data || fail "a free box folds positions: $(grep '^ *3,2' freed.data)"

# bad WORDS FILE EDIT: the network is refused with these words on one rank. apart: on three ranks as well, where
# different ranks may read the two ends; a launcher takes a second to end failing ranks.
bad()
{
    network "$2" "$3" || fail "cannot make $2"
    refused "$1" "$2" --steps 0
}

apart()
{
    network "$2" "$3" || fail "cannot make $2"
    refused_by_all "$1" "$2" --steps 0
}

bad 'one-armed.data.*0,1' one-armed.data 'nodes[1][3].pop(); nodes[2][3].pop(0)'
apart 'dangling.data.*0,9' dangling.data 'nodes[1][3][0][0] = "0,9"'
apart 'reverse.data.*\(0,0\|0,1\)' reverse.data 'nodes[1][3].pop(0)'
apart 'sign.data.*\(0,0\|0,1\)' sign.data 'find("0,0")[3][0][1] = b; find("0,1")[3][0][1] = b'
apart 'duplicate.data.*0,1' duplicate.data 'nodes.append(nodes[1])'
apart 'zero.data.*\(0,0\|0,1\)' zero.data 'nodes[1][1] = list(nodes[0][1])'
apart 'long.data.*3,[0-4]' long.data 'find("3,2")[1] = [-1000.0, 3000.0, 3000.0]'
# What a reader finds in a file, tests/unit/test_paradis_hostile.c tells.
head -c 500 good.data >truncated.data
refused_by_all truncated.data truncated.data --steps 0
gzip -c good.data | head -c 300 >half.data.gz
refused_by_all half.data.gz half.data.gz --steps 0

mkdir folder
head -c 3000 /dev/urandom >noise
refused_by_all missing.data missing.data --steps 0
for file in folder noise /dev/null; do
    refused "$file" "$file" --steps 0
done
if [ "$(id -u)" -ne 0 ]; then
    cp good.data secret.data && chmod 0 secret.data
    refused_by_all secret.data secret.data --steps 0
else
    echo "skipped: a file that must not be read; root reads every file"
fi

# wrong WORDS LINE...: a control file of these lines.
wrong()
{
    local words=$1
    shift
    printf '%s\n' "$@" >wrong.ctrl
    refused "wrong.ctrl.*$words" good.data --ctrl wrong.ctrl --steps 0
}

printf 'rc = 5\nmaxSeg = 800\n' >good.ctrl
expect 1 good.data --ctrl good.ctrl --steps 0 --quiet
wrong maxSeg 'rc = 5'
wrong maxSeg 'rc = 5' 'maxSeg = 3000'
wrong mobilityLaw 'rc = 5' 'maxSeg = 800' 'mobilityLaw = "HCP_9"'
wrong timestepIntegrator 'rc = 5' 'maxSeg = 800' 'timestepIntegrator = "guess"'
wrong loadType 'rc = 5' 'maxSeg = 800' 'loadType = 77'
wrong loadType 'rc = 5' 'maxSeg = 800' 'loadType = 5' 'eAmp = 1e-4'
wrong eAmp 'rc = 5' 'maxSeg = 800' 'loadType = 4'
wrong 'fmEnableAnisotropy = 1: anisotropic' 'rc = 5' 'maxSeg = 800' 'fmEnableAnisotropy = 1'
wrong 'eshelbyfmEnabled = 1: inclusions' 'rc = 5' 'maxSeg = 800' 'eshelbyfmEnabled = 1'
wrong 'inclusionFile = a b: inclusions' 'rc = 5' 'maxSeg = 800' 'inclusionFile = "a b"'
wrong "mobilityLaw: 'FCC_0b_Eshelby': inclusions" 'rc = 5' 'maxSeg = 800' 'mobilityLaw = "FCC_0b_Eshelby"'
refused_by_all good.data good.data --ctrl good.data --steps 0
refused missing.ctrl good.data --ctrl missing.ctrl --steps 0
# ParaDiS has many more keys. The run names the keys that it changes or ignores, and continues.
# noted WORDS LINE...: a control file of these lines runs, with a note of these words on one rank's stderr; "" for none.
noted()
{
    local words=$1
    shift
    printf 'rc = 5\nmaxSeg = 800\n' >noted.ctrl
    printf '%s\n' "$@" >>noted.ctrl
    run 2 good.data --ctrl noted.ctrl --steps 1 || fail "noted.ctrl is refused: $(cat err)"
    if [ -z "$words" ]; then
        ! grep -q 'note:' err || fail "a note on nothing: $(cat err)"
    else
        [ "$(grep -c "^dislocation: note: .*$words" err)" = 1 ] || fail "no one note of '$words': $(cat err)"
    fi
}
noted '' 'rTol = -2' 'nextDT = -1e-9' 'minSeg = 0' 'rann = 0' 'Ecore = -1'
noted 'noted.ctrl: passed over: favouriteColour, enforceGlidePlanes$' 'favouriteColour = "blue"' 'enforceGlidePlanes = 1'
noted 'noted.ctrl: passed over: includeInertia, rotationMatrix$' 'includeInertia = 0' \
    'rotationMatrix =' '  [' '1 0 0' '0 1 0' '0 0 1' ']'
noted 'noted.ctrl: MobScrew: 0 is taken as 1e-05' 'mobilityLaw = "BCC_0"' 'MobScrew = 0' 'MobEdge = 10' 'MobClimb = 1'
noted '64 x 64 x 64 cells would be too small for segments of 800 b: 8 x 8 x 8 are taken' 'numXcells = 64' 'numYcells = 64' \
    'numZcells = 64'
noted 'loadType: 6 is a user-defined curve' 'loadType = 6'
noted '' 'loadType = 4' 'eAmp = 1e-4' 'eRate = 1e5'
noted 'zBoundType = 1: free surfaces' 'zBoundType = 1'

refused SNAPSHOT --steps 1
refused exclude good.data --generate lines
refused mobility good.data --mobility FCC_7
refused stress good.data --stress 1,2,3
refused stress good.data --stress 1,2,3,4,5,nan
refused_by_all tile good.data --tile 0,1,1
refused tile good.data --tile 1000000,1000000,1000000
refused tile good.data --tile 1,2
refused tile good.data --tile "1;2;3"
refused cells good.data --cells 2
refused cells good.data --cells 3,3
refused_by_all 'cell\|maxSeg\|max-seg' good.data --cells 40
refused 'cell\|maxSeg\|max-seg' good.data --max-seg 3000
refused 'seg\|Seg' good.data --min-seg 300 --max-seg 500
refused_by_all generate --generate spiral
refused generate --generate loops:radius=1e9
refused_by_all nowhere good.data --steps 0 --output nowhere/out.data
refused 'cannot be both' good.data --steps 0 --output same.vtp --forces same.vtp
refused 'overwritten' good.data --steps 0 --output ./good.data
refused words --restart words
refused_by_all good --restart good.vtp
refused check-forces --check-forces missing
finish
