#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What maps are worth that are made beside the run: figures 5.1, 5.5 and 5.10 to 5.12, in virtual time.

Writes beside.csv, beside.png and beside-resources.png. page.py puts them on the page. What a map costs is measured on 1
to 16 ranks, so nothing else should run meanwhile."""
import csv
import functools
import io
import sys

import published
import study

NAME = "beside"
TITLE = "Beside the run"
ALONE = True

PARTS = 64
RANKS = [1, 2, 4, 8, 16]  # on which maps are made
DEAR = [1, 10, 20, 100]

# Input, and a method that costs more than the curve.
SETS = {
    "galaxies": (["gravity", f"disks:n={published.PARTICLES}"], "interaction"),
    "clusters": (["gravity", f"clusters:n={published.PARTICLES}"], "interaction"),
    "network": (["network", "--generate", "chains:n=20", "--stress", "0,0,0,5e8,5e8,0"], "tiles"),
}
TITLES = {"galaxies": "colliding galaxies", "clusters": "clusters", "network": "dislocation network"}
IN_A_THREAD = ["sfc", "tiles"]
KEYS = ("dear", "step_seconds", "maps", "method", "balancers", "number", "total")


def price_of_runs(run, name, method, ranks):
    """CPU seconds of the slowest rank for a map in line, the least of some steps; and how many owners there are."""
    words, _ = SETS[name]
    app, given = ("barneshut", ["--generate", words[1]]) if words[0] == "gravity" else ("dislocation", words[1:])
    report, _ = run.report(app, *given, "--balance", method, "--rebalance", "1", "--steps", "6", ranks=ranks)
    steps = report["steps"][1:]
    return min(s["balance_seconds"] for s in steps), steps[0].get("nodes", report["particles"])


def price_alone(run, name, method, ranks):
    words, _ = SETS[name]
    [[_, _, seconds, owners]] = csv.reader(io.StringIO(
        run.call("bench/study_beside", "price", str(PARTS), method, *words, ranks=ranks)))
    return seconds, owners


def one_set(run, name):
    words, dear = SETS[name]
    rows, prices = [], {}
    for ranks in RANKS:
        for method in ("sfc", dear):
            seconds, owners = (price_alone if method == "interaction" else price_of_runs)(run, name, method, ranks)
            prices.setdefault(method, []).append(f"{ranks}={seconds}")
            rows.append({"set": name, **dict.fromkeys(KEYS, ""), "maps": "price", "method": method, "balancers": ranks,
                         "number": owners, "total": seconds})
    given = [f"{method}:{','.join(samples)}" for method, samples in prices.items()]
    return rows + [{"set": name, **r} for r in run.rows("bench/study_beside", "run", str(PARTS), *given, *words)]


def cases(run):
    return [functools.partial(one_set, run, name) for name in SETS]


def prices(rows, name, method):
    return {int(r["balancers"]): float(r["total"]) for r in study.pick(rows, set=name, maps="price", method=method)}


class Clock:
    """Totals over even steps of one set, where an interaction is so many times as dear."""

    def __init__(self, rows, name, dear):
        self.rows = [r for r in study.pick(rows, set=name) if r["dear"] and float(r["dear"]) == dear]
        self.step = float(self.rows[0]["step_seconds"])

    def total(self, maps, method, spare=None):
        """The least; of those with a spare core alone, or of those with ranks given away."""
        found = [float(r["total"]) for r in study.pick(self.rows, maps=maps, method=method)
                 if spare is None or (int(r["balancers"]) == 0) == spare]
        return min(found)

    def in_line(self, method, maps="inline"):
        """At its best, which may be the first map for ever."""
        return min(self.total(maps, method), self.total("first", method))

    def of_ranks(self, maps, method, m):
        return float(study.pick(self.rows, maps=maps, method=method, balancers=m)[0]["total"])

    def modes(self, method):
        """What --lazy can be, and what the model takes."""
        given = [int(r["balancers"]) for r in study.pick(self.rows, maps="beside", method=method)]
        of = {"none": self.in_line(method)}
        for m in given:
            if m > 0 or method in IN_A_THREAD:
                of[str(m) if m > 0 else "thread"] = self.of_ranks("beside", method, m)
        chosen = study.pick(self.rows, maps="chosen", method=method)[0]
        near = min((m for m in given if m > 0), key=lambda m: abs(m - int(chosen["balancers"])))
        return of, {"inline": "none", "thread": "thread"}.get(chosen["total"], str(near))


def strategies(method):
    """Title and seconds of each row of a table, rivals first."""
    return [("first map of `sfc` for ever", lambda c: c.total("first", "sfc")),
            ("`sfc` in line", lambda c: c.total("inline", "sfc")),
            (f"the same, a map as on {RANKS[-1]} ranks", lambda c: c.total("capped", "sfc")),
            ("`sfc` in line, maps that cost nothing", lambda c: c.total("free", "sfc")),
            ("first map of `sfc`, repaired", lambda c: c.total("repaired", "sfc")),
            (f"first map of `{method}` for ever", lambda c: c.total("first", method)),
            (f"`{method}` in line", lambda c: c.total("inline", method)),
            (f"the same, a map as on {RANKS[-1]} ranks ", lambda c: c.total("capped", method)),
            (f"`{method}` on the best number of ranks, all wait", lambda c: c.total("decoupled", method)),
            (f"first map of `{method}`, repaired", lambda c: c.total("repaired", method)),
            (f"`{method}` beside, ranks given away, never repaired", lambda c: c.total("stale", method, False)),
            (f"`{method}` beside, ranks given away", lambda c: c.total("beside", method, False)),
            ("the same, repaired meanwhile", lambda c: c.total("tended", method, False)),
            (f"`{method}` beside, spare core, never repaired", lambda c: c.total("stale", method, True)),
            (f"`{method}` beside, spare core", lambda c: c.total("beside", method, True)),
            ("the same, repaired meanwhile ", lambda c: c.total("tended", method, True)),
            ("`sfc` beside, rank given away", lambda c: c.total("beside", "sfc", False)),
            ("`sfc` beside, spare core, never repaired", lambda c: c.total("stale", "sfc", True)),
            ("`sfc` beside, spare core", lambda c: c.total("beside", "sfc", True)),
            ("the same, repaired meanwhile  ", lambda c: c.total("tended", "sfc", True))]


DIAGRAM = ("galaxies", "interaction", 10)  # whose resources are drawn
CYCLE = 16  # steps with one map


def blocks(rows):
    """Figure 5.5: (title, [(what, from, to in seconds, first rank, behind the last)]) of each way to use the ranks."""
    name, method, dear = DIAGRAM
    price, clock = prices(rows, name, method), Clock(rows, name, dear)
    m = min(price, key=price.get)
    away = max(int(r["balancers"]) for r in study.pick(clock.rows, maps="beside", method=method))
    steps, fewer = CYCLE * clock.step, CYCLE * clock.step * PARTS / (PARTS - away)
    most = max(RANKS)
    return [(f"in line (a map as on {most} ranks)", [("map", 0, price[most], 0, PARTS),
                                                     ("step", price[most], price[most] + steps, 0, PARTS)]),
            (f"{m} ranks, all wait", [("map", 0, price[m], 0, m), ("idle", 0, price[m], m, PARTS),
                                      ("step", price[m], price[m] + steps, 0, PARTS)]),
            (f"{away} beside", [("map", 0, price[away], 0, away), ("idle", price[away], max(price[away], fewer), 0, away),
                                ("step", 0, fewer, away, PARTS)])]


def draw_resources(run, rows):
    colors = {"map": study.COLORS[1], "step": study.COLORS[3], "idle": "#e0e0e0"}
    titles = {"map": "makes a map", "step": f"{CYCLE} steps", "idle": "waits"}
    script, longest, number = "", 0.0, 0
    for at, (title, parts) in enumerate(blocks(rows)):
        base = -at * (PARTS + 24)
        script += f"set label '{title}' at 0,{base + PARTS + 9} left\n"
        for what, begin, end, first, last in parts:
            number += 1
            longest = max(longest, end)
            script += (f"set object {number} rect from {1e3 * begin:.4f},{base + first} to {1e3 * end:.4f},{base + last} "
                       f"fc rgb '{colors[what]}' fs solid border rgb 'white'\n")
    script += f"""set xrange [0:{1.02e3 * longest:.4f}]
