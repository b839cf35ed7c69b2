# SPDX-License-Identifier: BSD-3-Clause
"""The step time of auto against every single method one step later, and against other partitioners.

Networks from files are measured where they are (--networks)."""
import functools

import study

NAME = "ahead"
TITLE = "auto one step later"

SINGLE = ["sfc", "rcb", "rib", "sfc:split", "jagged", "tiles", "interaction"]
RIVALS = ["hypergraph", "rib", "metis"]
NEAR, FAR = [8, 16, 32, 64], [64, 256, 512, 1024]
NETWORKS = {"default": [], "slow": ["--network", "alpha=2e-5,beta=1e-8"]}
GENERATED = {"disks": 8192, "hernquist": 8192, "plummer": 8192}  # particles
FARTHER = 8192  # of the largest numbers of parts
FILES = {"Copper.data": "ParaDiS", "Tantalum.data": "ParaDiS"}
STRESS = "0,0,0,5e8,5e8,0"  # that makes a network move
KEPT = ["parts", "method", "step_seconds", "step_next", "balance_seconds", "chosen"]


def compare(run, what, name, seed, network, app, words, methods, parts):
    rows = run.compare(app, [*words, *NETWORKS[network]], methods, parts)
    return [{"what": what, "set": name, "seed": seed, "network": network, **{key: row[key] for key in KEPT}} for row in rows]


def of_set(run, name, seed, app, words):
    found = [functools.partial(compare, run, "next", name, seed, "default", app, words(GENERATED.get(name)), [*SINGLE, "auto"], NEAR)]
    if seed > run.seeds[0]:  # many parts take minutes
        return found
    return found + [functools.partial(compare, run, "rivals", name, seed, network, app, words(FARTHER), ["auto", *RIVALS], FAR)
                    for network in NETWORKS]


def cases(run):
    found = []
    for name in GENERATED:
        for seed in run.seeds:
            words = lambda n, name=name, seed=seed: ["--generate", f"{name}:n={n},seed={seed}"]
            found += of_set(run, name, seed, "barneshut", words)
    for name in FILES:
        path = run.file(name)
        if path:
            found += of_set(run, name, run.seeds[0], "dislocation", lambda n, path=path: [path, "--stress", STRESS])
    return found


def least(rows, key):
    return min(study.values(rows, key))


def groups(rows, what):
    """{(set, parts, network, seed): rows}"""
    found = {}
    for row in study.pick(rows, what=what):
        found.setdefault((row["set"], int(row["parts"]), row["network"], row["seed"]), []).append(row)
    return found


def ratio(rows, key):
    """auto's, of the best of all others."""
    return least(study.pick(rows, method="auto"), key) / least([row for row in rows if row["method"] != "auto"], key)


def span(numbers):
    return study.spread(numbers, "{:.3f}") if len(numbers) > 1 else f"{numbers[0]:.3f}" if numbers else "-"


def by_set(rows, what, parts, number, network=None):
    found = groups(rows, what)
    return [[name, *(span([number(some) for key, some in found.items()
                           if key[:2] == (name, p) and network in (None, key[2])]) for p in parts)]
            for name in dict.fromkeys(key[0] for key in found)]


def section(rows):
    later = [ratio(some, "step_next") for some in groups(rows, "next").values()]
    seeds = len(study.distinct(study.pick(rows, what="next", set="disks"), "seed"))
    sizes = ", ".join(f"`{name}:n={n}`" for name, n in GENERATED.items())
    return f"""Sets on which nothing of `auto` was tuned: {sizes} ({seeds} seeds), and {", ".join(f"`{name}`" for name in FILES)} of ParaDiS
below stress. All numbers are `auto`'s seconds as a part of those of the best of the others: median, least and largest over
the seeds. Steps are modelled.

**One step later.** `auto` of `--compare` against {", ".join(f"`{m}`" for m in SINGLE)}: the map of now, evaluated after everything has
moved on by a step. All of these are among what it tries, so that none can be above 1.000: median {study.median(later):.3f}.

{study.table(["set", *(f"{p} parts" for p in NEAR)], by_set(rows, "next", NEAR, lambda some: ratio(some, "step_next")))}

**Against other partitioners**: {", ".join(f"`{m}`" for m in RIVALS)}, and `scotch` of version 0.1.0; {FARTHER:,} particles or the network; one seed. *slow*
is `{NETWORKS["slow"][1]}`. They are among what `auto` tries, so that by the step that it chooses by, the next one, it cannot
be behind them.

{against_rivals(rows, "step_next")}

The step of now is not what it chooses by, and there it can be. Where it is above 1.000, the rival's map is better now and no better one step later.

{against_rivals(rows, "step_seconds")}"""


def against_rivals(rows, key):
    halves = [by_set(rows, "rivals", FAR, lambda some: ratio(some, key), network) for network in NETWORKS]
    return study.table(["set", *(f"{p}, {network}" for network in NETWORKS for p in FAR)],
                       [left + right[1:] for left, right in zip(*halves)])
