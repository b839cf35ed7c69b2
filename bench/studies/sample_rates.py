# SPDX-License-Identifier: BSD-3-Clause
"""Imbalance against the number of parts for rates of sampling: figure 4.5b.

Every particle is an owner of its own, as in the paper."""
import functools

import chart
import published
import study

NAME = "sample_rates"
TITLE = "Rates of sampling"

PARTS = [8, 128, 2048]  # figure 4.5b goes from 8 to 2048
OWNERS = ["--group-size", "1", "--leaf-size", "4"]
SETS = {"barneshut": "Barnes-Hut", "cutoff": "within a cutoff"}


def rates():
    """Every other one of figure 4.6: of 0.1, 0.4 and 1.6 %."""
    return [rate for rate in published.TOTAL_SECONDS if rate is not None][::2]


def per_tile(run, words):
    """What the app's rate is to be for one unit per interaction: it samples tiles, which hold several interactions."""
    row = run.compare("barneshut", words, [f"interaction:rate={rates()[0]:g}"], PARTS[:1])[0]
    tiles = float(row["units"]) / float(row["sample_rate"])
    return float(row["interactions"]) / tiles


def measure(run, seed, name):
    words = run.stars(seed) + OWNERS + (["--cutoff", run.cutoff(seed)] if name == "cutoff" else [])
    factor = per_tile(run, words)
    methods = {f"interaction:rate={min(1, rate * factor):.9g}": f"{rate:g}" for rate in rates()}
    found = run.compare("barneshut", words, ["count", "sfc", *methods], PARTS)
    return [{"seed": seed, "set": name, "rate": methods.get(row["method"], ""), **row} for row in found]


def cases(run):
    return [functools.partial(measure, run, seed, name) for seed in run.seeds for name in SETS]


def kinds(rows):
    """(title, rows) of everything that is compared: the curve by counts and by work, then the rates."""
    yield from ((method, study.pick(rows, method=method)) for method in ("count", "sfc"))
    sampled = [row for row in rows if row["rate"]]
    for rate in study.distinct(sampled, "rate", float):
        yield f"{100 * rate:g} %", study.pick(sampled, rate=rate)


def numbers_of_parts(rows):
    return study.distinct(rows, "parts", int)


def percent(rows, parts):
    return [100 * value for value in study.values(study.pick(rows, parts=parts), "imbalance")]


def draw(run, rows):
    panels = []
    for name in study.distinct(rows, "set"):
        lines = [chart.series(title, [[p, max(study.median(percent(found, p)), 1e-3)] for p in numbers_of_parts(rows)], i)
                 for i, (title, found) in enumerate(kinds(study.pick(rows, set=name)))]
        panels.append(chart.panel(lines, "parts", "imbalance: max / mean - 1 [%]", SETS[name], "xy"))
    chart.draw(run, NAME, panels)


def shared(rows, parts):
    """Particles that several parts share and the imbalance, by set and rate: medians."""
    lines = []
    for name in study.distinct(rows, "set"):
        for title, found in list(kinds(study.pick(rows, set=name)))[2:]:
            at = study.pick(found, parts=parts)
            lines.append([SETS[name], title, f"{study.median(study.values(at, 'units')):,.0f}",
                          f"{study.median(study.values(at, 'split_owners')):,.0f}", study.spread(percent(at, parts), "{:.1f}")])
    return study.table(["set", "rate", "units", "particles shared", "imbalance, %"], lines)


def section(rows):
    tables, parts = [], numbers_of_parts(rows)
    for name in study.distinct(rows, "set"):
        lines = [[title, *(study.spread(percent(found, p), "{:.1f}") for p in parts)]
                 for title, found in kinds(study.pick(rows, set=name))]
        tables.append(f"{SETS[name]}:\n\n" + study.table(["imbalance, %", *(f"{p:,} parts" for p in parts)], lines))
    seeds = len(study.distinct(rows, "seed"))
    return f"""Imbalance of the modelled loads when work units are partitioned as a hypergraph, by units per interaction, beside equal
counts and the curve cut by work. {published.PARTICLES:,} particles, each an owner of its own, as in the paper. Seeds: {seeds};
median, least and largest. The paper finds that less than 1 % of all interactions is enough
for good parts and that more gains little (figure 4.5b); it does not have the curve cut by work, which samples nothing.

{chr(10).join(part + chr(10) for part in tables)}
The figure counts interactions; these loads are seconds, with what is done again: each part that shares a particle walks the
tree for it, and a walk serves one particle only. At {parts[-1]:,} parts:

{shared(rows, parts[-1])}

The apps do not sample so finely on their own: their owners are groups of up to 64 particles, and without `--sample-rate`
units are no finer than the wanted imbalance asks for.

![Imbalance by rate of sampling](studies/{NAME}.svg)"""
