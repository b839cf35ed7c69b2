#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The value of maps for block time steps: modelled cycles of barneshut, as CSV.

    bench/study_rungs.py PROGRAM [--ranks N] [--parts N,...] [--sizes N,...] [--methods WORD,...] [--dear]
                         [SET ...]

PROGRAM is barneshut, a SET a snapshot's file or what comes behind --generate. Particles are on six rungs, the last one
for the largest acceleration. Of each method the row with the shortest cycle of all --sizes of target groups is shown, of
auto the one among all. --dear: forces that cost some 25 times as much (plain kernel, double precision, opening angle
0.4), as those of codes with more physics do.
efficiency: mean load over largest load, each summed over the cycle; worst: imbalance of the worst phase; ghosts: per
particle and substep; cycle_ms, and as a fraction of that of sfc.
"""
import argparse
import os

import runs

DEAR = "--kernel plain --precision double --opening geometric --theta 0.4".split()
GENERATED = "hernquist:n=60000,seed=4", "clusters:n=131072,seed=1", "disks:n=131072,seed=1"


def compare(options, scene, size):
    words = ["--generate", scene] if ":n=" in scene else [scene]
    said = runs.report(options.program, options.ranks, *words, "--softening", str(options.softening), "--rungs", "6",
                       "--steps", "0", "--group-size", str(size), "--compare", options.methods, "--parts", options.parts,
                       *(DEAR if options.dear else []))
    return said["particles"], said["compare"]


def study(options, scene):
    best = {}
    for size in options.sizes.split(","):
        particles, rows = compare(options, scene, size)
        for row in rows:
            key = row["parts"], row["method"]
            if key not in best or row["step_seconds"] < best[key][1]["step_seconds"]:
                best[key] = size, row
    for (parts, method), (size, row) in sorted(best.items(), key=lambda item: item[0][0]):
        turns = sum(phase["times"] for phase in row["phases"])
        worst = max(phase["imbalance"] for phase in row["phases"])
        ratio = row["step_seconds"] / best[parts, "sfc"][1]["step_seconds"]
        print(f"{os.path.basename(scene).split(',')[0]},{particles},{len(row['phases'])},{parts},{method},"
              f"{row.get('chosen', '')},{size},{row['cycle_efficiency']:.3f},{worst:.3f},"
              f"{row['ghosts_total'] / turns / particles:.2f},{1e3 * row['step_seconds']:.2f},{ratio:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("set", nargs="*", default=GENERATED)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--parts", default="64,256")
    parser.add_argument("--sizes", default="16,64")
    parser.add_argument("--methods", default="sfc,levelled,sfc:maps=phase,sfc:maps=phase,even=step,metis,auto")
    parser.add_argument("--softening", type=float, default=0.01)
    parser.add_argument("--dear", action="store_true")
    options = parser.parse_intermixed_args()
    print("set,particles,phases,parts,method,chosen,group_size,efficiency,worst,ghosts,cycle_ms,of_sfc")
    for scene in options.set:
        study(options, scene)


if __name__ == "__main__":
    main()
