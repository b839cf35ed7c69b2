#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Accidents: one file under two names, odd names, no standard streams, limits of the shell. Argument: a clock that
# counts, since an output holds measured seconds for runs that resume from it.
source "$(dirname "$0")/../helpers/lib.sh"

clock=$1
some=(--generate plummer:n=300 --steps 1)
LD_PRELOAD=$clock expect 1 "${some[@]}" --quiet --output snap.hdf5
cp snap.hdf5 original

# The input is unchanged for any spelling of the output name.
ln -s snap.hdf5 link.hdf5
ln snap.hdf5 hard.hdf5
cp snap.hdf5 run_000001.hdf5
cp snap.hdf5 set.0.hdf5
cp snap.hdf5 set.1.hdf5
mkdir folder
refused_by_all 'input would be overwritten' snap.hdf5 --output folder/../snap.hdf5
refused 'input would be overwritten' snap.hdf5 --output link.hdf5
refused 'input would be overwritten' snap.hdf5 --forces hard.hdf5
refused 'input would be overwritten' link.hdf5 --output snap.hdf5
refused 'input would be overwritten' snap --output snap.hdf5
refused 'input would be overwritten' run_000001.hdf5 --steps 3 --output run.hdf5 --output-every 1
refused 'input would be overwritten' set.0.hdf5 --output set.1.hdf5
refused 'input would be overwritten' snap.xdmf --output snap
refused 'input would be overwritten' snap.hdf5 --report snap.hdf5
cmp original snap.hdf5 || fail "the input has changed"

# Different outputs are different files.
refused_by_all 'cannot be both' snap.hdf5 --output two.hdf5 --forces ./two.hdf5
refused 'cannot be both' snap.hdf5 --output two.hdf5 --forces two.xdmf
refused 'cannot be both' snap.hdf5 --steps 4 --output two.hdf5 --output-every 2 --forces two_000004.hdf5
refused 'cannot be both' snap.hdf5 --report two --forces two
echo alpha=1e-6 >network.txt
refused 'cannot be both' snap.hdf5 --network network.txt --forces network.txt
refused 'cannot be both' snap.hdf5 --report folder --forces folder/report.json
# These names denote different files.
expect 1 snap.hdf5 --quiet --steps 4 --output two.hdf5 --output-every 2 --forces two_000003.hdf5
cp snap.hdf5 bare # a separate file next to bare.hdf5, not a part of it
expect 1 bare --quiet --steps 1 --output bare.hdf5
expect 1 bare --quiet --steps 1 --output bare.hdf5
expect 1 snap.hdf5 --quiet --steps 1 --output snap.1.hdf5
expect 1 snap.hdf5 --quiet --steps 1 --output snap.1.hdf5
expect 1 --restart two_000002.hdf5 --quiet --steps 4 --output two.hdf5 --output-every 1
expect 1 snap.hdf5 --quiet --steps 0 --report folder --output folder/snap.hdf5 --forces folder/forces.hdf5

# A link is followed to the file that is written, existing or not; the modes of the file and its folder stay.
mkdir scratch
ln -s scratch/far.hdf5 near.hdf5
ln -s scratch/forces near.forces
ln -s scratch/report report
umask 022
for mode in 644 600; do
    LD_PRELOAD=$clock expect 1 "${some[@]}" --quiet --output near.hdf5 --forces near.forces --report report
    for file in far.hdf5 forces report/report.json report/loads.csv report/run.html; do
        [ "$(stat -L -c %a scratch/$file)" = $mode ] || fail "mode $(stat -L -c %a scratch/$file) of $file, not $mode"
        chmod 600 scratch/$file
    done
    [ $mode = 644 ] || [ "$(stat -c %a scratch/report)" = 700 ] || fail "mode of a report's folder"
    chmod 700 scratch/report
    [ -L scratch/report/loads.csv ] || mv scratch/report/loads.csv scratch/loads
    ln -sf ../loads scratch/report/loads.csv
