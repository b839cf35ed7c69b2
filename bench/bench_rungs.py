#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What steps of many sizes save at the same error of the energy, as CSV.

    bench/bench_rungs.py PROGRAM [--ranks N] [--time T] [--cycles N] [--rungs N] [--eta X] [-- WORD...]

PROGRAM is barneshut, WORDs are options of it; without any it makes a galaxy with a cusp and little softening. A run with
--rungs comes first, then runs of one step, half as long each, until the largest error at the ends of the cycles is no
larger. cpu is the CPU time of the busiest rank outside of waiting, summed over the steps; ratio is that of the rungs over
that of one step at their error, which lies between the last two runs on a straight line of the logarithms.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

SCENE = ["--generate", "hernquist:n=50000,seed=4", "--softening", "0.0005", "--alpha", "0.002"]


def run(options, scene, words):
    """Forces per particle, CPU seconds and the largest error of the energy at the ends of the cycles."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        command = [os.environ.get("MPIEXEC", "mpirun"), "-n", str(options.ranks), options.program, *scene,
                   "--quiet", "--balance", "interaction", "--report", report, *words]
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit(f"failed: {' '.join(command)}")
        with open(os.path.join(report, "report.json"), encoding="utf-8") as file:
            said = json.load(file)
    steps = said["steps"]
    every = (len(steps) - 1) // options.cycles
    energy = [step["energy"] for step in steps[::every]]
    error = max(abs(e / energy[0] - 1) for e in energy)
    forces = sum(sum(step["active"]) for step in steps[1:]) / said["particles"]
    substeps = sum(step["substeps"] for step in steps[1:])
    return substeps, forces, sum(step["step_seconds_measured"] for step in steps[1:]), error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--time", type=float, default=0.2)
    parser.add_argument("--cycles", type=int, default=4)
    parser.add_argument("--rungs", type=int, default=12)
    parser.add_argument("--eta", type=float, default=0.02)
    own, _, words = " ".join(sys.argv[1:]).partition(" -- ")
    options = parser.parse_args(own.split())
    words = words.split() or SCENE
    dt = options.time / options.cycles
    print("rungs,dt,substeps,forces_per_particle,cpu_seconds,energy_error,ratio")
    few = run(options, words, ["--rungs", str(options.rungs), "--eta", str(options.eta), "--dt", repr(dt), "--steps",
                        str(options.cycles)])
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


main()
