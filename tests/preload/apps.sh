#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Both apps on 4 of 6 ranks write the same bytes as on 4, with a counting clock. Memory and date are excluded.
# usage: APP=equipoise-lazy apps.sh CLOCK BARNESHUT DISLOCATION
source "$(dirname "$0")/../helpers/lib.sh"
clock=$1 barneshut=$2 dislocation=$3

# twice PROGRAM ARG...: in the folders 4 and 6.
twice()
{
    local n launcher
    rm -rf 4 6
    for n in 4 6; do
        mkdir "$n"
        launcher=()
        [ "$n" -eq 4 ] || launcher=("$APP" -n 2)
        (cd "$n" && "${MPIEXEC:-mpirun}" -n "$n" env LD_PRELOAD="$clock" "${launcher[@]}" "$@" --seed 3 \
            --report report >out 2>err) || fail "$n ranks: $* -- $(cat "$n/err")"
        python3 - "$n/report/report.json" <<'EOT' || fail "$n ranks: $*: no report"
import base64, json, re, sys, zlib
report = json.load(open(sys.argv[1]))
assert report.pop("peak_bytes") and report.pop("date")
json.dump(report, open(sys.argv[1], "w"))
path = sys.argv[1].replace("report.json", "run.html")  # has the report in it
before, packed, after = re.split(r'(?<=id="data">)([^<]*)', open(path).read(), maxsplit=1)
data = zlib.decompress(base64.b64decode(packed)).decode("latin-1")
data, found = re.subn(r'"peak_bytes": ?\[[^]]*\]|"date": ?"[^"]*"', "", data)
assert found == 2
open(path, "w").write(before + data + after)
EOT
    done
    diff -r 4 6 >differences || fail "$*: $(cat differences)"
}

twice "$barneshut" --generate clusters:n=1500 --steps 2 --balance interaction --forces forces.hdf5
twice "$dislocation" --generate chains:n=4 --steps 2 --balance sfc --output network
finish
