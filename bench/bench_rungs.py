#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Savings by steps of many sizes at the same error of the energy, as CSV.

    bench/bench_rungs.py PROGRAM [--ranks N] [--time T] [--cycles N] [--rungs N] [--eta X] [--balance WORD]
                         [-- WORD...]

PROGRAM is barneshut, WORDs are options of it; without any there are three cold balls of 60,000 particles, the smallest
of which, with 300 of them, has collapsed and come to rest when the largest begins to move. A run with --rungs comes
first, then runs of one step, half as long each, until the largest error at the ends of the cycles is no larger.
cpu_seconds is the CPU time of the busiest rank outside of waiting, summed over the steps; ratio is that of the rungs
over that of one step at their error, as a straight line through the logarithms of the last two runs has it.
"""
import argparse
import math
import os
import random
import sys
import tempfile

import runs

BALLS = (300, 0.02, 0.1, 0.0), (17700, 0.3, 0.2, 1.0), (42000, 1.0, 0.7, -1.0)  # particles, radius, mass, centre's x


def write_balls(path):
    draw = random.Random(5)
    with open(path, "w", encoding="utf-8") as file:
        for n, radius, mass, centre in BALLS:
            left = n
            while left > 0:
                x, y, z = (draw.uniform(-1, 1) for _ in range(3))
                if x * x + y * y + z * z < 1:
                    print(mass / n, centre + radius * x, radius * y, radius * z, 0, 0, 0, file=file)
                    left -= 1


def run(options, scene, words):
    """Forces per particle, CPU seconds and the largest error of the energy at the ends of the cycles."""
    said = runs.report(options.program, options.ranks, *scene, "--balance", options.balance, *words)
    steps = said["steps"]
    every = (len(steps) - 1) // options.cycles
    energy = [step["energy"] for step in steps[::every]]
    error = max(abs(e / energy[0] - 1) for e in energy)
    forces = sum(sum(step["active"]) for step in steps[1:]) / said["particles"]
    substeps = sum(step["substeps"] for step in steps[1:])
    return substeps, forces, sum(step["step_seconds_measured"] for step in steps[1:]), error


def measure(options, words):
    dt = options.time / options.cycles
    print("rungs,dt,substeps,forces_per_particle,cpu_seconds,energy_error,ratio")
    few = run(options, words, ["--rungs", str(options.rungs), "--eta", str(options.eta), "--dt", repr(dt),
                               "--steps", str(options.cycles)])
    print(f"{options.rungs},{dt:.6g},{few[0]},{few[1]:.1f},{few[2]:.3f},{few[3]:.3e},", flush=True)
    before = None
    for halvings in range(24):
        steps = options.cycles << halvings
        one = run(options, words, ["--dt", repr(options.time / steps), "--steps", str(steps)])
        ratio = ""
        if one[3] <= few[3]:
            cpu = one[2]
            if before is not None:
                part = math.log(before[3] / few[3]) / math.log(before[3] / one[3])
                cpu = before[2] * (one[2] / before[2]) ** part
            ratio = f"{few[2] / cpu:.3f}"
        print(f"1,{options.time / steps:.6g},{one[0]},{one[1]:.1f},{one[2]:.3f},{one[3]:.3e},{ratio}", flush=True)
        if ratio:
            break
        before = one


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--time", type=float, default=0.08)
    parser.add_argument("--cycles", type=int, default=4)
    parser.add_argument("--rungs", type=int, default=12)
    parser.add_argument("--eta", type=float, default=0.01)
    parser.add_argument("--balance", default="interaction")
    own, _, words = " ".join(sys.argv[1:]).partition(" -- ")
    options = parser.parse_args(own.split())
    if words:
        measure(options, words.split())
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "balls.txt")
        write_balls(path)
        measure(options, [path])


main()
