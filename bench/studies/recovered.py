# SPDX-License-Identifier: BSD-3-Clause
"""How much of what imbalance costs equal counts is got back: the largest load of a part, and nothing beside it."""

import chart
import compared
import study

NAME = "recovered"
TITLE = "Imbalance recovered"

OTHERS = ["sfc", "sfc:split", "jagged", "tiles", "interaction"]
METHODS = ["count", *OTHERS]
GROUPS = [16, 128]  # small ones for evenness, large ones for speed
PARTS = [128, 1024, 4096]
NETWORKS = {"network": [128, 4096], "network-small": [128, 1024]}
FILES = {"Tantalum.data": [128], "Copper.data": [128, 512], "180chains_16.10e.data": [128, 1024]}
EVEN = ["--imbalance-tol", "0.001"]  # loads alone count


def cases(run):
    found = []
    for seed in run.seeds:
        found += compared.gravity(run, seed, METHODS, PARTS, *EVEN, groups=GROUPS)
        found += [compared.network(run, seed, name, METHODS, parts, *EVEN) for name, parts in NETWORKS.items()]
    return found + compared.files(run, run.seeds, METHODS, FILES, *EVEN)


def with_best(rows):
    """And the method with the smallest of the largest loads, as `best`, for each case and size of groups."""
    cases = {}
    for row in rows:
        cases.setdefault(tuple(row[key] for key in ("set", "seed", "parts", "group")), []).append(row)
    least = [min((row for row in case if row["method"] in OTHERS), key=lambda row: float(row["load_max"])) for case in cases.values()]
    return rows + [{**row, "method": "best", "chosen": row["method"]} for row in least]


def share(worst, ours, ideal):
    return (worst - ours) / (worst - ideal) if worst > ideal else 1.0


def of_best_sizes(rows, method, **wanted):
    """Every term with the groups that are best for it, the ideal too, in per cent per seed."""
    return [100 * share(*terms) for terms in zip(compared.least(rows, "load_max", method="count", **wanted),
                                                 compared.least(rows, "load_max", method=method, **wanted),
                                                 compared.least(rows, "load_mean", method="count", **wanted))]


def of_same_size(rows, method, **wanted):
    """All terms with the groups with which the method's largest load is smallest, in per cent per seed."""
    found = []
    for seed in study.distinct(rows, "seed", int):
        of = study.pick(rows, seed=seed, **wanted)
        ours = min(study.pick(of, method=method), key=lambda row: float(row["load_max"]))
        count = study.pick(of, method="count", group=int(ours["group"]))[0]
        found.append(100 * share(float(count["load_max"]), float(ours["load_max"]), float(count["load_mean"])))
    return found


def draw(run, rows):
    rows = with_best(rows)
    lines = []
    for color, name in enumerate(study.distinct(rows, "set"), 1):
        of_set = study.pick(rows, set=name)
        lines += [chart.series(f"{compared.plain(name)}, {method}", [[p, study.median(of_same_size(of_set, method, parts=p))]
                                                                     for p in study.distinct(of_set, "parts", int)],
                               color, dash=method == "sfc") for method in ("best", "sfc")]
    chart.draw(run, NAME, [chart.panel(lines, "parts", "imbalance recovered [%]", log="x")])


def sizes(rows):
    return [group for group in study.distinct(rows, "group", int) if group > 1]


def section(rows):
    rows = with_best(rows)
    lines = []
    for name in study.distinct(rows, "set"):
        of_set = study.pick(rows, set=name)
        for parts in study.distinct(of_set, "parts", int):
            lines.append([compared.title(name), f"{parts:,}",
                          *(study.spread(of_same_size(of_set, method, parts=parts), "{:.1f}") for method in ("sfc", "best")),
                          *(study.spread(of_best_sizes(of_set, method, parts=parts), "{:.1f}") for method in ("sfc", "best")),
                          "-" if compared.is_network(name) else compared.best_group(of_set, "best", "load_max", parts=parts),
                          compared.tally([row["chosen"] for row in
                                          compared.best_rows(of_set, "best", "load_max", parts=parts)])])
    groups = ", ".join(str(group) for group in sizes(rows))
    return f"""(T_count - T) / (T_count - T_ideal), where T is the largest load of a part, computing alone (`--imbalance-tol 0.001`), and
T_ideal the mean load of the parts. `auto` cannot be asked for that, as it goes by whole steps; *best* is the one of
{", ".join(f"`{word}`" for word in OTHERS)} with the smallest T. Gravity has groups of at most {groups} targets.
*Same groups*: all three with the groups with which the method's T is smallest. *Best groups*: each of the three with the groups that are best for it; what is lacking
there is imbalance and the price of other groups.
{compared.measured_files(rows)} Seeds: {len(study.distinct(rows, 'seed'))}; median, least and largest.

{study.table(["set", "parts", "sfc, same groups, %", "best, same groups, %", "sfc, best groups, %", "best, best groups, %",
              "groups of best", "best (seeds)"], lines)}

![Imbalance recovered](studies/{NAME}.svg)"""
