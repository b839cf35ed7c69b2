# SPDX-License-Identifier: BSD-3-Clause
"""Sizes of work units by strategy of sampling, at equal numbers of units: figures 4.4 and 4.7.

Takes some minutes."""
import functools
import math
import os
import tempfile

import chart
import published
import study

NAME = "unit_sizes"
TITLE = "Sizes of work units"

STRATEGIES = ["random", "particle", "adaptive", "stride"]
GRAVITY_RATES = [0.001, 0.002, 0.004]  # of figure 4.6; figure 4.4 does not say which it shows
THETA = 0.6
KINDS = {"barneshut": f"Barnes-Hut, θ = {THETA}", "cutoff": "within a cutoff", "network": "dislocation network"}


def network_rates():
    return sorted({rate for _, what, _, rate, _ in published.LARGEST_UNIT if what == "network"})


def listed(rates):
    return ",".join(f"{rate:g}" for rate in rates)


def measure_gravity(run, seed, kind, number):
    found = run.rows("bench/bench_unit_sizes", kind, run.stars(seed)[1], str(number), listed(GRAVITY_RATES), str(seed))
    return [{"seed": seed, **row} for row in found]


def measure_network(run, seed):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "network.data")
        run.call("apps/dislocation/dislocation", *run.lines(seed), "--steps", "0", "--balance", "none", "--quiet", "--output",
                 path)
        found = run.rows("bench/bench_unit_sizes", "network", path, str(published.PER_PARTICLE), listed(network_rates()),
                         str(seed))
        return [{"seed": seed, **row} for row in found]


def cases(run):
    gravity = [functools.partial(measure_gravity, run, seed, kind, number) for seed in run.seeds
               for kind, number in (("barneshut", THETA), ("cutoff", published.PER_PARTICLE))]
    return gravity + [functools.partial(measure_network, run, seed) for seed in run.seeds]


def shares(rows):
    """Per cent of the units in each bin of the histogram, all seeds together, with an empty bin at either end:
    [[middle of the bin, share], ...]. There are four bins per factor of two."""
    bins = {}
    for row in rows:
        for word in row["histogram"].split():
            start, units = word.split(":")
            bins[float(start)] = bins.get(float(start), 0) + int(units)
    total, numbers = sum(bins.values()), [round(4 * math.log2(start)) for start in bins]
    counts = dict(zip(numbers, bins.values()))
    return [[2 ** (n / 4 + 0.125), 100 * counts.get(n, 0) / total] for n in range(min(numbers) - 1, max(numbers) + 2)]


def largest_published(kind, strategy, rate):
    what = "network" if kind == "network" else "barneshut"
    return [(figure, size) for figure, of, how, at, size in published.LARGEST_UNIT
            if of == what and how == strategy and at in (None, rate)]


def panel(rows, kind, rate):
    """The histogram of each strategy, its largest unit as a dot on the axis, and the paper's as a dashed line."""
    lines = []
    for color, strategy in enumerate(STRATEGIES):
        chosen = study.pick(rows, kind=kind, strategy=strategy, rate=rate)
        lines.append(chart.series(strategy, shares(chosen), color))
        lines.append(chart.series(f"{strategy}, largest", [[study.median(study.values(chosen, "largest")), 0]], color, line=False))
        lines += [chart.series(f"{strategy}, largest of the paper", [[size, 0], [size, 20]], color, dash=True, mark=False)
                  for _, size in largest_published(kind, strategy, rate)]
    return chart.panel(lines, "interactions of a unit", "units per bin [%]", f"{KINDS[kind]}, {100 * rate:g} %", "x", 0)


def draw(run, rows):
    for name, panels in (("gravity", [("barneshut", GRAVITY_RATES[1]), ("cutoff", GRAVITY_RATES[1])]),
                         ("network", [("network", rate) for rate in network_rates()[-2:]])):
        chart.draw(run, f"{NAME}-{name}", [panel(rows, kind, rate) for kind, rate in panels])


def largest(rows, kind, strategy, rate):
    return study.values(study.pick(rows, kind=kind, strategy=strategy, rate=rate), "largest")


def measured_table(rows):
    lines = []
    for kind, title in KINDS.items():
        owners = study.values(study.pick(rows, kind=kind, strategy="none"), "largest")
        of_kind = [row for row in study.pick(rows, kind=kind) if row["strategy"] != "none"]
        for rate in study.distinct(of_kind, "rate", float):
            mean = study.median(study.values(study.pick(of_kind, rate=rate), "mean"))
            lines.append([title, f"{100 * rate:g} %", f"{mean:.0f}", study.spread(owners),
                          *(study.spread(largest(rows, kind, strategy, rate)) for strategy in STRATEGIES)])
    return study.table(["interactions", "rate", "mean unit", "largest list", *STRATEGIES], lines)


def nearest_rate(rate):
    return GRAVITY_RATES[1] if rate is None else rate


def published_table(rows):
    lines = []
    for figure, kind, strategy, rate, size in published.LARGEST_UNIT:
        here = [largest(rows, k, strategy, nearest_rate(rate)) for k in (("barneshut", "cutoff") if rate is None else
                                                                         (kind,))]
        of_mean = "-" if rate is None else f"{size * rate:.1f}"
        ours = [study.spread([n * nearest_rate(rate) for n in numbers], "{:.1f}") for numbers in here]
        lines.append([figure, strategy, "not told" if rate is None else f"{100 * rate:g} %", f"{size:,}", of_mean,
                      "; ".join(study.spread(numbers) for numbers in here), "; ".join(ours)])
    return study.table(["figure", "strategy", "rate", "largest", "of the mean", "largest here", "of the mean here"], lines)


def apart(rows):
    """The largest deviation of a number of units from the wanted one."""
    return max(abs(float(row["units"]) / float(row["wanted"]) - 1) for row in rows if row["strategy"] != "none")


def section(rows):
    rate = GRAVITY_RATES[1]
    seeds = len(study.distinct(rows, "seed"))
    owners = {kind: study.median(study.values(study.pick(rows, kind=kind, strategy="none"), "mean")) for kind in KINDS}
    nodes = study.median(study.values(study.pick(rows, kind="network", strategy="none"), "owners"))
    return f"""How evenly a strategy cuts interactions into work units shows in the largest one: the part that has it is no lighter.
Seeds: {seeds}, of the inputs and of the sampling; the median and, in brackets, the least and the largest of the seeds.
Every interaction weighs 1, owners are single particles or nodes, every strategy makes as many units (within {100 * apart(rows):.0f} %). Gravity:
`clusters`, {published.PARTICLES:,} particles (the paper's interact within a cutoff, section 5.2.3); {owners['barneshut']:,.0f} interactions per particle with the opening angle, and
{owners['cutoff']:,.0f} with a cutoff that is chosen for that number. Networks: {nodes:,.0f} nodes with {owners['network']:,.0f} pairs of
segments each. *Largest list*: of a single owner, which no method that assigns whole owners can divide.

{measured_table(rows)}

![Sizes of work units of gravity](studies/{NAME}-gravity.svg)

![Sizes of work units of networks](studies/{NAME}-network.svg)

Beside what {published.SOURCE} prints; figure 4.4 does not say its rate, so {100 * rate:g} % is set beside it, for
{KINDS['barneshut']}, and for particles {KINDS['cutoff']}:

{published_table(rows)}

The numbers are not the same ones: the paper's particles and network are not published;
how it draws random samples is not told, here every draw is independent of the others."""
