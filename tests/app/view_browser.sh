#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of two runs and the page of a comparison, in headless Chromium if it is installed.
# usage: view_browser.sh BARNESHUT DISLOCATION EQUIPOISE_VIEW
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../helpers/lib.sh"
barneshut=$1 dislocation=$2 view=$3
driver=$(command -v chromedriver) && browser=$(command -v chromium) || {
    echo "skipped: chromium and chromedriver are not installed"
    exit 77
}
export HOME=$work # its profile

APP=$barneshut
expect 3 --generate clusters:n=3000 --steps 12 --balance sfc --report three --quiet
expect 2 --generate clusters:n=2000 --compare sfc,rcb,interaction --parts 4,16 --report compared --quiet
APP=$dislocation
expect 2 --generate chains:n=6 --steps 4 --balance sfc --report lines --quiet
"$view" three lines -o both.html || fail "equipoise-view"
python3 "$here/view_browser.py" "$driver" "$browser" both.html three lines || fail "the page of two runs"

# A comparison shows its rows and names the best method.
python3 - "$here" "$driver" "$browser" <<'PY' || fail "the page of a comparison"
import json, sys
sys.path.insert(0, sys.argv[1])
from view_browser import Browser
rows = json.load(open("compared/report.json"))["compare"]
browser = Browser(sys.argv[2], sys.argv[3])
try:
    browser.open("compared/run.html")
    cells = browser.run("""return [...document.querySelectorAll('#compare-table tbody tr')].map(
        r => [...r.cells].filter(c => c.dataset.key).map(c => [c.dataset.key, Number(c.dataset.value)]))""")
    known = [[row[key] for key, _ in cell] for row, cell in zip(rows, cells)]
    assert known == [[v for _, v in cell] for cell in cells], (known, cells)
    assert len(cells) == len(rows) == 6, (len(cells), len(rows))
    why = browser.run("return [...document.querySelectorAll('#why p')].map(p => p.textContent)")
    for parts, sentence in zip([4, 16], why):
        best = min((row for row in rows if row["parts"] == parts), key=lambda row: row["step_seconds"])
        assert sentence.startswith(f"At {parts} parts {best['method']} has the shortest step"), (sentence, best)
    assert browser.run("return document.querySelectorAll('#compare svg').length") == 3
    errors = browser.errors()
    assert not errors, errors
finally:
    browser.close()
PY
exit $((failures > 0))
