#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Files that are hard to read, and places that are hard to write to.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1

# Pipes are refused at once, even without a writer.
printf '1 0 0 0 0 0 0\n1 1 0 0 0 0 0\n' >good.txt
mkfifo pipe
refused 'pipe: is not a regular file' pipe --steps 0
refused 'pipe: is not a regular file' --restart pipe
refused '/dev/stdin: is not a regular file' /dev/stdin --steps 0 < <(cat good.txt)
expect 1 /dev/stdin --steps 0 --quiet <good.txt

# The last or second-to-last rank reads particle 150 of 200; the message gives its place in the file.
awk 'BEGIN { for (i = 0; i < 200; i++) print 1, (i == 150 ? "nan" : i), i % 7, i % 3, 0, 0, 0 }' >nan.txt
awk 'BEGIN { for (i = 0; i < 200; i++) print 1, i, i % 7, i % 3, 0, (i == 199 ? "-inf" : 0), 0 }' >infinite.txt
refused_on '1 2 3 4' 'nan.txt: particle 150: x is not a number$' nan.txt --steps 0
refused_on '1 2 4' 'infinite.txt: particle 199: vy is infinite$' infinite.txt --steps 0

# Several files, one of which is missing, empty, or from a different set.
python3 - <<'PY' || fail "the files of sets cannot be made"
import struct

def gadget(name, n, total, nfiles, scale=1.0, ids=None):
    head = struct.pack("<6I6d2d2i6IiI4d", 0, n, 0, 0, 0, 0, *[0.0, 1.0] + [0.0] * 4, 0, 0, 0, 0, 0, total, 0, 0, 0, 0, 0,
                       nfiles, 0, 0, 0, 0).ljust(256, b"\0")
    x = [scale * ((7 * i + c * 13) % 101 - 50) for i in range(n) for c in range(3)]
    blocks = [head, struct.pack(f"<{3 * n}f", *x), bytes(12 * n),
              struct.pack(f"<{n}I", *(ids or range(1, n + 1)))]
    with open(name, "wb") as out:
        for b in blocks:
            out.write(struct.pack("<I", len(b)) + b + struct.pack("<I", len(b)))

for k in range(3):
    gadget(f"set.{k}", 100, 300, 3)
