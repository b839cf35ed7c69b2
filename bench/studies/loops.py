#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Loops handed out by every method, in virtual time, beside tables 4.4 and 4.7 of the thesis that schedule.h cites.

usage: bench/studies/loops.py [--build DIR] [--output DIR] [--page FILE] [--only-page]

Writes loops.csv and loops.svg, and the tables into docs/schedule.md, between its marks; with --only-page nothing is
measured. Costs are counts and the ranks are simulated: the numbers are the same anywhere."""
import functools
import os
import random
import re
import sys
import tempfile

import chart
import published_loops as published
import study

NAME = "loops"
SIZES = [3780, 7560, 15120]
PLACES = {"F": "front", "B": "back", "C": "centre", "S": "scatter"}
PARTICLES = [20, 50, 100]  # thousands
CLUMPS = {"u": "uniform", "c": "corner", "g": "gaussian"}
# Where tables 4.2 to 4.7 have their best: the largest sets were not run on fewer.
PROCS = {15120: [8, 16, 24, 32]}
MOST_PROCS = [2, 4, 8, 16, 32]
PLAIN = ["fixed", "guided", "factoring", "adaptive-factoring", "awf-b", "awf-c", "awf-d", "awf-e", "fractiling",
         "trapezoid"]
# Size of the first chunks and time steps, and the methods that these options are for.
WEIGHTED = ["weighted-factoring", "awf-b", "awf-c", "awf-d", "awf-e"]
FIRST = {f"1/{part}": part for part in (8, 16, 32)}  # first chunks that the user sets, as parts of a rank's
MORE = {
    **{name: (lambda n, procs, part=part: (max(1, n // (part * procs)), 1), WEIGHTED)
       for name, part in FIRST.items()},
    "steps": (lambda n, procs: (0, 2), ["adaptive-weighted-factoring"]),
}
# As the thesis has them: fixed chunks by eq. 2.1; where weights are measured the user finds a size for the first chunks.
BESIDE = {"FSC": ("fixed", [""]), "GSS": ("guided", [""]), "FACT": ("factoring", [""]),
          "AFACT": ("adaptive-factoring", [""]), "WFACT": ("weighted-factoring", list(FIRST)),
          "AWF": ("awf-b", list(FIRST))}


def outcomes(run, path, n, engine, options):
    """{method: (cost, c.o.v.)} of static chunking and all methods with these options, for each number of ranks."""
    words, methods = MORE.get(options, (lambda n, procs: (0, 1), PLAIN))
    found = {}
    for procs in PROCS.get(n, MOST_PROCS):
        chunk, steps = words(n, procs)
        for row in run.rows("bench/bench_loops", path, str(procs), engine, str(chunk), str(steps), "static", *methods):
            found.setdefault(row["method"], {})[procs] = (float(row["cost"]), float(row["cov"]))
    return found


def best(found, method):
    """Percent of cost less than that of static chunking, and the ranks where that is most."""
    return max((100 * (1 - found[method][procs][0] / found["static"][procs][0]), procs) for procs in found[method])


def rows_of(run, path, engine, **names):
    with open(path, encoding="utf-8") as file:
        n = len(file.read().split())
    rows = []
    for options in ["", *MORE]:
        found = outcomes(run, path, n, engine, options)
        for method in found:
            if method != "static":
                percent, procs = best(found, method)
                rows.append({**names, "iterations": n, "engine": engine, "options": options, "method": method,
                             "percent": f"{percent:.2f}", "procs": procs, "cov": f"{found[method][procs][1]:.4f}",
                             "static_cov": f"{found['static'][procs][1]:.4f}"})
    return rows


def integrals(run, size, place):
    """One sample of each set: what differs between them shows. Mixed: the hard sets one by one, anywhere."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "costs")
        lines = run.call("bench/bench_integrals", str(size), PLACES.get(place, "front")).splitlines(keepends=True)
        if place not in PLACES:
            random.Random(1).shuffle(lines)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)
        return [row for engine in ("master", "one-sided")
                for row in rows_of(run, path, engine, set=f"{size}-{place}", what="sets")]


def particles(run, clump, thousands, what):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "costs")
        with open(path, "w", encoding="utf-8") as file:
            file.write(run.call("bench/bench_loop_cells", CLUMPS[clump], str(1000 * thousands), what))
        return rows_of(run, path, "master", set=f"{clump}{thousands}k", what=what)


def cases(run):
    return ([functools.partial(integrals, run, size, place) for size in SIZES for place in [*PLACES, "mixed"]] +
            [functools.partial(particles, run, clump, thousands, what) for what in ("pairs", "cells", "groups")
             for clump in CLUMPS for thousands in PARTICLES])