set yrange [{-2 * (PARTS + 24) - 5}:{PARTS + 20}]
unset ytics
unset grid
set xlabel 'ms'
set ylabel '{PARTS} ranks each'
plot {", ".join(f"NaN with boxes fs solid linecolor rgb '{colors[what]}' title '{titles[what]}'" for what in colors)}
"""
    study.plot(run, NAME + "-resources", script, {}, width=1100, height=620)


def draw(run, rows):
    draw_resources(run, rows)
    data, lines = {}, []
    for dash, (name, (_, dear)) in enumerate(SETS.items(), 1):
        for color, method in ((study.COLORS[3], "sfc"), (study.COLORS[1], dear)):
            of = prices(rows, name, method)
            block = study.block(name, method)
            data[block] = [[ranks, f"{1e3 * seconds:.4f}"] for ranks, seconds in of.items()]
            lines.append(f"${block} using 1:2 with linespoints linecolor rgb '{color}' dashtype {dash} pointtype {4 + dash} "
                         f"title '{method}, {TITLES[name]}'")
    script = f"""set logscale xy 2
set key vertical maxrows 3
set xlabel 'ranks that make the map'
set ylabel 'a map of {PARTS} parts [ms of CPU, slowest rank]'
plot {", ".join(lines)}
"""
    study.plot(run, NAME, script, data, width=1100, height=760)


def price_table(rows):
    lines = [[TITLES[name], f"`{method}`", *(f"{1e3 * seconds:.2f}" for seconds in prices(rows, name, method).values())]
             for name, (_, dear) in SETS.items() for method in ("sfc", dear)]
    return study.table(["set", "method", *(f"{m} ranks" if m > 1 else "1 rank" for m in RANKS)], lines)


def totals(rows, name):
    of = [Clock(rows, name, dear) for dear in DEAR]
    lines = [[title.strip(), *(f"{seconds(clock):.3f}" for clock in of)] for title, seconds in strategies(SETS[name][1])]
    steps = [f"x {dear} ({1e3 * clock.step:.2g} ms)" for dear, clock in zip(DEAR, of)]
    return f"{TITLES[name][0].upper() + TITLES[name][1:]}:\n\n" + study.table(["", *steps], lines)


def choices(rows):
    """The model's choice against the best of all modes; and all ratios."""
    lines, ratios = [], []
    for name, (_, dear_method) in SETS.items():
        for method in ("sfc", dear_method):
            cells = []
            for dear in DEAR:
                modes, taken = Clock(rows, name, dear).modes(method)
                best = min(modes, key=modes.get)
                ratios.append(modes[taken] / modes[best])
                cells.append(f"`{taken}`" if taken == best else f"`{taken}`: {ratios[-1]:.3f} of `{best}`")
            lines.append([TITLES[name], f"`{method}`", *cells])
    return study.table(["set", "method", *(f"x {dear}" for dear in DEAR)], lines), ratios