done
[ -L near.hdf5 ] && [ -L near.forces ] && [ -L report ] && [ -L scratch/report/loads.csv ] || fail "a link is gone"
cmp original scratch/far.hdf5 || fail "the output behind a link"
refused 'cannot be both' snap.hdf5 --output near.hdf5 --forces scratch/far.hdf5
ln -s new.hdf5 first.hdf5
ln -s ./new.hdf5 second.hdf5
refused 'cannot be both' snap.hdf5 --output first.hdf5 --forces second.hdf5
ln -s snap.hdf5 linked_000002.hdf5
refused 'input would be overwritten' snap.hdf5 --steps 3 --output linked.hdf5 --output-every 1
expect 1 snap.hdf5 --quiet --steps 1 --output linked.hdf5 --output-every 1
mkdir locked
touch locked/x.hdf5.eqp-abcdefgh.part 'locked/x.download.part' locked/x.abcdefgh.part
ln -s locked/x.hdf5 x.hdf5
expect 1 "${some[@]}" --quiet --output x.hdf5
[ "$(echo locked/*)" = 'locked/x.abcdefgh.part locked/x.download.part locked/x.hdf5' ] || fail "swept: $(echo locked/*)"
rm -r locked

# Pipes, devices, descriptors: written directly, at the end, and still there.
LD_PRELOAD=$clock "$APP" "${some[@]}" --quiet --output /dev/stdout 2>err | cat >piped
LD_PRELOAD=$clock "$APP" "${some[@]}" --quiet --output /dev/stdout >redirected 2>>err
mkfifo fifo
cat fifo >through &
LD_PRELOAD=$clock expect 1 "${some[@]}" --quiet --output fifo
wait
for file in piped redirected through; do
    cmp original $file || fail "$file: $(cat err)"
done
[ -p fifo ] && [ -L /dev/stdout ] || fail "a pipe has been replaced"
expect 1 "${some[@]}" --quiet --output /dev/null --forces /dev/null
[ -c /dev/null ] && [ ! -e /dev/null.xdmf ] && [ ! -e /dev/null.lock ] || fail "/dev/null"
refused 'the output is several files' "${some[@]}" --output /dev/stdout --output-every 1
{
    "$APP" --generate plummer:n=3000 --steps 0 --quiet --output /dev/stdout 2>err
    echo $? >status
} | true
[ "$(cat status)" = 2 ] && [ "$(cat err)" = '/dev/stdout: cannot be written: Broken pipe' ] ||
    fail "status $(cat status) of a broken pipe: $(cat err)"

# Names with special characters.
odd=$' -a "b"\n<c>&\'d\' é%s'
expect 3 "${some[@]}" --quiet --output="$odd.hdf5" --report="$odd" --forces "$odd.forces"
expect 3 "$PWD/$odd.hdf5" --quiet --steps 0
python3 - "$odd" <<'EOF' || fail "XDMF or report of odd names"
import json, sys, xml.dom.minidom
assert sys.argv[1] in xml.dom.minidom.parse(sys.argv[1] + ".xdmf").toxml().replace("&lt;", "<").replace("&gt;", ">").replace(
    "&quot;", '"').replace("&amp;", "&").replace("&apos;", "'")
assert sys.argv[1] in json.load(open(sys.argv[1] + "/report.json"))["command"]
EOF
deep=$(printf '../%.0s' $(seq 60))"${PWD#/}"
expect 1 "$deep/snap.hdf5" --quiet --steps 0 --output "$deep/deep.hdf5"
[ -f deep.hdf5 ] || fail "a deep relative path"
name=$(printf 'n%.0s' $(seq 300))
run 1 "${some[@]}" --quiet --output "$name"
[ $? -eq 2 ] && [ -s err ] || fail "a name that is too long: $(cat err)"

# Numbers have decimal points in every locale.
for locale in $(locale -a 2>/dev/null | grep -i -m 1 '^de_') C; do
    LC_ALL=$locale "$APP" "${some[@]}" --dt 0.25 --quiet --report numbers >out 2>err || fail "$locale: $(cat err)"
    [ "$(value numbers/report.json dt)" = 0.25 ] || fail "dt in $locale: $(value numbers/report.json dt)"