def best_of(rows, method, options):
    return max((row for row in study.pick(rows, method=method) if row["options"] in options),
               key=lambda row: float(row["percent"]))


def cell(rows, method, options):
    row = best_of(rows, method, options)
    first = f", {row['options']}" if row["options"] in FIRST else ""
    return f"{float(row['percent']):.1f} ({row['procs']}{first})"


def beside(rows, text):
    """Ours and theirs, a line for each set of theirs."""
    lines = []
    for name, theirs in published.table(text).items():
        ours = study.pick(rows, set=name)
        if ours:
            lines.append([name, *(f"{cell(ours, *BESIDE[column])} / {percent:.1f} ({procs})"
                                  for column, (percent, procs) in theirs.items())])
    return study.table(["ours / thesis", *published.METHODS], lines)


def others(rows, columns):
    return study.table(["", *(title for title, _, _ in columns)],
                       [[name, *(cell(study.pick(rows, set=name), method, options) for _, method, options in columns)]
                        for name in study.distinct(rows, "set")])


def in_cells(rows):
    lines = []
    for name in study.distinct(rows, "set"):
        kinds = [study.pick(rows, set=name, what=what) for what in ("cells", "groups")]
        lines.append([name, *(" / ".join(cell(kind, *BESIDE[column]) for kind in kinds) for column in BESIDE)])
    return study.table(["cells / groups", *published.METHODS], lines)


def tables(rows):
    """What stands between the marks of the page, by the name of the mark."""
    sets = study.pick(rows, what="sets")
    scattered = [row for row in sets if not row["set"].endswith("mixed")]
    ours = study.pick(scattered, engine="master")
    largest = [row for row in scattered if row["set"].startswith(str(SIZES[-1]))]
    return {
        "quadrature": beside(ours, published.QUADRATURE),
        "others": others(study.pick(largest, engine="master"), [
            *((f"`{method}`", method, [""]) for method in ("awf-b", "awf-c", "awf-d", "awf-e")),
            *((f"`{method} --chunk`", method, list(FIRST)) for method in ("awf-c", "awf-d", "awf-e")),
            ("`adaptive-weighted-factoring`, second step", "adaptive-weighted-factoring", ["steps"]),
            ("`fractiling`", "fractiling", [""]), ("`trapezoid`", "trapezoid", [""])]),
        "one-sided": beside(study.pick(largest, engine="one-sided"), published.QUADRATURE),
        "nbody": beside(study.pick(rows, what="pairs"), published.NBODY),
        "cells": in_cells([row for row in rows if row["what"] in ("cells", "groups") and row["set"][1:] == f"{PARTICLES[-1]}k"]),
    }


def write_page(path, rows):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, made in tables(rows).items():
        text, times = re.subn(rf"(<!-- {name}: bench/studies/loops.py -->\n).*?(<!-- end -->)",
                              lambda found, made=made: found[1] + "\n" + made + "\n\n" + found[2], text, flags=re.S)
        if times != 1:
            raise study.Missing(f"{path}: no mark of the table {name}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def draw(run, rows):
    groups = [("Sets of integrals", study.pick(rows, what="sets", engine="master"), published.QUADRATURE,
               ["15120-F", "15120-B", "15120-C", "15120-S"]),
              ("Particles, pairs in cells", study.pick(rows, what="pairs"), published.NBODY, ["u100k", "c100k", "g100k"])]
    panels = []
    for title, some, text, names in groups:
        theirs = published.table(text)
        for column in published.METHODS:
            ours = [best_of(study.pick(some, set=name), *BESIDE[column])["percent"] for name in names]
            lines = [chart.series("here", enumerate(ours), 3, line=False),
                     chart.series("thesis", enumerate(theirs[name][column][0] for name in names), 4, line=False)]
            panels.append(chart.panel(lines, "", f"{title}, percent", f"{column}: {BESIDE[column][0]}", start=0, names=names))
    chart.draw(run, NAME, panels)


def main():
    arguments = study.arguments_of(
        __doc__, (["--page"], {"default": os.path.join(study.ROOT, "docs", "schedule.md"), "help": "[docs/schedule.md]"}),
        (["--only-page"], {"action": "store_true", "help": "measure nothing"}))
    run = study.Run(arguments)
    if not arguments.only_page and not study.carry_out([sys.modules[__name__]], run):
        sys.exit(1)
    try:
        write_page(arguments.page, study.read_csv(os.path.join(run.output, NAME + ".csv")))
    except study.Missing as reason:
        sys.exit(f"{NAME}: {reason}")


if __name__ == "__main__":
    main()
