#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the runs below one folder: a table on stdout, summary.csv, and two plots as PNG and SVG.

usage: summarise.py [--no-plots] FOLDER

FOLDER/NAME/report.json and FOLDER/NAME/loads.csv are what `barneshut --report FOLDER/NAME` wrote. Everything that is
written goes into FOLDER: summary.csv, load-per-rank.{csv,gp,png,svg}, imbalance.{csv,gp,png,svg}. The plots are drawn
by gnuplot from these CSV files with these scripts, so they can be drawn again in another manner; without gnuplot there
are none. Exit status 2 if there is no run or a report is damaged.
"""
import argparse
import collections
import csv
import json
import os
import shutil
import subprocess
import sys

FIRST = ["none", "count", "rcb", "sfc", "interaction"]  # the usual order; other runs follow by name
# Okabe and Ito's colours, for every eye. A method keeps its colour whatever it is compared with.
COLOURS = {"count": "#d55e00", "sfc": "#0072b2", "interaction": "#009e73", "rcb": "#cc79a7", "none": "#000000"}
MORE_COLOURS = ["#e69f00", "#56b4e9", "#f0e442"]
MOST_BARS = 64

# force_per_rank: [ranks] CPU seconds in force of each rank, sum of all steps.
Run = collections.namedtuple("Run", "name report force_per_rank")


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


def read_force_per_rank(path):
    sums = {}
    try:
        with open(path, encoding="utf-8", newline="") as f:
            for row in csv.DictReader(f):
                rank = int(row["rank"])
                sums[rank] = sums.get(rank, 0.0) + float(row["force_seconds"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise BadReport(f"{path}: {error!r}") from error
    if not sums or sorted(sums) != list(range(len(sums))):
        raise BadReport(f"{path}: ranks are missing")
    return [sums[rank] for rank in range(len(sums))]


def read_run(name, folder):
    report = read_report(os.path.join(folder, "report.json"))
    return Run(name, report, read_force_per_rank(os.path.join(folder, "loads.csv")))


def read_runs(folder):
    try:
        names = [n for n in os.listdir(folder) if os.path.isfile(os.path.join(folder, n, "report.json"))]
    except OSError as error:
        raise BadReport(f"{folder}: {error.strerror}") from error
    if not names:
        raise BadReport(f"{folder}: no folder in it holds a report.json")
    names.sort(key=lambda n: (FIRST.index(n) if n in FIRST else len(FIRST), n))
    return [read_run(n, os.path.join(folder, n)) for n in names]


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
    force, exchange, balance = (
        total(column(run, key)) for key in ("force_seconds_max", "exchange_seconds_max", "balance_seconds")
    )
    return collections.OrderedDict(
        method=run.name,
        ranks=run.report.get("ranks"),
        particles=run.report.get("particles"),
        steps=steps_of(run),
        imbalance_predicted=mean(column(run, "imbalance_predicted")),
        imbalance_measured=mean(column(run, "imbalance_measured")),
        ghosts=mean(column(run, "ghosts_total")),
        force_seconds_max=force,
        force_seconds_mean=total(column(run, "force_seconds_mean")),
        exchange_seconds_max=exchange,
        balance_seconds=balance,
        all_seconds=None if None in (force, exchange, balance) else force + exchange + balance,
    )


TABLE = [  # two lines of heading, key, format; seconds of all steps
    ("", "method", "method", "{}"),
    ("imbalance", "predicted", "imbalance_predicted", "{:.2%}"),
    ("imbalance", "measured", "imbalance_measured", "{:.2%}"),
    ("ghosts", "per step", "ghosts", "{:,.0f}"),
    ("force [s]", "slowest", "force_seconds_max", "{:.3f}"),
    ("force [s]", "mean", "force_seconds_mean", "{:.3f}"),
    ("exchange [s]", "slowest", "exchange_seconds_max", "{:.3f}"),
    ("balance [s]", "slowest", "balance_seconds", "{:.3f}"),
    ("all three [s]", "slowest", "all_seconds", "{:.3f}"),
]
NOTES = """imbalance and ghosts: mean of all steps; seconds: CPU seconds of a rank, sum of all steps
slowest: in each step the rank that takes longest; exchange: sending and awaiting groups, trees, forces"""


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
    """What all the runs have in common, for the head of table and plots."""
    first = runs[0].report
    same = all(r.report.get(k) == first.get(k) for r in runs for k in ("app", "ranks", "particles"))
    steps = {steps_of(r) for r in runs}
    if not same or len(steps) != 1:
        return "runs of different sizes"
    return f"{first['app']}, {first['particles']:,} particles, {first['ranks']} ranks, {steps.pop()} steps"


def write_csv(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(["" if v is None else v for v in row] for row in rows)


def write_tables(folder, runs, rows):
    write_csv(os.path.join(folder, "summary.csv"), list(rows[0]), [list(row.values()) for row in rows])

    forces = [run.force_per_rank for run in runs]
    ranks = max(len(force) for force in forces)
    header = ["rank"] + [r.name for r in runs]
    lines = [[k] + [force[k] if k < len(force) else None for force in forces] for k in range(ranks)]
    write_csv(os.path.join(folder, "load-per-rank.csv"), header, lines)

    header, series = ["step"], []
    for run in runs:
        for kind in ("measured", "predicted"):
            header.append(f"{run.name} {kind}")
            series.append({s.get("step"): s.get(f"imbalance_{kind}") for s in run.report["steps"]})
    steps = sorted({step for s in series for step in s})
    write_csv(os.path.join(folder, "imbalance.csv"), header, [[step] + [s.get(step) for s in series] for step in steps])


PREAMBLE = """# Draws {name}.png and {name}.svg from {name}.csv: gnuplot {name}.gp
set datafile separator ","
set datafile missing ""
set title {title} noenhanced
set grid ytics lc rgb "#d0d0d0" lw 1 lt 1
set border 3 lc rgb "#404040"
set tics nomirror out
set key outside top center horizontal noenhanced
set encoding utf8
"""
DRAW = """
do for [form in "png svg"] {{
    if (form eq "png") {{ set terminal pngcairo size 1280,800 font "sans,17" lw 2 background rgb "white" }}
    if (form eq "svg") {{ set terminal svg size 960,600 font "sans,14" lw 1.5 background rgb "white" }}
    set output "{name}." . form
    {plot}
    unset output
}}
"""


def colour(run, number):
    return COLOURS.get(run.name, MORE_COLOURS[number % len(MORE_COLOURS)])


def quoted(text):
    """A gnuplot string in single quotes: nothing in it means anything but itself."""
    return "'" + text.replace("'", "''") + "'"


def script(name, title, style, plot):
    return PREAMBLE.format(name=name, title=quoted(title)) + style + DRAW.format(name=name, plot=plot)


def load_script(runs, title):
    name, ranks = "load-per-rank", max(len(run.force_per_rank) for run in runs)
    style = 'set xlabel "rank"\nset ylabel "CPU time in force, all steps [s]"\nset yrange [0:*]\n'
    series = []
    if ranks * len(runs) <= MOST_BARS:
        style += "set style data histogram\nset style histogram clustered gap 1.5\nset style fill solid 0.9 noborder\n"
        for i, run in enumerate(runs):
            tics = ":xtic(1)" if i == 0 else ""
            series.append(f'"{name}.csv" skip 1 using {i + 2}{tics} lc rgb "{colour(run, i)}" title {quoted(run.name)}')
    else:
        style += f"set xrange [0:{ranks - 1}]\n"
        for i, run in enumerate(runs):
            look = f'with lines lw 1 lc rgb "{colour(run, i)}"'
            series.append(f'"{name}.csv" skip 1 using 1:{i + 2} {look} title {quoted(run.name)}')
    average = mean([second for run in runs for second in run.force_per_rank])
    series.append(f'{average:.9g} with lines lw 1 dt (8, 6) lc rgb "#202020" title "mean of all"')
    plot = "plot " + ", \\\n        ".join(series)
    return script(name, "Load per rank: " + title, style, plot)


def imbalance_script(runs, title):
    name = "imbalance"
    seen = [v for run in runs for k in ("measured", "predicted") for v in column(run, "imbalance_" + k) if v > 0]
    style = 'set xlabel "step"\nset ylabel "imbalance: max / mean − 1 [%]"\n'
    if seen and max(seen) > 10 * min(seen):
        style += 'set logscale y\nset format y "%g"\n'
    else:
        style += "set yrange [0:*]\n"
    series = []
    for i, run in enumerate(runs):
        for j, look in enumerate(("linespoints lw 1.5 pt 7 ps 0.6 dt 1", "lines lw 1 dt (8, 6)")):
            kind = ("measured", "predicted")[j]
            if not column(run, "imbalance_" + kind):
                continue
            number = 2 + 2 * i + j
            series.append(
                f'"{name}.csv" skip 1 using 1:(100 * column({number})) with {look} lc rgb "{colour(run, i)}" '
                f"title {quoted(run.name + ' ' + kind)}"
            )
    plot = "plot " + ", \\\n        ".join(series)
    return script(name, "Imbalance: " + title, style, plot)


def draw(folder, runs, title):
    """Draws both plots; says in one line why, if it cannot."""
    gnuplot = shutil.which("gnuplot")
    for name, make in (("load-per-rank", load_script), ("imbalance", imbalance_script)):
        with open(os.path.join(folder, name + ".gp"), "w", encoding="utf-8") as f:
            f.write(make(runs, title))
        if gnuplot is None:
            continue
        done = subprocess.run([gnuplot, name + ".gp"], cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            said = " ".join(done.stderr.split())
            print(f"summarise: gnuplot failed on {os.path.join(folder, name)}.gp: {said}", file=sys.stderr)
    if gnuplot is None:
        print("summarise: no gnuplot, no plots", file=sys.stderr)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", help="where the folders of the runs are")
    parser.add_argument("--no-plots", action="store_true", help="table and CSV files only")
    options = parser.parse_args(arguments)
    try:
        runs = read_runs(options.folder)
    except BadReport as error:
        print(f"summarise: {error}", file=sys.stderr)
        return 2
    rows, title = [summary(run) for run in runs], caption(runs)
    write_tables(options.folder, runs, rows)
    print(title)
    print()
    for line in table(rows):
        print(line)
    print()
    print(NOTES)
    if not options.no_plots:
        draw(options.folder, runs, title)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