def gained(rows, name, method, maps, spare, kept, rival="inline"):
    """Beside, against the same method in line; kept: against its first map for ever, where that is better."""
    found = []
    for dear in DEAR:
        clock = Clock(rows, name, dear)
        ours = min(clock.total(kind, method, spare) for kind in maps)
        theirs = clock.in_line(method, rival) if kept else clock.total(rival, method)
        found.append(f"x {dear} {100 * (ours / theirs - 1):+.1f} %")
    return ", ".join(found)


def section(rows):
    table_of_choices, ratios = choices(rows)
    low, high = (100 * x for x in published.LAZY_IMPROVEMENT)
    nodes = float(study.pick(rows, set="network", maps="price")[0]["number"]) / PARTS
    of = functools.partial(gained, rows, maps=("stale", "beside", "tended"))
    free = functools.partial(gained, rows, method="sfc", maps=("free",), spare=None, kept=True)
    return f"""What do 32 steps of {PARTS} parts take, by who makes maps and when ([lazy.md](lazy.md))? Runs are followed on one rank, step by
step, and maps are made of what was there at each step: `bench/study_beside.c` says how. The clock is virtual: a step is
the largest load and the most bytes of a part, a map its CPU seconds as measured below, in line on {PARTS} ranks by the resource
model's fit; offer and take cost 0.4 ms, a repair 0.5 ms. Every strategy has the interval that is best for it, in line as well as beside. Costs
of interactions are those of AVX-512 kernels for gravity and the nominal ones of dislocation, times 1, 10, 20 and 100: codes
like those of the paper are dearer. Left out: migration, latency, noise, and division of owners.

A map, CPU milliseconds of the slowest rank (figure 5.1; ranks share cores): of `interaction` 64 parts alone, the least of
three; of the others what balancing costs a run on so many ranks with all that belongs to it, the least of five steps:

{price_table(rows)}

Time of all steps over that of even ones, with the length of a step; 1, 2, 4 or 8 ranks are given away, whichever is best.
"In line" makes at least one map more in these steps; the first one for ever stands in a row of its own.

{chr(10).join(totals(rows, name) + chr(10) for name in SETS)}
Beside the run against the same method in line, `interaction`, ranks given away: galaxies {of('galaxies', 'interaction', spare=False, kept=False)};
clusters {of('clusters', 'interaction', spare=False, kept=False)}. Figures 5.10 to 5.12 have {low:g} to {high:g} % less. Where the first map
for ever is better than that, against it: galaxies {of('galaxies', 'interaction', spare=False, kept=True)}; clusters
{of('clusters', 'interaction', spare=False, kept=True)}. A map that costs hundreds of steps is not worth a second one, beside the run either,
and a late one has to be repaired. `sfc` on a spare core against the best of `sfc` in line, clusters:
{of('clusters', 'sfc', spare=True, kept=True)}. The network has {nodes:.0f} nodes per part; `tiles` against the best in line, ranks given away:
{of('network', 'tiles', spare=False, kept=True)}; on a spare core {of('network', 'tiles', spare=True, kept=True)}.

The fit lets a map cost more with each rank, part of which is that ranks here share cores. If it costs no more than on
{RANKS[-1]} ranks, late maps gain less: of `interaction` {of('galaxies', 'interaction', spare=False, kept=False, rival='capped')} on galaxies,
{of('clusters', 'interaction', spare=False, kept=False, rival='capped')} on clusters; of `sfc` on a spare core, clusters,
{of('clusters', 'sfc', spare=True, kept=True, rival='capped')}; of `tiles` on a spare core
{of('network', 'tiles', spare=True, kept=True, rival='capped')}.

Maps of `sfc` that cost nothing and come in time would take {free('galaxies')} on the galaxies, {free('clusters')} on clusters.
Of what lazy maps gain no more than that comes from their being made beside the run; the rest is repairs, which a run can
have in line.

What `--lazy auto` takes before it has measured anything, by the resource model (after equations 5.2 to 5.5) with the
seconds above, against the best of all modes: the same time or up to 2 % more in {sum(r <= 1.02 for r in ratios)} of {len(ratios)}, at worst {max(ratios):.2f} times. Where both
ways have been measured, each map goes where it is cheaper; that is not in this.

{table_of_choices}

![Seconds of a map by ranks](studies/{NAME}.png)

What ranks do from one map to the next (figure 5.5), {TITLES[DIAGRAM[0]]}, `{DIAGRAM[1]}`, x {DIAGRAM[2]}, {CYCLE} steps:

![Resources of three ways to balance](studies/{NAME}-resources.png)"""


if __name__ == "__main__":
    study.main(sys.modules[__name__])
