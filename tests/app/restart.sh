#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A run stopped by a numbered snapshot or by SIGTERM resumes as if never stopped.
source "$(dirname "$0")/../helpers/lib.sh"
same=$1

for ranks in 1 3; do
    common=(--generate disks:n=2000 --steps 12 --quiet --balance sfc --precision double)
    expect "$ranks" "${common[@]}" --forces whole.hdf5
    expect "$ranks" "${common[@]}" --output part.hdf5 --output-every 5
    [ -f part_000010.hdf5 ] && [ -f part_000012.hdf5 ] && [ ! -f part_000011.hdf5 ] || fail "numbered snapshots: $(ls)"
    expect "$ranks" --restart part_000005.hdf5 --steps 12 --quiet --balance sfc --precision double --forces rest.hdf5
    "$same" whole.hdf5 rest.hdf5 0 || fail "a restart on $ranks ranks does not give the same bits"
    expect 2 --restart part_000005.hdf5 --steps 12 --quiet --balance count --precision double --forces other.hdf5
    "$same" whole.hdf5 other.hdf5 1e-9 || fail "a restart on other ranks gives another physics"
done

# The run resumes with the state of its balancer.
for way in 'sfc auto' 'sfc repair' 'sfc gain' 'sfc 3' 'auto auto' 'auto 2' 'interaction 4'; do
    same_schedule part_000003.hdf5 3 16 "$way" --generate disks:n=1000 --dt 0.3 --output part.hdf5 --output-every 3
done

# A live run locks its output names; other names in its folder are free.
"$APP" --generate disks:n=2000 --steps 100000000 --quiet --balance sfc --output held.hdf5 --forces held.forces \
    --report held-report >/dev/null 2>said &
pid=$!
for _ in $(seq 6000); do
    [ -s barneshut-restart.lock ] && break
    sleep 0.1
done
holder="in use by barneshut, process $pid on "
refused_by_all "^barneshut: --output: .*$holder" --generate plummer:n=300 --output ./held
refused "^barneshut: --forces: .*$holder" --generate plummer:n=300 --forces held.forces
refused_by_all "^barneshut: --report: .*$holder" --generate plummer:n=300 --report held-report --output other.hdf5
expect 1 --generate plummer:n=300 --steps 1 --quiet --output other.hdf5
# A signal ends a run, with a restart file.
sleep 1
kill -TERM "$pid"
wait "$pid"
status=$?
cp said err
[ "$status" -eq 143 ] || fail "status $status instead of 143 after SIGTERM -- $(cat err)"
[ "$(grep -c 'go on with --restart' err)" -eq 1 ] || fail "what to do next: $(cat err)"
[ -z "$(find . -name '*.lock' -o -name '*.part')" ] || fail "left of a run: $(find . -name '*.lock' -o -name '*.part')"
step=$(sed -n 's/.*stopped [a-z]* step \([0-9]*\);.*/\1/p' err)
expect 2 --restart barneshut-restart.hdf5 --steps "$((step + 2))" --report again
[ "$(python3 -c 'import json; print(json.load(open("again/report.json"))["steps"][0]["step"])')" = "$step" ] ||
    fail "the report of the continued run does not begin at step $step"

# A damaged file is refused: torn, mixed, or with zeros that were never replaced.
printf '%s\n' '3.5 10.25 1 2 0 0 0' '4.5 11.25 3 4 0 0 0' '5.5 12.25 5 6 0 0 0' >three.txt
expect 1 three.txt --steps 0 --quiet --output good.hdf5
expect 1 three.txt --steps 2 --quiet --output later.hdf5
python3 - <<'END' || fail "no damaged files can be made"
import struct

good, later = (open(name, "rb").read() for name in ("good.hdf5", "later.hdf5"))
assert good.count(struct.pack("<3d", 3.5, 4.5, 5.5)) == 1 and len(good) == len(later)
half = len(good) // 2
older = good.replace(b"checksum", b"checksun").replace(b"NumWords", b"NumWordz")
state = good.index(b"EQPAPP1") + 2000
zeros = older
for numbers in ("<3d", 3.5, 4.5, 5.5), ("<3q", 0, 1, 2), ("<9d", 10.25, 1, 2, 11.25, 3, 4, 12.25, 5, 6):
    assert zeros.count(struct.pack(*numbers)) == 1, numbers
    zeros = zeros.replace(struct.pack(*numbers), bytes(struct.calcsize(numbers[0])))
at = good.index(struct.pack("<d", 4.5))
for name, text in (("older", older), ("torn", good[:half] + bytes(len(good) - half)), ("mixed", good[:half] + later[half:]),
                   ("flipped", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]), ("state", good[:state] + bytes([good[state] ^ 64]) + good[state + 1:]), ("cut", good[:-100]), ("zeros", zeros)):
    open(name + ".hdf5", "wb").write(text)
END
expect 2 --restart good.hdf5 --steps 2 --quiet
expect 1 --restart older.hdf5 --steps 2 --quiet
refused_by_all 'flipped.hdf5: is damaged: its checksum is not that of its particles' --restart flipped.hdf5 --steps 2
refused_by_all 'state.hdf5: is damaged: what it says of the balance has another checksum' --restart state.hdf5 --steps 2
for name in torn mixed cut zeros; do
    refused "$name.hdf5" --restart "$name.hdf5" --steps 2
done
finish
