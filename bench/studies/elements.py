# SPDX-License-Identifier: BSD-3-Clause
"""How the work of single particles and nodes changes from step to step: figures 5.2b and 5.3b."""
import functools

import chart
import published
import study

NAME = "elements"
TITLE = "Drift of elements"

STEPS = {"gravity": 24, "network": 50}
FACTORS = [1, 0.1]  # of the app's time step
LINES = 60  # of a network
STRESS = "0,0,0,5e8,5e8,0"
SETS = {"tree": "Barnes-Hut", "cutoff": "within a cutoff", "network": "dislocation network"}


PARTS = {"gravity": {"few": 64, "many": 4096}, "network": {"few": 64, "many": 512}}  # of the maps of the first step


def quantile(ascending, q):
    return ascending[int(q * (len(ascending) - 1) + 0.5)] if ascending else 0.0


def ageing(before, now, parts):
    """Of each map the share of parts whose work has changed between two steps, {tag: row} each, and its imbalance."""
    cells = {}
    for count, nparts in parts.items():
        old, new = [0] * nparts, [0] * nparts
        for step, sums in ((before, old), (now, new)):
            for row in step.values():
                sums[row[count]] += row["work"]
        cells |= {count: nparts, f"{count}_changed": f"{sum(a != b for a, b in zip(old, new)) / nparts:.4f}",
                  f"{count}_uneven": f"{max(new) * nparts / sum(new) - 1:.4f}"}
    return cells


def change(before, now):
    """Elements with work in one of two steps: their number, new ones and lost ones; the share with constant work in both
    steps, and quantiles of the relative change of all other elements that had work."""
    works = [(before[tag]["work"] if tag in before else None, now[tag]["work"] if tag in now else None)
             for tag in before.keys() | now.keys()]
    works = [(old, new) for old, new in works if old or new]
    both = [(old, new) for old, new in works if old is not None and new is not None]
    changed = sorted(abs(new - old) / old for old, new in both if old != new and old > 0)
    return {"elements": len(works), "came": sum(old is None for old, _ in works), "gone": sum(new is None for _, new in works),
            "constant": f"{sum(old == new for old, new in both) / len(both):.4f}",
            **{key: f"{quantile(changed, q):.2e}" for key, q in (("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("largest", 1.0))}}


def measure(run, seed, kind, factor, *words):
    """A row for each set and step after the first."""
    found, parts = [], PARTS[kind]
    steps = {}
    for row in run.rows("bench/study_elements", *map(str, parts.values()), kind, *words):
        steps.setdefault((row["set"], int(row["step"])), {})[row["tag"]] = {key: int(row[key]) for key in ("work", *parts)}
    for (name, step), now in steps.items():
        if step > 0:
            total = [sum(row["work"] for row in of.values()) for of in (steps[name, 0], now)]
            found.append({"seed": seed, "dt": factor, "set": name, "step": step, "total": f"{total[1] / total[0] - 1:.5f}",
                          **change(steps[name, step - 1], now), **ageing(steps[name, step - 1], now, parts)})
    return found


def gravity(run, seed, factor):
    return measure(run, seed, "gravity", factor, run.stars(seed)[1], str(factor), str(STEPS["gravity"]), run.cutoff(seed))


def network(run, seed):
    return measure(run, seed, "network", 1, str(STEPS["network"]), *run.lines(seed, LINES), "--stress", STRESS)


def cases(run):
    seeds = run.seeds
    return ([functools.partial(gravity, run, seed, factor) for seed in seeds for factor in FACTORS]
            + [functools.partial(network, run, seed) for seed in seeds])


def sets(rows):
    """(name, time step, rows) of all."""
    for name in study.distinct(rows, "set"):
        for factor in study.distinct(study.pick(rows, set=name), "dt", float):
            yield name, factor, study.pick(rows, set=name, dt=factor)


def label(name, factor):
    return SETS[name] + (f", dt x {factor:g}" if factor != 1 else "")


def by_step(rows, key):
    return [[step, 100 * study.median(study.values(study.pick(rows, step=step), key))]
            for step in study.distinct(rows, "step", int)]


PANELS = [("total", "change of all work [%]", ""), ("constant", "elements of constant work [%]", ""),
          ("p90", "change of the others, 90 % of them [%]", "y"), ("many_changed", "parts whose work changes [%]", "")]


def draw(run, rows):
    panels = []
    for key, title, log in PANELS:
        lines = [chart.series(label(name, factor), by_step(of, key), 1 + list(SETS).index(name), dash=factor != 1, mark=False)
                 for name, factor, of in sets(rows)]
        panels.append(chart.panel(lines, "step", title, log=log))
    chart.draw(run, NAME, panels, 4)


def cell(rows, key, form="{:.1f}"):
    return study.spread([100 * value for value in study.values(rows, key)], form)


def ends(rows):
    """Change of all work: least and largest of any step."""
    numbers = [100 * value for value in study.values(rows, "total")]
    return f"{min(numbers):+.1f} to {max(numbers):+.1f}"


def middle(rows, key):
    return f"{100 * study.median(study.values(rows, key)):.3g}"


def section(rows):
    lines = [[label(name, factor), f"{int(study.median(study.values(of, 'elements'))):,}", ends(of), cell(of, "constant"),
              *(middle(of, key) for key in ("median", "p90", "p99", "largest"))] for name, factor, of in sets(rows)]
    maps = []
    for name, factor, of in sets(rows):
        last = study.pick(of, step=max(study.distinct(of, "step", int)))
        for count in ("few", "many"):
            maps.append([label(name, factor), f"{int(of[0][count]):,}", cell(of, f"{count}_changed"), cell(last, f"{count}_uneven", "{:,.1f}")])
    return f"""What changes from one step to the next, element by element: interactions of {published.PARTICLES:,} particles, each with a
list of its own, in clusters under the gravity of all, by opening angle and within a cutoff ({published.PER_PARTICLE} on average) in the
same motion; and pairs of segments of the nodes of a network of {LINES} lines under stress, on one rank. Time steps are the apps'
own choice, and for particles also a tenth of it, as the figures do not say theirs. Seeds: {len(study.distinct(rows, 'seed'))};
{STEPS['gravity']} and {STEPS['network']} steps. *Constant*: elements with the same work as in the step before; of the others, by how
much it changes: median, 90 %, 99 %, largest (medians of the steps; an element with no work before is left out).

{study.table(["interactions", "elements", "all work, %", "constant, %", "median, %", "90 %, %", "99 %, %", "largest, %"], lines)}

With the map of the first step, the curve cut by work, and a new node where its neighbour is: parts whose work is not that
of the step before, and imbalance at the end.

{study.table(["interactions", "parts", "parts that change, %", "imbalance at the end, %"], maps)}

Figure 5.2: all work of Barnes-Hut within {100 * published.DRIFT_WORK:g} %, about {100 * published.CONSTANT_ELEMENTS:g} % of the particles
with constant work, the others change by up to {100 * published.ELEMENT_CHANGE:g} % a step. Figure 5.3: nearly all processes of
ParaDiS change in every step, and the more, the longer the run.

![Change of work from step to step](studies/{NAME}.svg)"""
