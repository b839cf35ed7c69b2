#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How the work of single particles and nodes changes from step to step: figures 5.2b and 5.3b.

Writes elements.csv and elements.svg. page.py puts them on the page."""
import functools
import sys

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


def gravity(run, seed, factor):
    rows = run.rows("bench/study_elements", "gravity", run.stars(seed)[1], str(factor), str(STEPS["gravity"]), run.cutoff(seed))
    return [{"seed": seed, "dt": factor, **row} for row in rows]


def network(run, seed):
    rows = run.rows("bench/study_elements", "network", str(STEPS["network"]), *run.lines(seed, LINES), "--stress", STRESS)
    return [{"seed": seed, "dt": 1, **row} for row in rows]


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


if __name__ == "__main__":
    study.main(sys.modules[__name__])
