#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Modelled time of a step by every method, against equal counts and against the curve: figures 4.6, 4.8 and 4.9.

Writes total_time.csv and total_time.png. page.py puts them on the page."""
import sys

import published
import study

NAME = "total_time"
TITLE = "Time of a step"

METHODS = ["count", "sfc", "rcb", "interaction", "tiles", "jagged", "auto"]
OWN_METHODS = ["sectioning", "bisection"]  # of the dislocation app: ParaDiS'
NETWORK_PARTS = [128, 256, 512, 1024, 2048, 4096]
TILES = "2,2,4"  # of a generated network, for 4e5 nodes or so
SETS = {"barneshut": "Barnes-Hut", "cutoff": "within a cutoff", "network": "dislocation network"}


def measure(run):
    rows = []
    for seed in run.seeds:
        methods = run.methods("barneshut", METHODS)
        for name, words in (("barneshut", []), ("cutoff", ["--cutoff", run.cutoff(seed)])):
            rows += [{"seed": seed, "set": name, **row} for row in
                     run.compare("barneshut", run.stars(seed) + words, methods, published.PROCESSES)]
        methods = run.methods("dislocation", METHODS + OWN_METHODS)
        rows += [{"seed": seed, "set": "network", **row} for row in
                 run.compare("dislocation", run.lines(seed) + ["--tile", TILES], methods, NETWORK_PARTS)]
    return rows


def per_seed(rows, what, **wanted):
    """One number per seed, in the order of the seeds."""
    return [what(row) for row in sorted(study.pick(rows, **wanted), key=lambda row: int(row["seed"]))]


def seconds(row):
    return float(row["step_seconds"])


def improvement(rows, method, over, **wanted):
    """1 - time / time of another method, per seed."""
    pairs = zip(per_seed(rows, seconds, method=method, **wanted), per_seed(rows, seconds, method=over, **wanted))
    return [1 - ours / theirs for ours, theirs in pairs]


def recovered(rows, method, **wanted):
    """How much of what imbalance costs equal counts a method gets back, in computation alone."""
    def computing(row):
        return float(row["load_max"])

    ideal = per_seed(rows, lambda row: float(row["load_mean"]), method="count", **wanted)
    worst, ours = (per_seed(rows, computing, method=name, **wanted) for name in ("count", method))
    return [(bad - own) / (bad - best) if bad > best else 1.0 for bad, own, best in zip(worst, ours, ideal)]


def best_of(rows, **wanted):
    """What a user would take: `auto` where it is there, else the best method by the median."""
    methods = study.distinct(study.pick(rows, **wanted), "method")
    if "auto" in methods:
        return "auto"
    return min(methods, key=lambda method: study.median(study.values(study.pick(rows, method=method, **wanted),
                                                                     "step_seconds")))


AXES = """set multiplot layout 1, 3
set logscale x 2
set xlabel "parts\\n "
set ylabel 'improvement over equal counts [%]'
"""


def draw(run, rows):
    data, script = {}, AXES
    for name in study.distinct(rows, "set"):
        of_set, lines = study.pick(rows, set=name), []
        parts = study.distinct(of_set, "parts", int)
        for color, method in zip(study.COLORS, [m for m in study.distinct(of_set, "method") if m != "count"]):
            block = name + "".join(c for c in method if c.isalnum())
            data[block] = []
            for p in parts:
                gain = [100 * g for g in improvement(of_set, method, "count", parts=p)]
                data[block].append([p, study.median(gain), min(gain), max(gain)])
            lines.append(f"${block} using 1:2:3:4 with yerrorlines pointtype 7 pointsize 0.6 linecolor rgb '{color}' "
                         f"title '{method}'")
        if name == "barneshut":
            data["paper"] = list(zip(published.PROCESSES, (100 * gain for gain in published.improvements())))
            lines.append("$paper using 1:2 with points pointtype 4 pointsize 1.4 linecolor rgb 'black' title 'figure 4.6'")
        script += f"set title '{SETS[name]}'\nset xrange [{parts[0] / 1.2}:{parts[-1] * 1.2}]\nplot " + ", \\\n    ".join(lines) + "\n"
    study.plot(run, NAME, script + "unset multiplot\n", data, width=1800, height=700)


def set_table(rows, name):
    lines = []
    for parts in study.distinct(rows, "parts", int):
        best = best_of(rows, parts=parts)
        ours = {method: study.median(study.values(study.pick(rows, method=method, parts=parts), "step_seconds"))
                for method in ("count", "sfc", best)}
        line = [f"{parts:,}", f"{1e3 * ours['count']:.3g}", f"{1e3 * ours['sfc']:.3g}", f"{1e3 * ours[best]:.3g} ({best})",
                study.spread([100 * gain for gain in improvement(rows, best, "count", parts=parts)], "{:.1f}"),
                study.spread([100 * gain for gain in improvement(rows, best, "sfc", parts=parts)], "{:.1f}"),
                study.spread([100 * share for share in recovered(rows, best, parts=parts)], "{:.1f}")]
        if name == "barneshut":
            line.append(f"{100 * published.improvements()[published.PROCESSES.index(parts)]:.1f}")
        lines.append(line)
    header = ["parts", "count, ms", "sfc, ms", "best, ms", "over count, %", "over sfc, %", "loss recovered, %"]
    return study.table(header + (["figure 4.6, %"] if name == "barneshut" else []), lines)


def share_of_curve(rows):
    """The curve's part of the best method's improvement over equal counts: median of sets and parts."""
    shares = []
    for name in study.distinct(rows, "set"):
        of_set = study.pick(rows, set=name)
        for parts in study.distinct(of_set, "parts", int):
            gain = [study.median(improvement(of_set, method, "count", parts=parts))
                    for method in ("sfc", best_of(of_set, parts=parts))]
            shares += [gain[0] / gain[1]] if gain[1] > 0 else []
    return study.median(shares or [1.0])


def section(rows):
    low, high = published.IMPROVEMENT["network"]
    tables = "\n\n".join(f"{SETS[name]}:\n\n{set_table(study.pick(rows, set=name), name)}"
                         for name in study.distinct(rows, "set"))
    return f"""What a step takes by the model of `--compare`: the slowest part's computing and sending, with the cheapest exchange plan
for every method alike. Gravity: {published.PARTICLES:,} particles. *Loss recovered*: of what imbalance costs equal counts
in computing, the share that the method gets back. Seeds: {len(study.distinct(rows, 'seed'))}; median, least and largest. Seconds follow from
the costs that this machine has measured, so they move from run to run; ratios hardly do.

{tables}

![Improvement over equal counts](studies/{NAME}.png)

The paper compares with equal counts, figure 4.6 by whole runs on a cluster: {100 * published.IMPROVEMENT['barneshut'][0]:.0f} to
{100 * published.IMPROVEMENT['barneshut'][1]:.0f} % better with Barnes-Hut, {100 * low:.0f} to {100 * high:.0f} % with a
network (figures 4.8 and 4.9). Of what the best method gains over equal counts here, the curve that is cut by work
instead of counts has {100 * share_of_curve(rows):.0f} % without sampling anything (median of all rows of the tables), so
the column that counts is the one beside it."""


if __name__ == "__main__":
    study.main(sys.modules[__name__])
