#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the benches one after another, pinned to a core, and writes what they measured to docs/performance.md.

usage: scripts/performance.py [--build DIR] [--core N] [--galaxy SNAPSHOT] [--network FILE.data] [--output FILE]
                              [SECTION...]

Without SECTION all of them; a section that was not asked for, or cannot be measured here, keeps the text that FILE has.
--galaxy: a snapshot of some 60,000 particles to measure forces on as well (softening 0.4). --network: a dislocation
network to balance instead of a generated one. Takes half an hour on a quiet machine, most of it the runs of networks, the
k-d trees, the sampler's 1e9 interactions and the 2 million particles.
"""
import argparse
import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile

import wholefile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLUMMER = "plummer:n=100000"


class Missing(Exception):
    """Something that a section needs is not on this machine."""


class Bench:
    """Runs programs of the build directory and remembers the commands as a reader would type them."""

    def __init__(self, arguments):
        self.build = os.path.abspath(arguments.build)
        self.core = str(arguments.core)
        self.galaxy = arguments.galaxy
        self.network = arguments.network
        self.commands = []

    def program(self, name):
        path = os.path.join(self.build, name)
        if not os.path.exists(path):
            raise Missing(f"{name} is not built")
        return path

    def run(self, name, *words, ranks=0, shown=None):
        pinned = ["taskset", "-c", self.core] if shutil.which("taskset") else []
        launch = [os.path.join(ROOT, "tests", "helpers", "run.sh"), str(ranks)] if ranks else []
        command = launch + pinned + [self.program(name), *words]
        return self.rows(command, (["mpirun", "-n", str(ranks)] if ranks else []) + pinned + ["build/" + name, *(shown or words)])

    def script(self, name, app, *words, pinned=True, shown=None):
        """Rows of a script in bench/ that runs an app."""
        app = f"apps/{app}/{app}"
        core = ["taskset", "-c", self.core] if pinned and shutil.which("taskset") else []
        return self.rows([*core, sys.executable, os.path.join(ROOT, "bench", name), self.program(app), *words],
                         [*core, f"bench/{name}", f"build/{app}", *(shown or words)])

    def rows(self, command, shown):
        text = " ".join(shown)
        if text not in self.commands:
            self.commands.append(text)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"{text} failed")
        return list(csv.DictReader(io.StringIO(done.stdout)))


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def number(text, digits=3):
    value = float(text)
    return "-" if value != value else f"{value:.{digits}g}"


def milliseconds(text):
    return f"{1e3 * float(text):.3g}"


def percent(text):
    return f"{100 * float(text):.0f} %"


def kernels(bench):
    rows = bench.run("bench/bench_kernel")
    best = rows[-1]["kernel"]
    shown = [r for r in rows if r["kernel"] == best and r["targets"] == "64" and r["list"] in ("32", "64", "128", "512")]
    return (
        "One interaction of a target and a source, in nanoseconds, beside what its arithmetic alone costs: the fastest of "
        "several loops written by hand for the same instruction set, in the same run. *block* is a block of sources in "
        f"the cache, *whole* is `bh_force()` with fetching the list. Kernel `{best}`, 64 targets; a group has up to 128.\n\n"
        + table(
            ["precision", "kind", "list", "limit", "block", "whole", "block / limit", "whole / limit"],
            [[r["precision"], r["kind"], r["list"], number(r["limit_ns"]), number(r["block_ns"]), number(r["whole_ns"]),
              number(r["block_ratio"]), number(r["whole_ratio"])] for r in shown],
        )
    )


FORCE_CASES = [("0.6", "64", "0"), ("0.65", "128", "0"), ("0.6", "64", "0.006"), ("0.6", "128", "0.006")]


def force_rows(bench, particles, softening, shown):
    for theta, group, alpha in FORCE_CASES:
        for precision in ("double", "mixed"):
            words = [softening, theta, "16", group, alpha, precision]
            yield bench.run("bench/bench_force", particles, *words, shown=[shown, *words])[-1]


def force_table(rows):
    return table(
        ["criterion", "groups", "precision", "pairs", "cells", "walk ms", "pair ns", "cell ns", "all ms", "median error", "p99"],
        [[f"theta {r['theta']}" if float(r["alpha"]) == 0 else f"relative {r['alpha']}", r["group"],
          r["precision"], r["pairs"],
          r["cells"], milliseconds(r["walk_s"]), number(r["pair_ns"]), number(r["cell_ns"]), milliseconds(r["total_s"]),
          r["median_err"], r["p99_err"]] for r in rows],
    )


def forces(bench):
    text = (
        "Lists and forces of all particles on one core, leaves of 16; relative errors of the acceleration against direct "
        "summation at 2000 particles. The relative criterion takes the accelerations of the step before, as every step of "
        "a run does. The default of `barneshut` is the last row of each table. Over seeds 1 to 10 of each set, 16,384 and "
        "100,000 particles, its error is at most 4e-4 in the median; at the 99th percentile it is at most 1e-3 for Plummer "
        "spheres, 1.5e-3 for disks, 5e-3 for clusters. It was chosen for 5e-4 and 2e-3 on the sets of this page, and is the "
        "fastest row that keeps those but for the clusters, where an opening angle of 0.65 takes up to a seventh less. A "
        "Plummer sphere of "
        "100,000 particles, softening 0.01:\n\n"
        + force_table(force_rows(bench, PLUMMER, "0.01", PLUMMER))
    )
    for kind in ("disks", "clusters"):
        text += f"\n\n`{kind}`, 100,000 particles, softening 0.01:\n\n"
        text += force_table(force_rows(bench, f"{kind}:n=100000", "0.01", f"{kind}:n=100000"))
    if bench.galaxy:
        name = os.path.basename(bench.galaxy)
        text += f"\n\nThe galaxies of `{name}`, softening 0.4:\n\n"
        text += force_table(force_rows(bench, bench.galaxy, "0.4", name))
    return text


def tree(bench):
    rows = bench.run("bench/bench_tree", "100000", "16", "64")
    phases = ["keys", "sort", "permute", "tree", "total", "groups", "walk", "walk_relative"]
    orders = ["fresh", "moved"]
    least = {(r["order"], r["phase"]): r for r in rows}
    return (
        "From 100,000 particles to a tree that can be walked, and the walks of all groups: milliseconds, and copies of "
        "positions and masses that would take as long. *fresh*: in the generator's order; *moved*: in the order of the "
        "step before.\n\n"
        + table(
            ["phase", "fresh ms", "copies", "moved ms", "copies"],
            [[p] + [cell for o in orders for cell in (milliseconds(least[o, p]["least_s"]), number(least[o, p]["copies"]))]
             for p in phases],
        )
    )


def kdtree(bench):
    rows = []
    for points in ("1000", "10000", "100000", "1000000"):
        rows += bench.run("bench/bench_kdtree", points, *(["random"] if points == "1000000" else []))
    shown = []
    for points in ("1000", "10000", "100000", "1000000"):
        for leaf in ("same", "best"):
            chosen = [r for r in rows if r["points"] == points and r["leaf"] == leaf]
            build = sorted(float(r["build_ratio"]) for r in chosen)
            near = sorted(float(r["ratio"]) for r in chosen)
            spread = lambda v: f"{v[0]:.2f} / {v[len(v) // 2]:.2f} / {v[-1]:.2f}"
            shown.append([points, leaf, len(chosen), spread(build), spread(near), sum(v < 1.3 for v in near)])
    return (
        "nanoflann's seconds over ours, for three dimensions: least / median / greatest over uniform and "
        "Plummer points, curve and random order, near and uniform queries (a million points: random order). *same*: leaves of 10 in both; *best*: the "
        "leaf size with which each finds fastest. Both find the same distances. Ours copies its points here, as it does "
        "by default.\n\n"
        + table(["points", "leaf", "rows", "build", "nearest", "nearest below 1.3"], shown)
    )


def sampling(bench):
    rows = bench.run("bench/bench_survey", "8,64", "--generate", PLUMMER, "--softening", "0.01")
    streamed = bench.run("bench/bench_units", "1e9", "10000")
    return (
        "What sampling adds to a force evaluation of 100,000 particles on one core: *survey* is the evaluation that takes "
        "notes, *units* makes work units of them, as many as 2 % of imbalance on so many parts needs.\n\n"
        + table(
            ["parts", "units", "groups", "force ms", "survey ms", "units ms", "all sampling / force"],
            [[r["parts"], r["units"], r["groups"], milliseconds(r["force_s"]), milliseconds(r["survey_s"]),
              milliseconds(r["units_s"]), percent(r["sampling_per_force"])] for r in rows],
        )
        + "\n\nThe sampler alone, with 1e9 interactions streamed through it:\n\n"
        + table(
            ["strategy", "owners", "units", "ns per interaction", "peak MB"],
            [[r["strategy"], r["owners"], r["units"], number(r["total_ns"]), number(r["peak_mb"])] for r in streamed],
        )
    )


def hypergraph(bench):
    rows = bench.run("bench/bench_hypergraph")
    return (
        "The hypergraph of work units and what they touch, one million pins.\n\n"
        + table(
            ["ids", "pins per unit", "sharing", "edges", "ms", "of qsort's time"],
            [[r["ids"], r["per_unit"], r["sharing"], r["edges"], milliseconds(r["create_s"]), number(r["ratio"])]
             for r in rows],
        )
    )


def balance_table(rows):
    return table(
        ["method", "new map", "force ms", "map ms", "map / force", "step / step of count", "ghosts", "imbalance"],
        [[r["method"], "never" if r["rebalance"] == "never" else "every step", milliseconds(r["force_s"]),
          milliseconds(r["balance_s"]), "-" if r["rebalance"] == "never" else percent(r["map_per_force"]),
          number(float(r["busy_s"]) / float(rows[0]["busy_s"])), r["ghosts"], f"{100 * float(r['lambda_work']):.2g} %"]
         for r in rows],
    )


def balancing(bench):
    words = ["0", "10", "--generate", PLUMMER, "--softening", "0.01"]
    four, one = (bench.script("bench_methods.py", "barneshut", str(ranks), *words) for ranks in (4, 1))
    return (
        "Steps of 100,000 particles, all ranks on one core; milliseconds of CPU over all ranks. *map / force* is all that a "
        "new map costs: taking notes, lining up, units, hypergraph, partition, homes. Four ranks:\n\n"
        + balance_table(four)
        + "\n\nOne rank, where nothing is gained and only the bookkeeping remains:\n\n"
        + balance_table(one)
    )


def memory(bench):
    rows = bench.script("bench_memory.py", "barneshut", pinned=False)
    grown = {r["report"]: (int(r["step"]), int(r["grown"]) / 1e3) for r in bench.script("bench_run_memory.py", "barneshut", pinned=False)}
    return (
        "Peak of the largest rank, two million particles, one step. *own* is without what an empty process of the same job "
        "holds; *beyond* is per particle on top of the 64 bytes of a snapshot; *ratio* is to one rank.\n\n"
        + table(
            ["ranks", "method", "peak MB", "own MB", "beyond, bytes", "ratio"],
            [[r["ranks"], r["method"], f"{float(r['peak_bytes']) / 1e6:.0f}", f"{float(r['own_bytes']) / 1e6:.0f}",
              number(r["beyond_input"]), r["ratio"]] for r in rows],
        )
        + "\n\nThe memory of a run does not grow with its steps. 96 particles on one rank, resident memory at the last step "
        "beside that at step 1,000: "
        + "; ".join(f"{kilobytes:.0f} kB more at step {step:,} {'with' if report == 'True' else 'without'} `--report`"
                    for report, (step, kilobytes) in grown.items())
        + "."
    )


def segments(bench):
    rows = bench.run("bench/bench_segforce")
    kinds = {"near": "near-parallel", "chain": "collinear, next to each other", "mixed": "one in five near-parallel"}
    sources = sorted({int(r["sources"]) for r in rows})
    least = {(r["isa"], r["kind"], int(r["sources"])): number(r["least_ns"]) for r in rows}
    lines = dict.fromkeys((r["isa"], r["kind"]) for r in rows)
    return (
        "Forces between two dislocation segments, in nanoseconds per pair, the least of several runs, by the number of "
        "sources in a call.\n\n"
        + table(["kernel", "pairs"] + [f"{n} sources" for n in sources],
                [[isa, kinds.get(kind, kind)] + [least[isa, kind, n] for n in sources] for isa, kind in lines])
    )


def tenths(text):
    return f"{100 * float(text):.1f} %"


def network(bench):
    """How evenly each method divides a dislocation network, on as many ranks as are asked about."""
    options = [bench.network] if bench.network else ["--generate", "chains:n=180,box=59000,maxseg=800"]
    shown = ["30", "20", "NETWORK.data"] if bench.network else None
    parts = []
    for ranks in (4, 8):
        rows = bench.script("bench_methods.py", "dislocation", str(ranks), "30", "20", *options, shown=shown and [str(ranks), *shown])
        parts.append(f"On {ranks} ranks, {rows[0]['particles']} nodes, {rows[0]['interactions']} pairs:\n\n" + table(
            ["method", "imbalance", "of single steps", "of the work", "maps", "ghosts", "forces s", "balancing s",
             "balancing / forces"],
            [[r["method"], tenths(r["lambda"]), tenths(r["lambda_median"]), tenths(r["lambda_work"]), r["maps"],
              r["ghosts"], number(r["force_s"]), number(r["balance_s"]), tenths(r["balance_share"])] for r in rows]))
    return (
        "Imbalance (max / mean - 1) of the ranks' CPU seconds in forces over steps 31 to 50: of the sums over these steps, the median of single steps, and what the cost model says of the work. The "
        "methods of ParaDiS move their walls after every step, the others renew their maps when their policy says so. "
        "Seconds per step, all ranks together. All ranks share one core.\n\n" + "\n\n".join(parts)
    )


STEP_MODES = [("default", []), ("double, geometric", ["--precision", "double", "--opening", "geometric"])]


def step_seconds(bench, particles, ranks, options):
    """CPU seconds of all ranks in forces, and in all but forces and waiting, of each step but the first two."""
    with tempfile.TemporaryDirectory() as place:
        words = ["--generate", f"disks:n={particles}", "--steps", "12", "--balance", "sfc", "--rebalance", "never",
                 "--quiet", *options, "--report"]
        bench.run("apps/barneshut/barneshut", *words, place, ranks=ranks, shown=[*words, "DIR"])
        with open(os.path.join(place, "loads.csv"), encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if int(row["step"]) > 1]
    forces, busy = {}, {}
    for row in rows:
        forces[row["step"]] = forces.get(row["step"], 0.0) + float(row["force_seconds"])
        busy[row["step"]] = busy.get(row["step"], 0.0) + float(row["busy_seconds"])
    return [(forces[step], busy[step] - forces[step]) for step in forces]


def steps(bench):
    rows = []
    for particles, ranks in ((32768, 1), (32768, 8), (100000, 1), (100000, 4)):
        for name, options in STEP_MODES:
            seconds = step_seconds(bench, particles, ranks, options)
            ratio = sorted(beside / forces for forces, beside in seconds)[len(seconds) // 2]
            rows.append([particles, ranks, name, milliseconds(min(forces for forces, _ in seconds)),
                         milliseconds(min(beside for _, beside in seconds)), percent(ratio)])
    return (
        "CPU time of a step of `barneshut` that keeps its map, all ranks together: walks and forces, and all beside them "
        "but waiting, which is motion, keys, sorting, migration, trees, requests and ghosts, sums. The least of ten "
        "steps each; the last column is the median of their ratios. All ranks share one core. One rank has no exchange: "
        "what it has beside forces is about the least that more of them can have.\n\n"
        + table(["particles", "ranks", "options", "forces ms", "beside ms", "beside / forces"], rows)
    )


def profile(bench):
    if shutil.which("perf") is None:
        raise Missing("perf is not installed")
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        app = [bench.program("apps/barneshut/barneshut"), "--generate", PLUMMER, "--steps", "10", "--dt", "1e-3", "--quiet",
               "--balance", "none"]
        done = subprocess.run(["perf", "record", "-q", "-o", data, "taskset", "-c", bench.core, *app],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        report = subprocess.run(["perf", "report", "-i", data, "--stdio"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode != 0 or report.returncode != 0:
        raise Missing("perf cannot record here")
    bench.commands.append("perf record build/apps/barneshut/barneshut --generate " + PLUMMER
                          + " --steps 10 --dt 1e-3 --quiet --balance none")
    found = re.findall(r"^\s*([\d.]+)%\s+\S+\s+(\S+)\s+\[(.)\]\s+(\S+)", report.stdout, re.MULTILINE)
    kernel = sum(float(share) for share, _, space, _ in found if space == "k")
    rows = [[f"{share} %", f"`{name}`", where] for share, where, space, name in found if space != "k"][:12]
    return (
        "Where the time of a run of 100,000 particles on one rank goes (`perf`, own time of functions; the operating system "
        f"has {kernel:.1f} %).\n\n" + table(["time", "function", "of"], rows)
    )


SECTIONS = [
    ("Force kernels", kernels),
    ("Force evaluation", forces),
    ("Tree", tree),
    ("k-d tree", kdtree),
    ("Sampling", sampling),
    ("Hypergraph", hypergraph),
    ("Balancing", balancing),
    ("Steps", steps),
    ("Memory", memory),
    ("Dislocation forces", segments),
    ("Dislocation networks", network),
    ("Profile", profile),
]


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return "an unknown processor"
    name = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    vectors = [v for v in ("avx2", "avx512f") if re.search(rf"\b{v}\b", text)]
    return f"{name.group(1) if name else 'a processor'} ({', '.join(vectors) or 'no vectors that matter'})"


def old_sections(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"^## (.*)$", file.read(), flags=re.MULTILINE)
    return {parts[i].strip(): parts[i + 1].strip() for i in range(1, len(parts) - 1, 2)}


def measure(title, section, arguments):
    bench = Bench(arguments)
    print(title, file=sys.stderr, flush=True)
    text = section(bench)
    where = f"Measured on one core of {processor()}."
    return text + "\n\n" + where + "\n\n```\n" + "\n".join(bench.commands) + "\n```"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--core", type=int, default=1)
    parser.add_argument("--galaxy")
    parser.add_argument("--network")
    parser.add_argument("--output", default=os.path.join(ROOT, "docs", "performance.md"))
    parser.add_argument("section", nargs="*", help="of: " + ", ".join(f"'{title}'" for title, _ in SECTIONS))
    arguments = parser.parse_args()
    known = [title for title, _ in SECTIONS]
    for title in arguments.section:
        if title not in known:
            parser.error(f"'{title}' is no section")
    kept = old_sections(arguments.output)
    lines = [
        "# Performance",
        "",
        "Numbers of one machine, written by `scripts/performance.py`, which runs the benches in `bench/`; run it on yours. "
        "Seconds are CPU seconds of one pinned core; single numbers move by 10 to 20 % on a shared machine, so trust the "
        "ratios, which are to something in the same run. Below each table is the command that made it; files that such a "
        "command names are public test inputs, which are not in this tree. No table scales forces up to many ranks: the "
        "collective calls of a step and CPU time outside forces would then count.",
    ]
    for title, section in SECTIONS:
        text = kept.get(title)
        if not arguments.section or title in arguments.section:
            try:
                text = measure(title, section, arguments)
            except Missing as reason:
                print(f"performance: {title}: {reason}", file=sys.stderr)
        if text is not None:
            lines += ["", f"## {title}", "", text]
    with wholefile.written(arguments.output) as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
