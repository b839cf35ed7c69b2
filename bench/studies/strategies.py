# SPDX-License-Identifier: BSD-3-Clause
"""Imbalance by strategy of sampling, and seconds of sampling and of partitioning by its rate: figures 4.5a, 4.5c, 4.6a,
4.8a and 4.8b.

Every particle and every node is an owner of its own, as in the paper."""
import functools

import chart
import published
import sample_rates
import study

NAME = "strategies"
TITLE = "Strategies of sampling, and their seconds"

STRATEGIES = ["particle", "adaptive"]  # of figures 4.5a and 4.8a
PARTS = [8, 128]
COST_PARTS, COST_STRATEGY = 128, "adaptive"  # at which seconds are measured
RANKS = [1, 2]  # that share the work of figure 4.5c
SETS = {"barneshut": "Barnes-Hut", "network": "dislocation network"}
BUILT_IN = {"barneshut": ["count"], "network": ["sectioning", "bisection"]}
CURVE = "sfc:split"  # samples and assigns to nearest samples, and cuts the curve: all of `interaction` but its partitioner


def rates(name):
    """0.1 and 0.4 % of figure 4.6; 0.11, 0.17 and 0.6 % of figure 4.9."""
    if name == "barneshut":
        return sample_rates.rates()[:2]
    return [rate for rate in published.NETWORK_SECONDS if rate not in (None, 0.0012)]


def words_of(run, name, seed):
    """The app and its words."""
    if name == "barneshut":
        return "barneshut", run.stars(seed) + sample_rates.OWNERS + ["--seed", str(seed)]
    return "dislocation", run.lines(seed) + ["--seed", str(seed)]


def per_tile(run, app, words, rate):
    """What the app's rate is to be for one unit per interaction: it samples tiles, which hold several interactions."""
    row = run.compare(app, words, [f"interaction:rate={rate:g}"], PARTS[:1])[0]
    return float(row["interactions"]) * float(row["sample_rate"]) / float(row["units"])


def rows_of(run, app, words, methods, parts, ranks=1):
    """methods: {word: (method, strategy, rate)}. The rows of a comparison by so many ranks, with all three."""
    report, files = run.report(app, *words, "--compare", ",".join(methods), "--parts", ",".join(map(str, parts)),
                               ranks=ranks)
    found = []
    for row in files["compare"]:
        method, strategy, rate = methods[row["method"]]
        found.append({"what": method, "strategy": strategy, "rate": rate, "ranks": ranks,
                      "particles": report["particles"], **row})
    return found


def measure(run, seed, name):
    app, words = words_of(run, name, seed)
    factor = per_tile(run, app, words, rates(name)[0])
    tile_rate = {rate: f"{min(1, rate * factor):.9g}" for rate in rates(name)}
    plain = {word: (word, "", "") for word in [*BUILT_IN[name], "sfc"]}
    sampled = {f"interaction:strategy={strategy},rate={tile_rate[rate]}": ("interaction", strategy, f"{rate:g}")
               for strategy in STRATEGIES for rate in rates(name)}
    found = rows_of(run, app, words, {**plain, **sampled}, PARTS)
    for ranks in RANKS:
        for rate in rates(name):
            cost = {word: (word + " cost", COST_STRATEGY, f"{rate:g}") for word in ("interaction", CURVE)}
            sampling = ["--sample-strategy", COST_STRATEGY, "--sample-rate", tile_rate[rate]]
            found += rows_of(run, app, words + sampling, cost, [COST_PARTS], ranks)
    return [{"seed": seed, "set": name, **row} for row in found]


def cases(run):
    return [functools.partial(measure, run, seed, name) for seed in run.seeds for name in SETS]


def percent(rows):
    return [100 * value for value in study.values(rows, "imbalance")]


def built_in(rows, parts):
    """Per cent, by seed, of the better of the code's own balancers."""
    of = [study.pick(rows, what=what, parts=parts, ranks=1) for what in BUILT_IN[rows[0]["set"]]]
    return [min(one) for one in zip(*map(percent, of))]


def seconds(rows, ranks, rate):
    """CPU seconds, by seed, of all ranks together: of sampling with nearest samples, of the partitioner alone."""
    both, curve = (study.values(study.pick(rows, what=what + " cost", ranks=ranks, rate=rate), "balance_seconds")
                   for what in ("interaction", CURVE))
    return [ranks * s for s in curve], [ranks * max(b - s, 0) for b, s in zip(both, curve)]


def rates_of(rows):
    return study.distinct([row for row in rows if row["rate"]], "rate", float)


