#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of a run: it is one file that loads nothing from elsewhere, --report writes the same one as equipoise-view,
# samples do not depend on the ranks, bytes in traffic.csv are the bytes sent, and damaged files are refused.
# usage: view.sh BARNESHUT DISLOCATION EQUIPOISE_VIEW
source "$(dirname "$0")/../helpers/lib.sh"
barneshut=$1 dislocation=$2 view=$3

APP=$barneshut
expect 3 --generate clusters:n=3000 --steps 4 --balance sfc --report three --quiet
expect 1 --generate clusters:n=3000 --steps 4 --balance sfc --report one --quiet
APP=$dislocation
expect 2 --generate chains:n=6 --steps 2 --balance sfc --report lines --quiet

APP=$view
expect 1 three lines -o both.html
expect 1 three -o three.html
cmp -s three.html three/run.html || fail "--report and equipoise-view differ"
for page in three.html both.html; do
    grep -q '^</html>$' $page || fail "$page: is cut"
    ! grep -Eq '(src|href) *= *"?(https?:|//)|@import|url\(|fetch\(|XMLHttpRequest|import\(' $page ||
        fail "$page: loads something"
    ! grep -q '@[A-Z]*@' $page || fail "$page: a piece of the template is left"
done

# The same particles are at the same places for any number of ranks; segments have two ends; only the ranks that compute
# them differ.
python3 - <<'PY' || fail "samples.bin"
import struct

def frames(path):
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"EQPSAMP1"
    ends, ranks = struct.unpack_from("=ii", data, 8)
    at, found = 16, []
    while at < len(data):
        step, n, *box = struct.unpack_from("=qq6d", data, at)
        rows = list(struct.iter_unpack(f"={1 + 3 * ends}H", data[at + 64:at + 64 + n * 2 * (1 + 3 * ends)]))
        assert len(rows) == n
        found.append((step, box, rows))
        at += 64 + n * 2 * (1 + 3 * ends)
    return ends, ranks, found

ends, ranks, three = frames("three/samples.bin")
assert (ends, ranks) == (1, 3) and [f[0] for f in three] == [0, 1, 2, 3, 4]
one = frames("one/samples.bin")[2]
for a, b in zip(one, three):
    assert len(a[2]) == len(b[2]) == 3000
    assert all(abs(x - y) <= 1e-9 * max(1, abs(x)) for x, y in zip(a[1], b[1]))
    for left, right in zip(sorted(r[1:] for r in a[2]), sorted(r[1:] for r in b[2])):
        assert all(abs(x - y) <= 1 for x, y in zip(left, right)), (left, right)
    assert {r[0] for r in a[2]} == {0} and {r[0] for r in b[2]} == {0, 1, 2}
ends, ranks, lines = frames("lines/samples.bin")
assert (ends, ranks, len(lines)) == (2, 2, 3) and all(len(f[2]) > 20 for f in lines)
PY

# Bytes from rank to rank do not exceed the bytes sent, and no rank sends to itself.
python3 - <<'PY' || fail "traffic.csv"
import csv, json
rows = [{k: int(v) for k, v in row.items()} for row in csv.DictReader(open("three/traffic.csv"))]
sent = sum(step["bytes_sent"] for step in json.load(open("three/report.json"))["steps"])
assert rows and all(r["from"] != r["to"] and 0 <= r["from"] < 3 and 0 <= r["to"] < 3 for r in rows)
assert 0.2 * sent < sum(r["bytes"] for r in rows) < 2 * sent, (sent, rows)
PY

# With many ranks and steps the page shows groups of ranks, each by its largest rank, and every k-th step.
mkdir many
awk 'BEGIN { printf "{\"schema\": 1, \"seed\": \"steps\", \"steps\": ["
             for (s = 0; s < 5000; s++) printf "%s\n {\"step\": %d, \"rebalanced\": %s, \"why\": \"[a], {\\\"%d\\\"\", \"ghosts_total\": %s}", \
                 s ? "," : "", s, s == 4321 ? "true" : "false", s, s % 5 ? s : "null"
             print "],\n\"compare\": [], \"ranks\": 300}" }' >many/report.json
awk 'BEGIN { print "step,rank,load,predicted,busy_seconds"
             for (s = 0; s < 1000; s++) for (r = 0; r < 300; r++) print s "," r "," r + 1 ",," r + 2 }' >many/loads.csv
