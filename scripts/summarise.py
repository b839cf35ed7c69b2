#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the runs below one folder: a table on stdout, and the same with more digits in FOLDER/summary.csv.

usage: summarise.py FOLDER

FOLDER/NAME/report.json is what `barneshut --report FOLDER/NAME`, or that of another app, wrote. Exit status 2 if there is no run, a report is
damaged, or summary.csv cannot be written.
"""
import argparse
import collections
import csv
import json
import os
import sys

import wholefile

FIRST = ["none", "count", "rcb", "sectioning", "bisection", "sfc", "interaction", "tiles", "jagged", "tensor", "feedback", "diffusion", "voronoi"]  # the usual order; other runs follow by name

Run = collections.namedtuple("Run", "name report")


class BadReport(Exception):
    """A report that is missing or does not hold what it must; the text says which file and what."""


def read_report(path):
    try:
        with open(path, encoding="utf-8") as f:
            report = json.load(f)
    except (OSError, ValueError) as error:
        raise BadReport(f"{path}: {error}") from error
    if not isinstance(report, dict) or report.get("schema") != 1:
        raise BadReport(f"{path}: not a report of schema 1")
    steps = report.get("steps")
    if not isinstance(steps, list) or not steps or not all(isinstance(step, dict) for step in steps):
        raise BadReport(f"{path}: holds no steps")
    return report


def read_runs(folder):
    try:
        names = [n for n in os.listdir(folder) if os.path.isfile(os.path.join(folder, n, "report.json"))]
    except OSError as error:
        raise BadReport(f"{folder}: {error.strerror}") from error
    if not names:
        raise BadReport(f"{folder}: no folder in it holds a report.json")
    names.sort(key=lambda n: (FIRST.index(n) if n in FIRST else len(FIRST), n))
    return [Run(n, read_report(os.path.join(folder, n, "report.json"))) for n in names]


def column(run, key):
    """The numbers of one key of the steps; steps without it (or with null) are left out."""
    values = [step.get(key) for step in run.report["steps"]]
    return [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]


def mean(values):
    return sum(values) / len(values) if values else None


def total(values):
    return sum(values) if values else None


def steps_of(run):
    """Number of steps; the entry of step 0 is the forces before the first one."""
    last = run.report["steps"][-1].get("step")
    return last if isinstance(last, int) else len(run.report["steps"])


def summary(run):
    """What the table and summary.csv say about one run, in the order of their columns; None where nothing is known."""
    return collections.OrderedDict(
        method=run.name,
        ranks=run.report.get("ranks"),
        particles=run.report.get("particles"),
        steps=steps_of(run),
        imbalance_predicted=mean(column(run, "imbalance_predicted")),
        imbalance_measured=mean(column(run, "imbalance_measured")),
        ghosts=mean(column(run, "ghosts_total")),
        force_seconds_max=total(column(run, "force_seconds_max")),
        force_seconds_mean=total(column(run, "force_seconds_mean")),
        balance_seconds=total(column(run, "balance_seconds")),
    )


TABLE = [  # two lines of heading, key, format; seconds of all steps
    ("", "method", "method", "{}"),
    ("imbalance", "predicted", "imbalance_predicted", "{:.2%}"),
    ("imbalance", "measured", "imbalance_measured", "{:.2%}"),
    ("ghosts", "per step", "ghosts", "{:,.0f}"),
    ("force [s]", "slowest", "force_seconds_max", "{:.3f}"),
    ("force [s]", "mean", "force_seconds_mean", "{:.3f}"),
    ("balance [s]", "slowest", "balance_seconds", "{:.3f}"),
]
NOTES = """imbalance and ghosts: mean of all steps; seconds: CPU seconds of a rank, sum of all steps
slowest: in each step the rank that takes longest; balance: weighing, assigning and moving, waiting included"""


def table(rows):
    """The table as lines of text."""
    cells = [[top for top, _, _, _ in TABLE], [below for _, below, _, _ in TABLE]]
    for row in rows:
        cells.append(["-" if row[key] is None else form.format(row[key]) for _, _, key, form in TABLE])
    widths = [max(len(line[i]) for line in cells) for i in range(len(TABLE))]
    lines = ["  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths))) for line in cells]
    lines.insert(2, "  ".join("-" * w for w in widths))
    return [line.rstrip() for line in lines]


def caption(runs):
    """What all the runs have in common, for the head of the table."""
    first = runs[0].report
    same = all(r.report.get(k) == first.get(k) for r in runs for k in ("app", "ranks", "particles"))
    steps = {steps_of(r) for r in runs}
    if not same or len(steps) != 1:
        return "runs of different sizes"
    what = "nodes" if first["app"] == "dislocation" else "particles"
    return f"{first['app']}, {first['particles']:,} {what}, {first['ranks']} ranks, {steps.pop()} steps"


def write_summary(path, rows):
    with wholefile.written(path) as f:
        writer = csv.DictWriter(f, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", help="where the folders of the runs are")
    options = parser.parse_args(arguments)
    try:
        runs = read_runs(options.folder)
    except BadReport as error:
        print(f"summarise: {error}", file=sys.stderr)
        return 2
    rows = [summary(run) for run in runs]
    path = os.path.join(options.folder, "summary.csv")
    try:
        write_summary(path, rows)
    except OSError as error:
        print(f"summarise: {path}: cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    print(caption(runs))
    print()
    for line in table(rows):
        print(line)
    print()
    print(NOTES)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