def draw(run, rows):
    panels, of_seconds = [], []
    for name in study.distinct(rows, "set"):
        of_set = study.pick(rows, set=name)
        rate = rates_of(of_set)[1]
        found = study.pick(of_set, what="interaction", rate=rate, ranks=1)
        lines = [chart.series(strategy, [[p, max(study.median(percent(study.pick(found, strategy=strategy, parts=p))), 1e-2)]
                                         for p in PARTS], color) for color, strategy in enumerate(STRATEGIES, 1)]
        lines.append(chart.series("own balancer", [[p, max(study.median(built_in(of_set, p)), 1e-2)] for p in PARTS]))
        panels.append(chart.panel(lines, "parts", "imbalance: max / mean - 1 [%]", f"{SETS[name]}, {100 * rate:g} %", "xy"))
        lines = [chart.series(f"{title}, {ranks} rank{'s' * (ranks > 1)}",
                              [[100 * rate, study.median(seconds(of_set, ranks, rate)[part])] for rate in rates_of(of_set)],
                              1 + part, dash=ranks > 1)
                 for ranks in RANKS for part, title in enumerate(("sampling, nearest sample", "partitioner"))]
        of_seconds.append(chart.panel(lines, "units per interaction [%]", "CPU seconds of all ranks",
                                      f"{SETS[name]}, {COST_PARTS} parts", "xy"))
    chart.draw(run, f"{NAME}-imbalance", panels)
    chart.draw(run, f"{NAME}-seconds", of_seconds)


def imbalances(rows):
    lines = []
    for rate in rates_of(rows):
        for strategy in STRATEGIES:
            found = study.pick(rows, what="interaction", strategy=strategy, rate=rate, ranks=1)
            lines.append([f"{100 * rate:g} %", strategy, f"{study.median(study.values(study.pick(found, parts=PARTS[0]), 'units')):,.0f}",
                          *(study.spread(percent(study.pick(found, parts=p)), "{:.1f}") for p in PARTS)])
    lines.append(["-", "own balancer", "-", *(study.spread(built_in(rows, p), "{:.1f}") for p in PARTS)])
    lines.append(["-", "`sfc`", "-", *(study.spread(percent(study.pick(rows, what="sfc", parts=p, ranks=1)), "{:.1f}")
                                       for p in PARTS)])
    return study.table(["rate", "strategy", "units", *(f"{p:,} parts, %" for p in PARTS)], lines)


def breakdown(rows):
    """Figure 4.8b's kind: the longest part's seconds by our maps over those by the own balancer, and what the map took."""
    lines, rate = [], rates_of(rows)[1]
    for p in PARTS:
        ours = study.pick(rows, what="interaction", strategy="adaptive", rate=rate, parts=p, ranks=1)
        own = [study.pick(rows, what=what, parts=p, ranks=1) for what in BUILT_IN[rows[0]["set"]]]
        best = [min(one) for one in zip(*(study.values(of, "load_max") for of in own))]
        loads = study.values(ours, "load_max")
        maps = study.values(ours, "balance_seconds")
        lines.append([f"{p:,}", study.spread([100 * a / b for a, b in zip(loads, best)], "{:.1f}"),
                      study.spread([a / b for a, b in zip(maps, best)], "{:.3g}")])
    return study.table(["parts", "computing, % of the own balancer's", "the map, in steps of the own balancer"], lines)


def costs(rows):
    lines = []
    for rate in rates_of(rows):
        parts = [seconds(rows, ranks, rate) for ranks in RANKS]
        lines.append([f"{100 * rate:g} %", *(study.spread(one, "{:.3g}") for of in parts for one in of)])
    header = [f"{what}, {ranks} rank{'s' * (ranks > 1)}" for ranks in RANKS for what in ("sampling", "partitioner")]
    return study.table(["rate", *header], lines)


def section(rows):
    text = f"""The imbalance of modelled loads by strategy (figures 4.5a and 4.8a), beside the code's own balancer (equal counts; the
better of `sectioning` and `bisection`) and the curve cut by work, which samples nothing. Every particle or node is an
owner of its own. Seeds: {len(study.distinct(rows, 'seed'))}; median, least and largest. *Sampling* is all that
`{CURVE}` takes with the same samples: survey, sampling, nearest samples, and the cut of the curve; *partitioner* is what
`interaction` takes beyond that. Both are the largest rank's CPU seconds times the ranks, with what a rank waits in MPI.
The paper's bars stay as high from 128 to 4,096 processes for sampling, and grow for the partitioner (figures 4.5c, 4.6a);
here are no more than {RANKS[-1]} cores.
"""
    for name in study.distinct(rows, "set"):
        of = study.pick(rows, set=name)
        text += f"""
### {SETS[name]}

{imbalances(of)}

CPU seconds of all ranks, {COST_PARTS} parts:

{costs(of)}

The cost broken down as in figure 4.8b, at {100 * rates_of(of)[1]:g} %:

{breakdown(of)}
"""
    return text + f"""
![Imbalance by strategy](studies/{NAME}-imbalance.svg)

![Seconds of sampling and of partitioning](studies/{NAME}-seconds.svg)"""
