#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Imbalance against the number of parts for rates of sampling: figure 4.5b.

Writes sample_rates.csv and sample_rates.png. page.py puts them on the page. Every particle is an owner of its own, as in
the paper."""
import sys

import published
import study

NAME = "sample_rates"
TITLE = "Rates of sampling"

PARTS = [8, 32, 128, 512, 2048]  # figure 4.5b goes from 8 to 2048
OWNERS = ["--group-size", "1", "--leaf-size", "4"]
SETS = {"barneshut": "Barnes-Hut", "cutoff": "within a cutoff"}


def rates():
    return [rate for rate in published.TOTAL_SECONDS if rate is not None]


def per_tile(run, words):
    """What the app's rate is to be for one unit per interaction: it samples tiles, which hold several interactions."""
    row = run.compare("barneshut", words, [f"interaction:rate={rates()[0]:g}"], PARTS[:1])[0]
    tiles = float(row["units"]) / float(row["sample_rate"])
    return float(row["interactions"]) / tiles


def measure(run):
    rows = []
    for seed in run.seeds:
        for name, more in (("barneshut", []), ("cutoff", ["--cutoff", run.cutoff(seed)])):
            words = run.stars(seed) + OWNERS + more
            factor = per_tile(run, words)
            methods = {f"interaction:rate={min(1, rate * factor):.9g}": f"{rate:g}" for rate in rates()}
            found = run.compare("barneshut", words, ["count", "sfc", *methods], PARTS)
            rows += [{"seed": seed, "set": name, "rate": methods.get(row["method"], ""), **row} for row in found]
    return rows


def kinds(rows):
    """(title, rows) of everything that is compared: the curve by counts and by work, then the rates."""
    yield from ((method, study.pick(rows, method=method)) for method in ("count", "sfc"))
    for rate in rates():
        yield f"{100 * rate:g} %", [row for row in rows if row["rate"] and float(row["rate"]) == rate]


def percent(rows, parts):
    return [100 * value for value in study.values(study.pick(rows, parts=parts), "imbalance")]


def draw(run, rows):
    data, script = {}, """set multiplot layout 1, 2
set logscale x 2
set logscale y
set xlabel "parts\\n "
set ylabel 'imbalance: max / mean - 1 [%]'
"""
    for name in study.distinct(rows, "set"):
        lines = []
        for i, (title, found) in enumerate(kinds(study.pick(rows, set=name))):
            block = f"{name}{i}"
            data[block] = [[p, max(study.median(percent(found, p)), 1e-3)] for p in PARTS]
            lines.append(f"${block} using 1:2 with linespoints pointtype 7 pointsize 0.6 linecolor rgb "
                         f"'{study.COLORS[i % len(study.COLORS)]}' title '{title}'")
        script += f"set title '{SETS[name]}'\nplot " + ", \\\n    ".join(lines) + "\n"
    study.plot(run, NAME, script + "unset multiplot\n", data, width=1500)


def shared(rows):
    """Particles that several parts share and the imbalance, by set and rate, at the largest number of parts: medians."""
    lines = []
    for name in study.distinct(rows, "set"):
        for title, found in list(kinds(study.pick(rows, set=name)))[2:]:
            at = study.pick(found, parts=PARTS[-1])
            lines.append([SETS[name], title, f"{study.median(study.values(at, 'units')):,.0f}",
                          f"{study.median(study.values(at, 'split_owners')):,.0f}", study.spread(percent(at, PARTS[-1]), "{:.1f}")])
    return study.table(["set", "rate", "units", "particles shared", "imbalance, %"], lines)


def section(rows):
    tables = []
    for name in study.distinct(rows, "set"):
        lines = [[title, *(study.spread(percent(found, p), "{:.1f}") for p in PARTS)]
                 for title, found in kinds(study.pick(rows, set=name))]
        tables.append(f"{SETS[name]}:\n\n" + study.table(["imbalance, %", *(f"{p:,} parts" for p in PARTS)], lines))
    seeds = len(study.distinct(rows, "seed"))
    return f"""Imbalance of the modelled loads when work units are partitioned as a hypergraph, by units per interaction, beside equal
counts and the curve cut by work. {published.PARTICLES:,} particles, each an owner of its own, as in the paper. Seeds: {seeds};
median, least and largest. The paper finds that less than 1 % of all interactions is enough for good parts and that more
gains little (figure 4.5b); it does not have the curve cut by work, which samples nothing.

{chr(10).join(part + chr(10) for part in tables)}
That more units balance better is not reproduced here where parts are small. The figure counts interactions; these loads
are seconds, with what is done again: each part that shares a particle walks the tree for it, and with owners of a single
particle that can be as dear as its interactions. At {PARTS[-1]:,} parts:

{shared(rows)}

Finer units let the partitioner divide more particles, so that parts lose more by walking than they gain by evenness. The
apps do not do that on their own: their owners are groups of up to 64 particles, and without `--sample-rate` units are no
finer than the wanted imbalance asks for.

![Imbalance by rate of sampling](studies/{NAME}.png)"""


if __name__ == "__main__":
    study.main(sys.modules[__name__])
