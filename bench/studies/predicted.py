# SPDX-License-Identifier: BSD-3-Clause
"""Predicted against measured steps: runs by several methods on 2 to 32 ranks, which share the cores of the machine."""
import functools
import os

import chart
import study

NAME = "predicted"
TITLE = "Predicted and measured steps"
ALONE = True

RANKS = [2, 4, 8, 16, 32]
STEPS = 16
FIRST = 4  # steps before: costs are not known yet
GOAL = (10, 5)  # per cent: must, aim

# Runs: program, words without a seed, methods. The files are public and lie next to the networks.
INPUTS = {
    "clusters": ("barneshut", "clusters:n=16384", None),
    "galaxy file": ("barneshut", None, os.path.join(os.pardir, "nbody", "g2_galaxy_littleendian.dat")),
    "chains": ("dislocation", "chains:n=60", None),
    "Tantalum.data": ("dislocation", None, "Tantalum.data"),
}
NOT = ["none"]  # keeps equal counts, as `count` does
GONE = ["scotch"]  # measured with version 0.1.0, the last one to have it
UNWEIGHED = ["count", "tensor", "voronoi", "sectioning", "bisection"]  # or bound to shapes that cannot be even


def words(run, name, seed):
    """How a program is told what to run; None where there is no such file."""
    _, recipe, file = INPUTS[name]
    if file is None:
        return ["--generate", f"{recipe},seed={seed}"]
    path = run.file(file)
    return path and [path]


def methods(run, app):
    """All that this build has, as its help lists them."""
    lines = run.call(f"apps/{app}/{app}", "--balance", "help").splitlines()[2:]
    return [line.split()[0] for line in lines if line.strip() and not line.startswith(" ") and line.split()[0] not in NOT]


def uneven(rows, step):
    """Of the ranks' busy seconds of a step: largest / mean - 1."""
    seconds = [float(row["busy_seconds"]) for row in rows if int(row["step"]) == step]
    return max(seconds) * len(seconds) / sum(seconds) - 1


def measure(run, name, method, ranks, seed):
    given = words(run, name, seed)
    if given is None:
        return []
    report, files = run.report(INPUTS[name][0], *given, "--steps", str(STEPS), "--rebalance", "4", "--balance", method,
                               "--seed", str(seed), ranks=ranks)
    rows = []
    for step in report["steps"]:
        if step["step"] >= FIRST and step["step_error"] is not None:
            rows.append({"input": name, "method": method, "ranks": ranks, "seed": seed, "step": step["step"],
                         "predicted": step["step_seconds_predicted"], "measured": step["step_seconds_measured"],
                         "forces": step["force_seconds_max"], "uneven": uneven(files["loads"], step["step"])})
    return rows


def cases(run):
    """Each method and number of ranks with a seed of its own, in turn: five seeds are five times as long."""
    found = []
    for name, (app, _, _) in INPUTS.items():
        for i, method in enumerate(methods(run, app)):
            for j, ranks in enumerate(RANKS):
                seed = run.seeds[(i + j) % len(run.seeds)]
                found.append(functools.partial(measure, run, name, method, ranks, seed))
    return found


def error(row):
    return 100 * (float(row["predicted"]) / float(row["measured"]) - 1)


def median_error(rows):
    return study.median([abs(error(row)) for row in rows])


def bias(rows):
    return study.median([error(row) for row in rows])


def spread(rows):
    """Median and lower quartile."""
    all_of_them = sorted(100 * float(row["uneven"]) for row in rows)
    return f"{study.median(all_of_them):.1f} ({all_of_them[len(all_of_them) // 4]:.1f})" if rows else "-"


def cell(rows):
    return f"{median_error(rows):.1f} ({bias(rows):+.1f})" if rows else "-"


def draw(run, rows):
    lines = [chart.series(name, [[1e3 * float(row["measured"]), 1e3 * float(row["predicted"])]
                                 for row in study.pick(rows, input=name)], color, line=False)
             for color, name in enumerate(study.distinct(rows, "input"), 1)]
    ends = [f([1e3 * value for value in study.values(rows, "measured")]) for f in (min, max)]
    lines.append(chart.series("alike", [[end, end] for end in ends], 7, mark=False))
    chart.draw(run, NAME, [chart.panel(lines, "measured, CPU ms of the busiest rank", "predicted [ms]", log="xy")])


def section(rows):
    ranks = study.distinct(rows, "ranks", int)
    by_input = [[name, *(cell(study.pick(rows, input=name, ranks=n)) for n in ranks), cell(study.pick(rows, input=name))]
                for name in study.distinct(rows, "input")]
    by_input.append(["all", *(cell(study.pick(rows, ranks=n)) for n in ranks), cell(rows)])
    by_method = [[f"`{method}`" + " (version 0.1.0)" * (method in GONE), *(cell(study.pick(rows, method=method, ranks=n)) for n in ranks),
                  cell(study.pick(rows, method=method))]
                 for method in study.distinct(rows, "method")]
    by_kind = [[kind, *(spread(study.pick(some, ranks=n)) for n in ranks)]
               for kind, some in (("of weighed work", [row for row in rows if row["method"] not in UNWEIGHED]),
                                  ("`sfc`", study.pick(rows, method="sfc")), ("`count`", study.pick(rows, method="count")))]
    whole = median_error(rows)
    reached = "the aim is reached" if whole <= GOAL[1] else "the must is reached" if whole <= GOAL[0] else "missed"
    beside = study.median([1 - float(row["forces"]) / float(row["measured"]) for row in rows])
    return f"""Of each step of a run its counts (interactions, elements, ghosts, bytes) and what earlier steps have cost say what it should take:
the busiest rank's CPU seconds in forces, and in all else that a step does (trees, packing, grafting, sums, motion), waiting
for others left out. {STEPS} steps with a map every 4, ranks on the cores of one machine, steps from {FIRST} on; seeds of inputs
and sampling change from run to run ({len(study.distinct(rows, 'seed'))} in all). Median error of a step in per cent, in brackets the median with its sign:

{study.table(["input", *(f"{n} ranks" for n in ranks), "all"], by_input)}

{study.table(["method", *(f"{n} ranks" for n in ranks), "all"], by_method)}

What is made even is the step: loads are forces and all else that a rank does. Measured unevenness of the ranks' seconds,
largest / mean - 1, median of steps in per cent, by the methods that weigh work (in brackets the quarter of the steps that is
evenest), and of equal counts:

{study.table(["maps", *(f"{n} ranks" for n in ranks)], by_kind)}

Goal: a median error of {GOAL[0]} %, aim {GOAL[1]} %: {whole:.1f} %, {reached}. Of a measured step {100 * beside:.0f} % are not forces (median).
Ranks that share cores disturb each other's caches, which costs are fitted with, and the busiest of many ranks takes longer
than the one that should be: by how much, earlier steps tell.

![Predicted beside measured steps](studies/{NAME}.svg)"""
