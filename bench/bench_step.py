#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""CPU seconds of a step outside its forces, and of whole steps against those of another build, as CSV.

    bench/bench_step.py PROGRAM [--before OTHER] [--ranks N] [--steps N] [--repeats N] [-- WORD...]

PROGRAM and OTHER are builds of barneshut, WORDs are options of it; without any there are clusters and a Plummer sphere
of 32,768 and of 100,000 particles. Runs of both builds alternate. Outside forces are keys, sort, tree, moments, motion
and sums, on several ranks also migration and the exchange; waiting counts nowhere. outside is their CPU seconds over
those of the forces, all ranks together. Seconds are means over the quarter of the steps that took the fewest, which
other programs disturb least; step is the CPU seconds of a step over OTHER's.
"""
import argparse
import csv
import os
import sys
import tempfile

import runs

INPUTS = [f"{kind}:n={n}" for kind in ("clusters", "plummer") for n in (32768, 100000)]


def steps_of(program, options, words):
    """CPU seconds of each step but the first: all, and in forces."""
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "report")
        runs.report(program, options.ranks, *words, "--steps", str(options.steps), folder=folder)
        with open(os.path.join(folder, "loads.csv"), newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["step"] != "0"]
    steps = {}
    for row in rows:
        busy, forces = steps.get(row["step"], (0.0, 0.0))
        steps[row["step"]] = busy + float(row["busy_seconds"]), forces + float(row["load"])
    return list(steps.values())


def quiet(steps):
    """Means of the quarter with the fewest CPU seconds."""
    few = sorted(steps)[: max(1, len(steps) // 4)]
    return [sum(column) / len(few) for column in zip(*few)]


def measure(options, words):
    programs = [options.program] + ([options.before] if options.before else [])
    seen = [[] for _ in programs]
    for _ in range(options.repeats):
        for steps, program in zip(seen, programs):
            steps += steps_of(program, options, words)
    found = [quiet(steps) for steps in seen]
    shares = [busy / forces - 1 for busy, forces in found]
    ratio = f"{shares[-1]:.3f},{found[0][0] / found[-1][0]:.3f}" if options.before else ","
    print(f"{' '.join(words)},{options.ranks},{found[0][0]:.6f},{found[0][1]:.6f},{shares[0]:.3f},{ratio}", flush=True)


def main():
    words = sys.argv[1:]
    given = words[words.index("--") + 1:] if "--" in words else None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--before")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(words[: words.index("--")] if given is not None else words)
    print("options,ranks,step_seconds,force_seconds,outside,outside_before,step")
    for row in [given] if given else [["--generate", text] for text in INPUTS]:
        measure(options, row)


if __name__ == "__main__":
    main()
