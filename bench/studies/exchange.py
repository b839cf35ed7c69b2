# SPDX-License-Identifier: BSD-3-Clause
"""Value of planning the exchange: one assignment, whose data are sent by every plan."""
import functools

import chart
import compared
import published
import study

NAME = "exchange"
TITLE = "Value of the exchange plan"

PLANS = ["direct", "direct+broadcast/4", "direct+broadcast/16", "two-stage", "two-stage+broadcast/4",
         "two-stage+broadcast/16", "log", "log+broadcast/4", "log+broadcast/16", "auto"]
METHOD = "sfc"
PARTS = [128, 512, 2048]
GROUP = 64  # most particles of a group of targets: the default of the app
SETS = {"barneshut": "Barnes-Hut", "cutoff": "within a cutoff", "network": "dislocation network"}


def measure(run, seed, name, plan):
    app = "dislocation" if name == "network" else "barneshut"
    words = run.lines(seed) if name == "network" else compared.gravity_words(run, seed, name, GROUP)
    found = run.compare(app, [*words, "--exchange", plan], [METHOD], PARTS)
    return [{"seed": seed, "set": name, "plan": plan, **row} for row in found]


def cases(run):
    return [functools.partial(measure, run, seed, name, plan) for seed in run.seeds for name in SETS
            for plan in PLANS]


def of_direct(rows, plan, parts, key="exchange_seconds"):
    """Communication of the part that needs longest (or the whole step), as a part of what it is by direct messages
    without broadcast, per seed."""
    by_plan = [sorted(study.pick(rows, plan=name, parts=parts), key=lambda row: int(row["seed"]))
               for name in (plan, PLANS[0])]
    return [float(ours[key]) / float(direct[key]) for ours, direct in zip(*by_plan)]


def draw(run, rows):
    panels = []
    for name in study.distinct(rows, "set"):
        of_set = study.pick(rows, set=name)
        lines = [chart.series(plan, [[p, study.median(of_direct(of_set, plan, p))] for p in study.distinct(of_set, "parts", int)], i)
                 for i, plan in enumerate(PLANS)]
        panels.append(chart.panel(lines, "parts", "communication, of that by direct messages", SETS[name], "xy"))
    chart.draw(run, NAME, panels)


def section(rows):
    tables = []
    for name in study.distinct(rows, "set"):
        of_set = study.pick(rows, set=name)
        parts = study.distinct(of_set, "parts", int)
        lines = [[f"`{plan}`", *(study.spread(of_direct(of_set, plan, p), "{:.2f}") for p in parts)] for plan in PLANS]
        tables.append(f"{SETS[name]}:\n\n" + study.table(["plan", *(f"{p:,} parts" for p in parts)], lines))
    return f"""The assignment of `{METHOD}`, {published.PARTICLES:,} particles in groups of at most {GROUP} or a network of 28,800 nodes, its
data sent by each plan: modelled seconds of exchange of the part that takes longest, as a part of those by direct messages
without broadcast. `auto` is the plan with which the step is shortest, which may be one whose exchange is a little longer
on another part. Seeds: {len(study.distinct(rows, 'seed'))}; median, least and largest.

{chr(10).join(part + chr(10) for part in tables)}
![Communication by exchange plan](studies/{NAME}.svg)"""
