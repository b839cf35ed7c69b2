# SPDX-License-Identifier: BSD-3-Clause
"""What all studies share: programs of the build, seeds, CSV, plots by gnuplot, tables of the page.

A study is a module of its own with
    TITLE            of its section
    measure(run)     the rows, dictionaries with the same keys: what NAME.csv holds
    draw(run, rows)  the pictures, from what NAME.csv holds (all texts)
    section(rows)    its section of docs/studies.md, likewise
and a line in page.py. Nothing is on the page that is not in NAME.csv or published.py."""
import argparse
import csv
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import published

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "docs", "studies")

# Colours that the colour-blind tell apart (Okabe and Ito), as in the plots of the apps.
COLORS = ["#999999", "#d55e00", "#009e73", "#0072b2", "#e69f00", "#cc79a7", "#56b4e9", "#000000"]


class Missing(Exception):
    """Something that a study needs is not on this machine."""


class Run:
    """Where programs are, which seeds to take, where results go."""

    def __init__(self, arguments):
        self.build = os.path.abspath(arguments.build)
        self.seeds = arguments.seeds
        self.output = os.path.abspath(arguments.output)
        self.network = arguments.network

    def program(self, name):
        path = os.path.join(self.build, name)
        if not os.path.exists(path):
            raise Missing(f"{path} is not built")
        return path

    def call(self, name, *words, ranks=0):
        launch = ["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
        print("  " + " ".join([*launch, name, *words]), file=sys.stderr, flush=True)
        done = subprocess.run([*launch, self.program(name), *words], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"{name} {' '.join(words)} failed")
        return done.stdout

    def rows(self, name, *words):
        """The rows of a program that prints CSV."""
        return list(csv.DictReader(io.StringIO(self.call(name, *words))))

    def report(self, app, *words, ranks=0):
        """report.json of a run, and the folder's other files as CSV: {name: rows}."""
        with tempfile.TemporaryDirectory() as folder:
            self.call(f"apps/{app}/{app}", *words, "--quiet", "--report", folder, ranks=ranks)
            with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
                report = json.load(file)
            names = [name for name in os.listdir(folder) if name.endswith(".csv")]
            return report, {name[:-4]: read_csv(os.path.join(folder, name)) for name in names}

    def compare(self, app, words, methods, parts, ranks=0):
        """compare.csv of a what-if, every method at every number of parts, and how many interactions there are."""
        report, files = self.report(app, *words, "--compare", ",".join(methods), "--parts",
                                    ",".join(str(p) for p in parts), ranks=ranks)
        return [{"particles": report["particles"], "interactions": report["interactions"], **row}
                for row in files["compare"]]

    def methods(self, app, wanted):
        """Those of the methods that this build has."""
        listed = self.call(f"apps/{app}/{app}", "--balance", "help").split()
        return [method for method in wanted if method.split(":")[0] in listed]

    def stars(self, seed):
        """Words that make the particles of the studies of gravity."""
        return ["--generate", f"clusters:n={published.PARTICLES},seed={seed}"]

    def cutoff(self, seed):
        """The radius within which such a particle has as many others as in the paper, on average."""
        rows = self.rows("bench/bench_unit_sizes", "cutoff", self.stars(seed)[1], str(published.PER_PARTICLE))
        return rows[0]["cutoff"]

    def lines(self, seed, n=400):
        """Words that make a network, or read the one that was given."""
        return [self.network] if self.network else ["--generate", f"chains:n={n},seed={seed}"]


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_csv(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def pick(rows, **wanted):
    """The rows whose columns have these values; numbers are compared as numbers."""
    def same(cell, value):
        return cell == value if isinstance(value, str) else float(cell) == value
    return [row for row in rows if all(same(row[key], value) for key, value in wanted.items())]


def values(rows, key):
    return [float(row[key]) for row in rows]


def median(numbers):
    return statistics.median(numbers)


def spread(numbers, form="{:,.0f}"):
    """Median, least and largest."""
    return (f"{form.format(median(numbers))} ({form.format(min(numbers))} to {form.format(max(numbers))})"
            if numbers else "-")


def distinct(rows, key, kind=str):
    """The values of a column in the order in which they come."""
    return list(dict.fromkeys(kind(row[key]) for row in rows))


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


PLOT_HEAD = """set encoding utf8
set terminal pngcairo size {width},{height} font 'sans,15' linewidth 2 background rgb 'white'
set output '{file}'
set key noenhanced outside bottom center horizontal Left reverse samplen 3 width -1
set border 3 linecolor rgb '#404040'
set tics nomirror out
set grid ytics linetype 1 linewidth 0.5 linecolor rgb '#d0d0d0'
"""


def plot(run, name, script, data, width=1280, height=640):
    """Draws NAME.png. data: {block: [[cell, ...], ...]}, read in the script as $block."""
    if shutil.which("gnuplot") is None:
        raise Missing("gnuplot is not installed")
    blocks = "".join(f"${block} << END\n" + "".join(" ".join(str(c) for c in line) + "\n" for line in lines) + "END\n"
                     for block, lines in data.items())
    text = PLOT_HEAD.format(width=width, height=height, file=os.path.join(run.output, name + ".png")) + blocks + script
    done = subprocess.run(["gnuplot"], input=text, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"gnuplot: {done.stderr.strip()[:300]}")


def arguments_of(text, *more):
    """The options of every study. more: further positional arguments, as for add_argument."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build directory [build]")
    parser.add_argument("--seeds", default=[1, 2, 3, 4, 5], type=lambda s: [int(word) for word in s.split(",")],
                        help="of inputs and of sampling [1,2,3,4,5]")
    parser.add_argument("--network", help="a ParaDiS network instead of generated ones")
    parser.add_argument("--output", default=FOLDER, help="where CSV and pictures go [docs/studies]")
    for words, options in more:
        parser.add_argument(*words, **options)
    return parser.parse_args()


def carry_out(study, run):
    """Measures, writes NAME.csv and draws."""
    name = study.NAME
    print(study.TITLE, file=sys.stderr, flush=True)
    rows = study.measure(run)
    os.makedirs(run.output, exist_ok=True)
    path = os.path.join(run.output, name + ".csv")
    write_csv(path, rows)
    study.draw(run, read_csv(path))


def main(study):
    try:
        carry_out(study, Run(arguments_of(study.__doc__)))
    except Missing as reason:
        sys.exit(f"{study.NAME}: {reason}")
