# SPDX-License-Identifier: BSD-3-Clause
# --share: every method gives ranks that are declared three times as fast three times as much work, on four ranks and in
# what-ifs; measured speeds of equal ranks add up to the number of ranks. `tensor` makes slabs: no planes of a grid meet
# arbitrary shares. Arguments: an input, and `all` methods or `some`: the code for shares is the same for all apps.
source "$(dirname "$0")/../helpers/lib.sh"
input=$1
export methods='count sfc interaction auto' shares='measured equal'
if [ "$2" = all ]; then
    methods="$methods rcb tiles jagged tensor:x=4 sfc:split feedback diffusion voronoi"
    shares="$shares model model:akima model:constant"
fi

for method in $methods; do
    expect 4 --generate "$input" --steps 1 --rebalance 1 --balance "$method" --share speeds:1,3 --seed 3 --costs nominal --quiet \
        --report "speeds-$method"
done
for share in $shares; do
    expect 2 --generate "$input" --steps 3 --rebalance 1 --balance sfc --share "$share" --quiet --report "share-$share"
done
expect 2 --generate "$input" --compare count,sfc,rcb,tiles,sfc:split --parts 3,6 --share speeds:1,1,2 --costs nominal --quiet \
    --report compared
python3 - <<'PY' || fail "shares"
import csv, json, os
def rows(name):
    """Rows of the last step."""
    all_rows = list(csv.DictReader(open(f"{name}/loads.csv")))
    return [r for r in all_rows if r["step"] == all_rows[-1]["step"]]
for method in os.environ["methods"].split():
    last = rows(f"speeds-{method}")
    assert [float(r["speed"]) for r in last] == [0.5, 1.5, 0.5, 1.5], last
    # Work is predicted seconds times speed; `count` balances counts, not work.
    work = [float(r["predicted"]) * float(r["speed"]) for r in last]
    held = [int(r["particles"]) for r in last]
    parts = held if method == "count" else work
    share = [p / sum(parts) * 8 for p in parts]
    print(f"{method:12}", " ".join(f"{s:.3f}" for s in share), "of 1 3 1 3")
    assert all(abs(s / w - 1) < 0.15 for s, w in zip(share, (1, 3, 1, 3))), (method, share)
    report = json.load(open(f"speeds-{method}/report.json"))
    assert report["share"] == "speeds:1,3" and report["schedule"] == "none"
for share in os.environ["shares"].split():
    speeds = [float(r["speed"]) for r in rows(f"share-{share}")]
    print(f"{share:15}", speeds)
    assert abs(sum(speeds) - 2) < 1e-6 and min(speeds) > 0, (share, speeds)
    assert share != "equal" or speeds[0] == speeds[1], speeds # unlike.sh: slower ranks get less
for row in json.load(open("compared/report.json"))["compare"]:
    print(row["method"], row["parts"], f'{100 * row["imbalance"]:.2f} %')
    if row["method"] != "count":
        assert row["imbalance"] < 0.2, row
    assert row["step_seconds"] >= row["load_max"] > row["load_mean"] * 0.999
PY
[ "$2" = all ] || { finish && exit; }
refused_by_all 'speeds do not divide' --generate "$input" --share speeds:1,1,1,1,1,1,1
refused_by_all 'is no speed > 0' --generate "$input" --share speeds:1,-2
refused_by_all 'is not equal, speeds' --generate "$input" --share fast
refused_by_all 'nothing is measured' --generate "$input" --share measured --compare sfc --parts 2
refused_by_all 'do not divide 5 parts' --generate "$input" --share speeds:1,2 --compare sfc --parts 4,5
finish