expect 1 many -o many.html
python3 - <<'PY' || fail "many ranks or steps"
import base64, json, re, zlib
text = re.search(r'id="data">([^<]*)<', open("many.html", encoding="utf-8").read()).group(1)
data = zlib.decompress(base64.b64decode(text))
n = int.from_bytes(data[:4], "little")
run, rest = json.loads(data[4:4 + n])["runs"][0], data[4 + n:]
loads = run["loads"]
assert (loads["group"], loads["ranks"]) == (2, 150) and loads["steps"] * loads["ranks"] <= 65536
assert (loads["steps"] - 1) * loads["every"] < 1000 <= loads["steps"] * loads["every"]
cells = loads["ranks"] * loads["steps"]
force = [(rest[i] + 256 * rest[cells + i]) * loads["scale"][0] / 65535 for i in range(loads["ranks"])]
assert all(abs(f - 2 * (i + 1)) < 0.01 for i, f in enumerate(force)), force[:4]
steps, totals = run["report"]["steps"], run["report"]["totals"]
known = [s for s in range(5000) if s % 5]
assert (totals["steps"], totals["maps"], totals["every"]) == (5000, 1, 8)
assert totals["ghosts_total"] == {"sum": sum(known), "known": len(known)}
assert [s["step"] for s in steps] == [4321 if s == 4320 else s for s in range(0, 5000, 8)] + [4999]
assert all(s["why"] == f'[a], {{"{s["step"]}"' for s in steps) and run["report"]["seed"] == "steps"
PY

# The memory of a run with a table and --report does not grow with the number of steps. Not checked with a sanitizer, which keeps
# freed memory.
[ -n "${ASAN_OPTIONS-}" ] || python3 - "$barneshut" "$view" <<'PY' || fail "memory of many steps"
import os, subprocess, sys

def peak(*words):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, words
    return usage.ru_maxrss

def run(steps):
    words = ["--generate", "plummer:n=20", "--dt", "0.001", "--steps", str(steps), "--report"]
    return peak(sys.argv[1], *words, f"steps-{steps}"), peak(sys.argv[2], f"steps-{steps}", "-o", "steps.html")

few, many = run(1500), run(6000)
assert many[0] < few[0] + 3000 and many[1] < few[1] + 2000, (few, many)
PY

# A page is written into a pipe, through a link, and over an older page with restricted permissions.
"$view" three -o /dev/stdout | cmp -s - three.html && [ -L /dev/stdout ] || fail "a page in a pipe"
"$view" three -o /dev/stdout >out
cmp -s out three.html && [ -L /dev/stdout ] || fail "a page in standard output"
mkdir web
ln -s web/page.html latest.html
chmod 600 three.html
expect 1 three -o latest.html
expect 1 three -o three.html
[ -L latest.html ] && cmp -s web/page.html three.html && [ "$(stat -c %a three.html)" = 600 ] || fail "a page behind a link"

# Invalid input gives one line, status 2 and no page.
refused 'RUN is missing' -o page.html
refused 'FILE.html is missing' three
refused 'FILE.html is missing' three -o
refused 'no such option' --colour three -o page.html
refused 'nowhere/report.json: No such file' nowhere -o page.html
refused 'no/where.html' three -o no/where.html
# The page never overwrites a file of its run.
cp -r three kept
for file in report.json loads.csv traffic.csv samples.bin hindsight.csv; do
    refused 'the input would be overwritten' three -o three/$file
done
ln -s three/report.json page.link
refused 'the input would be overwritten' one three -o page.link
diff -r three kept || fail "a page has changed its run"
damage()
{
    local file=$1
    shift
    rm -rf bad
    cp -r three bad
    "$@" >bad/"$file"
}
# A pipe in place of any file does not block it.
for file in report.json loads.csv traffic.csv samples.bin hindsight.csv; do
    damage $file true
    rm bad/$file
    mkfifo bad/$file
    refused "bad/$file: is not a regular file" bad -o page.html
done
# Labels of any bytes.
expect 1 "$(printf '\377\302\233\342\200\256')=three" -o odd.html
damage report.json head -c 700 three/report.json
refused 'bad/report.json: line' bad -o page.html
damage report.json echo '[]'
refused "'schema' or 'steps' is missing" bad -o page.html
damage report.json sed '4,$s/"rebalanced": /&"/' three/report.json
refused 'bad/report.json: line 6: ' bad -o page.html
damage report.json sed 's/"command": /&:/' three/report.json
refused "bad/report.json: line $(grep -n '"command"' three/report.json | cut -d: -f1): " bad -o page.html
damage loads.csv head -n 1 three/loads.csv
refused 'bad/loads.csv: holds no loads' bad -o page.html
damage loads.csv awk 'BEGIN { FS = OFS = "," } NR > 1 { $16 = -1 } 1' three/loads.csv
refused 'bad/loads.csv: line 2: exchange_seconds' bad -o page.html
damage samples.bin head -c 1000 three/samples.bin
refused 'bad/samples.bin: .*too early' bad -o page.html
damage samples.bin cat lines/samples.bin
refused 'bad/samples.bin: is of another number of ranks' bad -o page.html
damage samples.bin echo EQPSAMP2
refused 'bad/samples.bin' bad -o page.html
damage hindsight.csv printf 'step,steps,seconds,best_seconds,map,best_map\n0,0,1,1,1,1\n'
refused 'bad/hindsight.csv: line 2' bad -o page.html
damage traffic.csv printf 'from,to,bytes\n0,3,5\n'
refused 'bad/traffic.csv: line 2' bad -o page.html
exit $((failures > 0))
