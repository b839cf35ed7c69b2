# SPDX-License-Identifier: BSD-3-Clause
"""What balancing and comparing cost themselves: CPU seconds of one core of this machine.

Nothing else should run meanwhile."""
import functools
import os

import chart
import published
import study

NAME = "costs"
TITLE = "What it costs"
ALONE = True

TILES = "tiles from samples"
SHARE = "auto in a run"
COMPARE = "comparison"

INPUT = os.path.join(study.ROOT, "data", "colliding-galaxies.hdf5")  # scripts/demo's
RANKS = 4
STEPS = 50
PARTICLES = 100000  # of the comparison
COMPARING = 2  # ranks
METHODS = ["count", "sfc", "rcb", "tiles", "jagged", "interaction"]
PARTS = [32, 64, 128, 256, 512, 1024, 2048, 4096]
MOST_COMPARISONS = 2  # seeds: each takes half a minute


def row(what, seed, case, seconds, **more):
    """Of what there is in one case and not in another, nothing."""
    return {"seed": seed, "what": what, "case": case, "seconds": seconds,
            **{key: more.get(key, "") for key in ("particles", "parts", "items", "share", "force", "exchange", "chosen")}}


def tiles(run, core):
    """Of particles that have a seed of their own."""
    found = run.rows("bench/bench_tiles", str(published.PARTICLES), str(published.PER_PARTICLE), core=core)
    return [row(TILES, "", f"{cut['shape']}, {cut['set']}", float(cut["create_s"]), parts=int(cut["nparts"]),
                items=int(cut["items"])) for cut in found]


def share(run, core, seed):
    """Of the seconds of the slowest rank, step by step."""
    report, _ = run.report("barneshut", INPUT, "--steps", str(STEPS), "--balance", "auto", "--seed", str(seed), ranks=RANKS,
                           core=core)
    total = {key: sum(step[key] for step in report["steps"])
             for key in ("balance_seconds", "force_seconds_max", "exchange_seconds_max")}
    balance = total["balance_seconds"]
    taken = list(dict.fromkeys(step["chosen"] for step in report["steps"] if step["chosen"]))
    return [row(SHARE, seed, f"{RANKS} ranks, {len(report['steps']) - 1} steps", balance, share=balance / sum(total.values()),
                force=total["force_seconds_max"], exchange=total["exchange_seconds_max"], chosen=" ".join(taken),
                particles=report["particles"])]


def comparison(run, core, seed):
    """CPU seconds of both ranks together, start and measuring of costs included."""
    before = run.of_thread.seconds
    report, _ = run.report("barneshut", "--generate", f"clusters:n={PARTICLES},seed={seed}", "--compare", ",".join(METHODS),
                           "--parts", ",".join(str(p) for p in PARTS), ranks=COMPARING, core=core)
    return [row(COMPARE, seed, f"{len(METHODS)} methods, {len(PARTS)} numbers of parts, {COMPARING} ranks",
                run.of_thread.seconds - before, parts=PARTS[-1], particles=report["particles"])]


def cases(run):
    core = max(os.sched_getaffinity(0))
    return ([functools.partial(tiles, run, core)] + [functools.partial(share, run, core, seed) for seed in run.seeds]
            + [functools.partial(comparison, run, core, seed) for seed in run.seeds[:MOST_COMPARISONS]])


def draw(run, rows):
    """Seconds of cutting tiles by the number of parts."""
    cut = study.pick(rows, what=TILES)
    lines = [chart.series(case, [[row["parts"], row["seconds"]] for row in study.pick(cut, case=case)], color)
             for color, case in enumerate(study.distinct(cut, "case"), 1)]
    chart.draw(run, NAME, [chart.panel(lines, "parts", "CPU time of cutting tiles [s]", log="x", start=0)])


def section(rows):
    lines = []
    cut = study.pick(rows, what=TILES)
    for case in study.distinct(cut, "case"):
        of = study.pick(cut, case=case)
        lines.append([case, f"{int(of[0]['items']):,}", *(f"{seconds:.2f}" for seconds in study.values(of, "seconds"))])
    run, compare = study.pick(rows, what=SHARE), study.pick(rows, what=COMPARE)
    text = f"""CPU seconds of one core of this machine; several ranks share it.

`tiles` from samples of interactions, seconds of one call (the least of three), by number of parts; whole lists of
{published.PARTICLES:,} particles within a cutoff, in clusters or spread evenly, sampled for the most parts:

{study.table(["shape, particles", "samples", *(f"{parts:,}" for parts in study.distinct(cut, "parts", int))], lines)}

![CPU time of cutting tiles](studies/{NAME}.svg)
"""
    if run:
        took = "; ".join(study.distinct(run, "chosen"))
        percent = study.spread([100 * value for value in study.values(run, "share")], "{:.1f}")
        text += f"""
A run with `--balance auto` ({run[0]['case']}, {int(run[0]['particles']):,} particles of `data/colliding-galaxies.hdf5`) spends
{percent} % of the slowest ranks' seconds on balancing: {study.spread(study.values(run, 'seconds'), '{:.2f}')} s, beside
{study.spread(study.values(run, 'force'), '{:.2f}')} s of forces and {study.spread(study.values(run, 'exchange'), '{:.2f}')} s of
exchange (runs: {len(run)}; median, least and largest). It took {took}.
"""
    if compare:
        text += f"""
`--compare` of {compare[0]['case']} (up to {int(compare[0]['parts']):,} parts), {int(compare[0]['particles']):,} particles, from start to
end: {study.spread(study.values(compare, 'seconds'), '{:.1f}')} s of both ranks together (seeds: {len(compare)}).
"""
    return text
