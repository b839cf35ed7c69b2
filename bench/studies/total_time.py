# SPDX-License-Identifier: BSD-3-Clause
"""Modelled time of a step by every method, against equal counts, the curve and ParaDiS' balancers: figure 4.6, and the
limit of strong scaling."""

import chart
import compared
import published
import study

NAME = "total_time"
TITLE = "Time of a step"

METHODS = ["count", "sfc", "tiles", "jagged", "auto"]
MORE = ["rcb", "interaction", *compared.OWN_METHODS]  # with networks
PARTS = [128, 512, 1024, 2048, 4096]
NETWORKS = {"network": [128, 1024, 4096], "network-small": [256, 512, 1024]}
FILES = {name: parts for name, (_, parts) in compared.FILES.items()}


def cases(run):
    found = []
    for seed in run.seeds:
        found += compared.gravity(run, seed, METHODS, PARTS)
        found += [compared.network(run, seed, name, METHODS + MORE, parts) for name, parts in NETWORKS.items()]
    return found + compared.files(run, run.seeds, METHODS + MORE, FILES)


def improvement(rows, method, over, **wanted):
    """In per cent, per seed."""
    return [100 * (1 - ratio) for ratio in compared.ratio(rows, method, [over], **wanted)]


AXIS = "improvement over equal counts [%]"


def gains(rows, method, color):
    """A method's improvement: median, least and largest of the seeds."""
    numbers = {p: improvement(rows, method, "count", parts=p) for p in study.distinct(rows, "parts", int)}
    return chart.series(method, [[p, study.median(gain), min(gain), max(gain)] for p, gain in numbers.items()], color)


def paper(figure, printed):
    return chart.series(figure, [[parts, 100 * gain] for parts, gain in printed.items()], 7, line=False)


def draw(run, rows):
    panels = []
    for name in study.distinct(rows, "set"):
        of_set = study.pick(rows, set=name)
        methods = [method for method in study.distinct(of_set, "method") if method != "count"]
        lines = [gains(of_set, method, color) for color, method in enumerate(methods)]
        lines += [paper("figure 4.6", published.improvements())] if name == "barneshut" else []
        panels.append(chart.panel(lines, "parts", AXIS, compared.plain(name), "x"))
    chart.draw(run, NAME, panels)


def chosen(rows, parts):
    """What auto took, with the size of groups with which its step was shortest, by how many seeds."""
    return compared.tally([row["chosen"] for row in compared.best_rows(rows, "auto", parts=parts)])


def milliseconds(rows, method, parts):
    return f"{1e3 * study.median(compared.least(rows, method=method, parts=parts)):.3g}"


def set_table(rows, figure="", printed=None):
    """A line for every number of parts. printed: {parts: improvement} that a figure has."""
    gravity = len(study.distinct(rows, "group")) > 1
    own = [method for method in compared.OWN_METHODS if study.pick(rows, method=method)]
    header = ["parts", "per part", "count, ms", "sfc, ms", "auto, ms", "over count, %", "over sfc, %"]
    header += ["over the better of sectioning and bisection, %"] if own else []
    header += ["groups: count; sfc; auto"] if gravity else []
    header += ["auto took (seeds)"] + ([f"figure {figure}, %"] if printed else [])
    lines = []
    for parts, each in compared.per_part(rows).items():
        line = [f"{parts:,}", f"{each:,.0f}" if each >= 10 else f"{each:.1f}", *(milliseconds(rows, method, parts) for method in ("count", "sfc", "auto"))]
        line += [study.spread(improvement(rows, "auto", over, parts=parts), "{:.1f}") for over in ("count", "sfc")]
        if own:
            gains = [100 * (1 - ratio) for ratio in compared.ratio(rows, "auto", own, parts=parts)]
            line.append(study.spread(gains, "{:.1f}"))
        if gravity:
            line.append("; ".join(compared.best_group(rows, m, parts=parts) for m in ("count", "sfc", "auto")))
        line.append(chosen(rows, parts))
        if printed:
            line.append(f"{100 * printed[parts]:.1f}" if parts in printed else "-")
        lines.append(line)
    return study.table(header, lines)


def methods_table(rows):
    """A network's step by every method that was tried, as a part of that by the curve: medians of the seeds."""
    methods = [method for method in study.distinct(rows, "method") if method != "sfc"]
    lines = [[f"{parts:,}", *(f"{study.median(compared.ratio(rows, method, ['sfc'], parts=parts)):.2f}" for method in methods)]
             for parts in study.distinct(rows, "parts", int)]
    return study.table(["parts", *methods], lines)


def section(rows):
    paper = {"barneshut": ("4.6", published.improvements())}
    tables = ""
    for name in study.distinct(rows, "set"):
        of_set = study.pick(rows, set=name)
        tables += f"{compared.title(name)}:\n\n{set_table(of_set, *paper.get(name, ()))}\n\n"
        if compared.is_network(name):
            tables += f"By each method, of that by `sfc`:\n\n{methods_table(of_set)}\n\n"
    groups = ", ".join(str(group) for group in study.distinct([r for r in rows if int(r["group"]) > 1], "group", int))
    return f"""What a step takes by the model of `--compare`: the slowest part's computing and sending, with the cheapest exchange plan
for every method alike. Gravity: {published.PARTICLES:,} particles. An owner is a group of targets that share a list; how many
particles a group has at most limits what `count` and `sfc` can do where parts are small, and what a step of any method
costs. So each was measured with groups of at most {groups} particles, and *every method has the size that is best for it*, for
each seed and number of parts; column *groups* tells which. {compared.measured_files(rows)} Seeds:
{len(study.distinct(rows, 'seed'))}; median, least and largest. Seconds follow from the costs that this machine has measured.

{tables.strip()}

![Improvement over equal counts](studies/{NAME}.svg)

The paper compares with equal counts, figure 4.6 by whole runs on a cluster: {100 * published.IMPROVEMENT['barneshut'][0]:.0f} to
{100 * published.IMPROVEMENT['barneshut'][1]:.0f} % better with Barnes-Hut."""
