# SPDX-License-Identifier: BSD-3-Clause
"""What all studies share: programs of the build, seeds, CSV, pictures, tables of the page.

A study is a module of its own with
    NAME, TITLE      of its files and its section
    cases(run)       functions without arguments, each of which measures some rows: dictionaries with the same keys. What
                     NAME.csv holds are those of all cases in order
    draw(run, rows)  (optional) the pictures, from what NAME.csv holds (all texts)
    section(rows)    its section of docs/studies.md, likewise
    ALONE            (optional) true where nothing else may run meanwhile: it measures times of this machine
and a line in page.py. Nothing is on the page that is not in NAME.csv or published.py."""
import argparse
import concurrent.futures
import csv
import functools
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading

import published

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "docs", "studies")

# mpirun with the settings for one machine.
LAUNCH = ["sh", "-c", '. "$0"; exec mpirun "$@"', os.path.join(ROOT, "scripts", "mpi-env.sh")]


class Missing(Exception):
    """Something that a study needs is not on this machine."""


class Run:
    """Where programs are, which seeds to take, where results go."""

    def __init__(self, arguments):
        self.build = os.path.abspath(arguments.build)
        self.seeds = arguments.seeds
        self.output = os.path.abspath(arguments.output)
        self.networks = arguments.networks and os.path.abspath(arguments.networks)
        self.jobs = arguments.jobs
        self.of_thread = threading.local()  # seconds: CPU time of the programs that it has called

    def program(self, name):
        path = os.path.join(self.build, name)
        if not os.path.exists(path):
            raise Missing(f"{path} is not built")
        return path

    def call(self, name, *words, ranks=0, core=None, given=""):
        """What a program prints. core: the only one that it and its ranks may use. given: what it reads."""
        launch = [] if core is None else ["taskset", "-c", str(core)]
        launch += [*LAUNCH, "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
        with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
            file.write(given)
            file.seek(0)
            process = subprocess.Popen([*launch, self.program(name), *words], stdin=file, stdout=subprocess.PIPE, text=True)
        with process:
            text = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = usage.ru_utime + usage.ru_stime
        self.of_thread.seconds = getattr(self.of_thread, "seconds", 0.0) + seconds
        line = " ".join([f"mpirun -n {ranks}"] * (ranks > 1) + [os.path.basename(name), *map(self.shown, words)])
        print(f"  {seconds:7.1f} s  {line}", file=sys.stderr, flush=True)
        if process.returncode != 0:
            raise Missing(f"{line} failed")
        return text

    def shown(self, word):
        return os.path.basename(word) if os.path.isabs(word) else word

    def rows(self, name, *words, core=None):
        """The rows of a program that prints CSV."""
        return list(csv.DictReader(io.StringIO(self.call(name, *words, core=core))))

    def report(self, app, *words, ranks=0, core=None):
        """report.json of a run, and the folder's other files as CSV: {name: rows}."""
        with tempfile.TemporaryDirectory() as folder:
            self.call(f"apps/{app}/{app}", *words, "--quiet", "--report", folder, ranks=ranks, core=core)
            with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
                report = json.load(file)
            names = [name for name in os.listdir(folder) if name.endswith(".csv")]
            return report, {name[:-4]: read_csv(os.path.join(folder, name)) for name in names}

    def compare(self, app, words, methods, parts):
        """compare.csv of a what-if, every method at every number of parts, and how many interactions there are."""
        report, files = self.report(app, *words, "--compare", ",".join(methods), "--parts",
                                    ",".join(str(p) for p in parts))
        return [{"particles": report["particles"], "interactions": report["interactions"], **row}
                for row in files["compare"]]

    def stars(self, seed):
        """Words that make the particles of the studies of gravity."""
        return ["--generate", f"clusters:n={published.PARTICLES},seed={seed}"]

    @functools.lru_cache(maxsize=None)
    def cutoff(self, seed):
        """The radius within which such a particle has as many others as in the paper, on average."""
        rows = self.rows("bench/bench_unit_sizes", "cutoff", self.stars(seed)[1], str(published.PER_PARTICLE))
        return rows[0]["cutoff"]

    def lines(self, seed, n=400):
        """Words that make a network."""
        return ["--generate", f"chains:n={n},seed={seed}"]

    @functools.lru_cache(maxsize=None)
    def file(self, name):
        """The path of a network's file, or None where there is none, which is said."""
        path = self.networks and os.path.join(self.networks, name)
        if path and os.path.exists(path):
            return path
        print(f"{name} is not measured: " + (f"not in {self.networks}" if path else "no --networks"), file=sys.stderr,
              flush=True)
        return None


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_csv(path, rows):
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=columns, restval="", lineterminator="\n")
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


def arguments_of(text, *more):
    """The options of every study. more: further positional arguments, as for add_argument."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build directory [build]")
    parser.add_argument("--seeds", default=[1, 2, 3, 4, 5], type=lambda s: [int(word) for word in s.split(",")],
                        help="of inputs and of sampling [1,2,3,4,5]")
    parser.add_argument("--networks", metavar="DIR",
                        help="a folder with the files of networks that some studies also measure; without it, or without "
                             "one of them, what was measured of them before stays")
    parser.add_argument("--jobs", type=int, default=1, help="measurements at a time [1]")
    parser.add_argument("--output", default=FOLDER, help="where CSV and pictures go [docs/studies]")
    for words, options in more:
        parser.add_argument(*words, **options)
    return parser.parse_args()


def kept(path, rows, files):
    """Earlier rows of those sets from files that were not measured anew."""
    measured = distinct(rows, "set") if rows and "set" in rows[0] else []
    earlier = read_csv(path) if os.path.exists(path) else []
    return [row for row in earlier if row.get("set") in files and row["set"] not in measured]


def timed(run, case):
    """The rows of a case, and the CPU seconds of its programs."""
    run.of_thread.seconds = 0.0
    rows = case()
    return rows, run.of_thread.seconds


def finish(study, run, results):
    """Writes NAME.csv and draws."""
    rows = [row for some, _ in results for row in some]
    os.makedirs(run.output, exist_ok=True)
    path = os.path.join(run.output, study.NAME + ".csv")
    write_csv(path, rows + kept(path, rows, getattr(study, "FILES", ())))
    if hasattr(study, "draw"):
        study.draw(run, read_csv(path))
    print(f"{study.NAME}: {sum(seconds for _, seconds in results):.0f} CPU seconds", file=sys.stderr, flush=True)


def carry_out(studies, run):
    """Measures, run.jobs cases at a time, whatever study they belong to. Returns whether nothing was missing."""
    good = True
    alone = [study for study in studies if getattr(study, "ALONE", False)]
    for jobs, some in ((1, alone), (run.jobs, [study for study in studies if study not in alone])):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            waiting = [(study, [pool.submit(timed, run, case) for case in study.cases(run)]) for study in some]
            for study, cases in waiting:
                try:
                    finish(study, run, [case.result() for case in cases])
                except Missing as reason:
                    good = False
                    print(f"{study.NAME}: {reason}", file=sys.stderr)
                    for case in cases:
                        case.cancel()
    return good