gadget("huge.dat", 300, 300, 1, scale=2e16)
gadget("unique.dat", 300, 300, 1)
gadget("twice.dat", 300, 300, 1, ids=[1 + i // 2 for i in range(300)])
gadget("alike.dat", 300, 300, 1, ids=[7] * 300)
PY
expect 3 set --steps 0 --quiet
mv set.1 away
refused_by_all 'set.1: No such file' set.0 --steps 0
: >set.1
refused_by_all 'set.1: ' set.0 --steps 0
rm set.1
mkdir set.1
refused_by_all 'set.1: is a directory' set --steps 0
rmdir set.1
cp unique.dat set.1
refused_by_all 'set.1: header disagrees' set.2 --steps 0

# Too many particles: in a file, generated, in a restart file.
expect 1 unique.dat --steps 0 --quiet --output limit.hdf5
for input in unique.dat '--generate plummer:n=300' '--restart limit.hdf5'; do
    read -ra words <<<"$input"
    refused_by_all '300 particles or nodes; the limit is 299 (--max-particles)' "${words[@]}" --steps 0 --max-particles 299
    expect 1 "${words[@]}" --steps 0 --quiet --max-particles 300
done

# Coordinates up to 1e18 in a file of floats: finite forces, the same on any ranks.
for ranks in 1 3; do
    expect "$ranks" huge.dat --steps 0 --quiet --precision double --softening 1e15 --forces "huge-$ranks.hdf5"
done
"$same" huge-1.hdf5 huge-3.hdf5 1e-12 || fail "forces of coordinates of 1e18 depend on the ranks"

# Ids are names only: duplicate or equal ids have no effect.
for name in unique twice alike; do
    expect 3 "$name.dat" --steps 2 --dt 0.01 --quiet --balance sfc --report "$name"
done
for name in twice alike; do
    for key in interactions particles; do
        [ "$(value "$name/report.json" "$key")" = "$(value unique/report.json "$key")" ] ||
            fail "$key depend on ids: $name"
    done
done

# A full disk gives one line; the old file stays whole, without a temporary file. MPI itself needs some files,
# so the limit is above theirs and the output is larger.
full()
{
    local file=$1 status
    shift
    printf 'old' >"$file"
    (
        trap '' XFSZ
        ulimit -f 5000
        "$APP" --steps 0 --quiet "$@" "$file" >out 2>err
    )
    status=$?
    [ "$status" -eq 2 ] || fail "status $status instead of 2 on a full disk: $*"
    [ "$(cat "$file")" = old ] || fail "the old file is gone: $*"
    [ "$(wc -l <err)" -eq 1 ] && grep -q "$file" err || fail "a full disk: $* -- $(head -c 300 err)"
    for left in *.part; do
        [ ! -e "$left" ] || fail "left on a full disk: $left"
    done
    rm "$file"
}
full output.hdf5 --generate plummer:n=60000 --output
full forces.hdf5 --generate plummer:n=170000 --cutoff 0.001 --forces

# A full file system, if the test may mount one, affects the report, too.
mkdir small
if mount -t tmpfs -o size=64k,nr_inodes=16 tmpfs small 2>/dev/null; then
    trap 'umount "$work/small"; rm -rf "$work" "$sessions"' EXIT
    for option in --output --forces --report; do
        mkdir -p small/report
        printf 'old' >small/report/report.json
        printf 'old' >small/file.hdf5
        head -c 100000 /dev/zero >small/rest 2>/dev/null
        target=small/file.hdf5
        [ "$option" != --report ] || target=small/report
        run 1 --generate plummer:n=2000 --steps 3 --dt 0.001 --quiet "$option" "$target"
        status=$?
        [ "$status" -eq 2 ] || fail "status $status instead of 2 on a full disk: $option"
        [ "$(cat small/file.hdf5)" = old ] && [ "$(cat small/report/report.json)" = old ] ||
            fail "an old file is gone on a full disk: $option"
        [ "$(wc -l <err)" -eq 1 ] && grep -q 'No space left' err || fail "full: $option -- $(head -c 300 err)"
        [ -z "$(find small -name '*.part')" ] || fail "left on a full disk: $(find small -name '*.part')"
        rm -r small/*
    done
    # If the restart file cannot be written, the run reports that.
    head -c 100000 /dev/zero >small/rest 2>/dev/null
    (cd small && exec "$APP" --generate plummer:n=2000 --steps 100000000 --quiet >../out 2>../err) &
    pid=$!
    sleep 3
    kill -TERM "$pid"
    wait "$pid"
    status=$?
    [ "$status" -eq 2 ] || fail "status $status instead of 2: a restart file on a full disk"
    [ "$(wc -l <err)" -eq 1 ] && grep -q 'barneshut-restart.hdf5.*No space left' err || fail "full: $(head -c 300 err)"
    [ "$(ls small)" = rest ] || fail "left of a restart file: $(ls small)"
else
    echo "not tried: a file system of its own"
fi

# Folders that refuse files even from root. Running in one works, since a restart file is written only after a signal.
if [ -d /proc/self ]; then
    (cd /proc/self && exec "$APP" "$work/good.txt" --steps 1 --quiet) >out 2>err && [ ! -s err ] ||
        fail "a run in a folder that takes nothing: $(cat err)"
    for option in --output --forces; do
        run 1 good.txt --steps 0 --quiet "$option" /proc/none.hdf5
        [ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q /proc/none.hdf5 err || fail "$option: $(head -c 300 err)"
    done
    run 1 good.txt --steps 0 --quiet --report /proc/none
    [ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q /proc/none err || fail "--report: $(head -c 300 err)"
fi
finish