done

# With closed standard streams no text ends up in a file; a full stream is an error.
for words in '--output closed.hdf5' '--report closed --progress' '--help' '--version'; do
    # shellcheck disable=SC2086 # a list of words
    "$APP" "${some[@]}" $words >&- 2>&- <&- || fail "status $? with closed streams: $words"
done
expect 1 closed.hdf5 --quiet --steps 0
if [ -c /dev/full ]; then
    run 1 "${some[@]}" --quiet --output /dev/full
    [ $? -eq 2 ] && [ "$(cat err)" = '/dev/full: cannot be written: No space left on device' ] || fail "/dev/full: $(cat err)"
    for words in '' '--help' '--version' '--balance help'; do
        # shellcheck disable=SC2086 # a list of words
        "$APP" "${some[@]}" $words >/dev/full 2>err
        [ $? -eq 2 ] && [ "$(grep -c 'standard output' err)" -eq 1 ] || fail "a full disk: '$words': $(cat err)"
    done
fi

# An output is written in slices: it takes no more memory, although 150,000 particles in full take 65 MB.
python3 - "$APP" <<'EOF' || fail "memory of an output"
import os, subprocess, sys

def peak(*output):
    process = subprocess.Popen([sys.argv[1], "--generate", "plummer:n=150000", "--steps", "0", "--quiet", *output])
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_maxrss

bare, both = peak(), peak("--output", "limited.hdf5", "--forces", "limited.forces")
assert both < bare + 40000, (bare, both)
EOF
# Open boundaries: a note mentions a file's periodic box once, and --quiet suppresses it; likewise for the rest of a
# cosmological header.
python3 -c '
import struct
def save(name, *cosmology):
    head = struct.pack("<6I6d2d2i6IiI4d", 0, 3, 0, 0, 0, 0, *[0.0, 1.0] + [0.0] * 4, *cosmology[:2], 0, 0, 0, 3, 0, 0, 0, 0, 0,
                       1, 25.0, *cosmology[2:])
    with open(name, "wb") as out:
        for b in (head.ljust(256, b"\0"), struct.pack("<9f", *range(9)), bytes(36), struct.pack("<3I", 5, 5, 5)):
            out.write(struct.pack("<I", len(b)) + b + struct.pack("<I", len(b)))
save("box.dat", 0, 0, 0, 0, 0)
save("cosmos.dat", 0.5, 1.0, 0.3, 0.7, 0.7)'
expect 3 box.dat --steps 1
[ "$(grep -c 'periodic box of edge 25;' err)" -eq 1 ] || fail "the box: $(cat err)"
expect 2 cosmos.dat --steps 0 --G 43
[ "$(wc -l <err)" -eq 1 ] && grep -q 'note: cosmos.dat: .*G = 43, softening = 0.01 and the units.*scale factor 0.5 and h = 0.7 are not' err ||
    fail "a cosmological header: $(cat err)"
# A file with positions only: --compare accepts it, a run requires masses, and without velocities it starts at rest.
printf 'x,y,z,m\n0,0,0,1\n1,0,0,1\n0,1,0,1\n' | tee rest.csv | cut -d, -f1-3 | gzip >places.csv.gz
expect 2 places.csv.gz --compare count,sfc --parts 2
[ "$(wc -l <err)" -eq 1 ] && grep -q 'no velocities.*at rest; has no masses: all are equal' err || fail "places: $(cat err)"
refused_by_all 'places.csv.gz: has no masses, which forces need' places.csv.gz --steps 0
expect 2 rest.csv --steps 1
[ "$(wc -l <err)" -eq 1 ] && grep -q 'no velocities: all particles are at rest$' err || fail "at rest: $(cat err)"
expect 3 box.dat --steps 1 --quiet
[ "$(grep -c periodic err)" -eq 0 ] || fail "the box, quietly: $(cat err)"
printf '# nothing but words\n\n' >empty.txt
refused_by_all 'empty.txt: holds no particles' empty.txt
finish
