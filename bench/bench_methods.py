#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How well each method balances an app, and what that costs, as CSV: a run for each method.

    bench/bench_methods.py PROGRAM RANKS BEFORE MEASURED OPTION...

PROGRAM is barneshut or dislocation, OPTIONs are options of it. BEFORE steps precede the MEASURED ones. lambda: imbalance
(max / mean - 1) of the ranks' CPU seconds in forces, summed over the measured steps; lambda_median: of single steps;
lambda_work: of the work by the cost model. force_s, balance_s, busy_s: CPU seconds of a measured step, all ranks together,
in forces, in balancing and in all but waiting, medians. map_per_force: all that a new map costs (making it, and the
survey's share of the forces) over the forces of the same method without it. balance_share: balancing over forces, over all
steps, the first map among them. Pin it to a core, so that ranks share it and the machine's moods: taskset -c 1."""
import csv
import os
import statistics
import sys
import tempfile

import runs

METHODS = {"barneshut": [("count", "never"), ("sfc", "never"), ("sfc", "1"), ("rcb", "never"), ("rcb", "1"),
                         ("interaction", "never"), ("interaction", "1")],
           "dislocation": [("count", "auto"), ("sfc", "auto"), ("rcb", "auto"), ("sectioning", "1"), ("bisection", "1"),
                           ("interaction", "auto")]}


def run(program, ranks, steps, method, rebalance, options):
    """report.json, and loads.csv as {step: rows}."""
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.join(folder, "report")
        report = runs.report(program, ranks, *options, "--balance", method, "--rebalance", rebalance, "--steps", str(steps),
                             folder=folder)
        loads = {}
        with open(os.path.join(folder, "loads.csv"), encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                loads.setdefault(int(row["step"]), []).append(row)
    return report, loads


def total(rows, key):
    return sum(float(row[key]) for row in rows)


def row_of(report, loads, before, kept):
    measured = [step for step in loads if step > before]
    force, balance, busy = ({step: total(rows, key) for step, rows in loads.items()}
                            for key in ("load", "balance_seconds", "busy_seconds"))
    each = [sum(float(loads[step][r]["load"]) for step in measured) for r in range(report["ranks"])]
    steps = [step for step in report["steps"] if step["step"] > before]
    row = {"particles": report["particles"], "interactions": report["interactions"], "steps": len(measured),
           "lambda": max(each) * len(each) / sum(each) - 1,
           "lambda_median": statistics.median(step["imbalance_measured"] for step in steps),
           "lambda_work": statistics.mean(step["imbalance_predicted"] for step in steps),
           "maps": sum(step["rebalanced"] for step in report["steps"][1:]), "ghosts": steps[-1]["ghosts_total"],
           **{name: statistics.median(of[step] for step in measured)
              for name, of in (("force_s", force), ("balance_s", balance), ("busy_s", busy))}}
    row["map_per_force"] = (row["force_s"] + row["balance_s"]) / kept["force_s"] - 1 if kept else 0
    row["balance_share"] = sum(balance.values()) / sum(force.values())
    return row


def main(program, ranks, before, measured, *options):
    kept, writer = None, None
    for method, rebalance in METHODS[os.path.basename(program)]:
        report, loads = run(program, int(ranks), int(before) + int(measured), method, rebalance, options)
        row = {"method": method, "rebalance": rebalance, "ranks": ranks,
               **row_of(report, loads, int(before), kept if rebalance == "1" else None)}
        kept = row if rebalance == "never" else kept
        if writer is None:
            writer = csv.DictWriter(sys.stdout, row)
            writer.writeheader()
        writer.writerow({key: f"{value:.5g}" if isinstance(value, float) else value for key, value in row.items()})
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
