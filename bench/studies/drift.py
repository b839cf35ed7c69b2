# SPDX-License-Identifier: BSD-3-Clause
"""How the assignment of the first step ages over 50 steps: figures 5.2 and 5.3.

Runs on 8 ranks, which may share cores: imbalances are those of the cost model."""
import functools

import chart
import published
import study

NAME = "drift"
TITLE = "Drift"

STEPS = 50
RANKS = 8
LINES = 60  # of the network
METHODS = ["count", "sfc", "interaction"]
STRESS = "0,0,0,5e8,5e8,0"  # that makes the network move
SETS = {"barneshut": "Barnes-Hut", "cutoff": "within a cutoff", "network": "dislocation network"}


def measure(run, seed, name, method):
    app = "dislocation" if name == "network" else "barneshut"
    words = run.lines(seed, LINES) + ["--stress", STRESS] if name == "network" else run.stars(seed)
    words += ["--cutoff", run.cutoff(seed)] if name == "cutoff" else []
    report, _ = run.report(app, *words, "--balance", method, "--steps", str(STEPS), "--rebalance", "never", ranks=RANKS)
    return [{"seed": seed, "set": name, "method": method, "step": s["step"], "interactions": s["interactions"],
             "imbalance": s["imbalance_predicted"]} for s in report["steps"]]


def cases(run):
    return [functools.partial(measure, run, seed, name, method) for seed in run.seeds for name in SETS
            for method in METHODS]


def by_step(rows, number):
    """[step, median over the seeds of number(rows of a seed, row)] for every step."""
    lines = []
    for step in study.distinct(rows, "step", int):
        found = [number(study.pick(rows, seed=int(row["seed"])), row) for row in study.pick(rows, step=step)]
        lines.append([step, study.median(found)])
    return lines


def growth(rows_of_seed, row):
    return 100 * (float(row["interactions"]) / float(study.pick(rows_of_seed, step=0)[0]["interactions"]) - 1)


def imbalance(_, row):
    return 100 * float(row["imbalance"])


def draw(run, rows):
    work, age = [], []
    for color, name in enumerate(study.distinct(rows, "set"), 1):
        work.append(chart.series(SETS[name], by_step(study.pick(rows, set=name, method=METHODS[0]), growth), color, mark=False))
        age += [chart.series(f"{name}, {method}", by_step(study.pick(rows, set=name, method=method), imbalance), color,
                             dash=method != METHODS[0], mark=False) for method in METHODS]
    chart.draw(run, NAME, [chart.panel(work, "step", "change of all interactions [%]", "Work"),
                           chart.panel(age, "step", "imbalance: max / mean - 1 [%]", f"The first assignment on {RANKS} ranks", start=0)])


def section(rows):
    lines, ranges = [], {}
    for name in study.distinct(rows, "set"):
        of_set = study.pick(rows, set=name)
        grown = [value for _, value in by_step(study.pick(of_set, method=METHODS[0]), growth)]
        ranges[name] = (min(grown), max(grown))
        for method in METHODS:
            of = study.pick(of_set, method=method)
            first = [100 * v for v in study.values(study.pick(of, step=0), "imbalance")]
            largest = [100 * max(study.values(study.pick(of, seed=s), "imbalance")) for s in study.distinct(of, "seed", int)]
            lines.append([SETS[name], method, study.spread(first, "{:.1f}"), study.spread(largest, "{:.1f}")])
    work = "; ".join(f"{SETS[name]} {low:+.1f} to {high:+.1f} %" for name, (low, high) in ranges.items())
    return f"""{STEPS} steps on {RANKS} ranks with the map of the first one (`--rebalance never`): how even it stays. Imbalances are those of
the cost model, so that ranks may share cores. Seeds: {len(study.distinct(rows, 'seed'))}; median, least and largest.

{study.table(["interactions", "method", "imbalance at first, %", "largest, %"], lines)}

All interactions change by (median of the seeds): {work}. Figure 5.2a has about {100 * published.DRIFT_WORK:g} % for
Barnes-Hut, figure 5.3c an imbalance of at most {100 * published.DRIFT_IMBALANCE:g} % for networks, on thousands of
processes. The time step is the apps' own choice; the figures do not say theirs. Particles within a cutoff are those of the
other set, made to be in equilibrium under the gravity of all, while only near ones hold them. Parts are large here;
how an assignment to many small ones ages within a step is the column `imbalance_next` of `--compare`.

![Work and imbalance over the steps](studies/{NAME}.svg)"""
