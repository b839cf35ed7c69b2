# SPDX-License-Identifier: BSD-3-Clause
"""What-ifs of the sets that several studies share, and what follows from them. Target groups of gravity come in several
sizes: small ones balance, large ones need less bookkeeping and fewer messages. Every method gets the size that is best
for it, at each number of parts; a method that were held to one size would be beaten by that size."""
import study

GROUPS = [8, 16, 32, 64, 128]
LEAF = 16  # most particles of a leaf; less where groups are smaller
SETS = {"barneshut": "Barnes-Hut", "cutoff": "within a cutoff", "network": "dislocation network, 28,800 nodes",
        "network-small": "dislocation network, 7,200 nodes", "network-large": "dislocation network, tiled"}
NETWORKS = {"network": 400, "network-small": 100}  # lines of a network, of 72 nodes each
OWN_METHODS = ["sectioning", "bisection"]  # of the dislocation app: ParaDiS'


def gravity(run, seed, methods, parts, *more, groups=None):
    rows = []
    for name, words in (("barneshut", []), ("cutoff", ["--cutoff", run.cutoff(seed)])):
        for group in groups or GROUPS:
            sizes = ["--group-size", str(group), "--leaf-size", str(min(group, LEAF))]
            found = run.compare("barneshut", [*run.stars(seed), *words, *sizes, *more], methods, parts)
            rows += [{"seed": seed, "set": name, "group": group, **row} for row in found]
    return rows


def network(run, seed, name, methods, parts, *more):
    found = run.compare("dislocation", [*run.lines(seed, NETWORKS.get(name)), *more], methods, parts)
    return [{"seed": seed, "set": name, "group": 1, **row} for row in found]


def least(rows, key="step_seconds", **wanted):
    """The least of a column over the sizes of groups, one number per seed."""
    chosen = study.pick(rows, **wanted)
    return [min(study.values(study.pick(chosen, seed=seed), key)) for seed in study.distinct(rows, "seed", int)]


def ratio(rows, method, others, key="step_seconds", **wanted):
    """A method's least time as a part of that of the best of the others, per seed."""
    theirs = [min(times) for times in zip(*(least(rows, key, method=other, **wanted) for other in others))]
    return [ours / best for ours, best in zip(least(rows, key, method=method, **wanted), theirs)]


def per_part(rows):
    """{parts: particles or nodes per part} of a set, of its first seed."""
    return {parts: float(study.pick(rows, parts=parts)[0]["particles"]) / parts
            for parts in study.distinct(rows, "parts", int)}


def best_group(rows, method, **wanted):
    """The sizes of groups with which a method needs least, of all seeds, as they are printed."""
    found = []
    for seed in study.distinct(rows, "seed", int):
        of = study.pick(rows, method=method, seed=seed, **wanted)
        found.append(int(min(of, key=lambda row: float(row["step_seconds"]))["group"]))
    low, high = min(found), max(found)
    return str(low) if low == high else f"{low} to {high}"
