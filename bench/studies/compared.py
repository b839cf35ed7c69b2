# SPDX-License-Identifier: BSD-3-Clause
"""What-ifs of the sets that several studies share, and what follows from them. Target groups of gravity come in several
sizes: small ones balance, large ones need less bookkeeping and fewer messages. Every method gets the size that is best
for it, at each number of parts; a method that were held to one size would be beaten by that size.

Generated networks are even: their lines fill the box. Real ones are not, so files of some are measured where the user
has them."""
import functools

import study

GROUPS = [32, 64, 128]
LEAF = 16  # most particles of a leaf; less where groups are smaller
SETS = {"barneshut": "Barnes-Hut", "cutoff": "within a cutoff", "network": "dislocation network, 28,800 nodes",
        "network-small": "dislocation network, 7,200 nodes", "network-large": "dislocation network, tiled"}
NETWORKS = {"network": 400, "network-small": 100}  # lines of a network
LINE = 72  # nodes of a line
OWN_METHODS = ["sectioning", "bisection"]  # of the dislocation app: ParaDiS'
# Files of public test inputs -> whose, and the numbers of parts that have 4 to 35 nodes each.
FILES = {"Tantalum.data": ("ParaDiS", [16, 32, 64]), "Copper.data": ("ParaDiS", [128, 256, 512]),
         "180chains_16.10e.data": ("ExaDiS", [256, 512, 1024])}


def title(name):
    """A set as it is called on the page."""
    return f"`{name}` of {FILES[name][0]}" if name in FILES else SETS[name]


def plain(name):
    """A set as it is called in a picture."""
    return title(name).replace("`", "")


def is_network(name):
    return name in FILES or name.startswith("network")


def measured_files(rows):
    """A sentence that says where sets from files come from, or that there are none."""
    names = [name for name in study.distinct(rows, "set") if name in FILES]
    if not names:
        return "Networks from files were not measured (`--networks`)."
    whose = list(dict.fromkeys(FILES[name][0] for name in names))
    listed = " and ".join(f"{', '.join(f'`{name}`' for name in names if FILES[name][0] == owner)} of {owner}" for owner in whose)
    return f"Networks from files are public test inputs: {listed}; their seeds are those of the sampling."


def gravity_words(run, seed, name, group):
    words = [*run.stars(seed), "--group-size", str(group), "--leaf-size", str(min(group, LEAF))]
    return words + (["--cutoff", run.cutoff(seed)] if name == "cutoff" else [])


def compare_gravity(run, seed, name, group, methods, parts, more):
    found = run.compare("barneshut", [*gravity_words(run, seed, name, group), *more], methods, parts)
    return [{"seed": seed, "set": name, "group": group, **row} for row in found]


def compare_network(run, seed, name, words, methods, parts, more):
    found = run.compare("dislocation", [*words, *more], methods, parts)
    return [{"seed": seed, "set": name, "group": 1, **row} for row in found]


def gravity(run, seed, methods, parts, *more, groups=None):
    """Cases: both sets with groups of every size."""
    return [functools.partial(compare_gravity, run, seed, name, group, methods, parts, more)
            for name in ("barneshut", "cutoff") for group in groups or GROUPS]


def network(run, seed, name, methods, parts, *more):
    """A case: a generated network."""
    return functools.partial(compare_network, run, seed, name, run.lines(seed, NETWORKS.get(name)), methods, parts, more)


def files(run, seeds, methods, parts_of, *more):
    """Cases: the networks from files that there are. parts_of: {name: numbers of parts}."""
    paths = {name: run.file(name) for name in parts_of}
    return [functools.partial(compare_network, run, seed, name, [path, "--seed", str(seed)], methods, parts_of[name], more)
            for seed in seeds for name, path in paths.items() if path]


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


def best_rows(rows, method, key="step_seconds", **wanted):
    """Of each seed the row, of all sizes of groups, with which a method needs least."""
    return [min(study.pick(rows, method=method, seed=seed, **wanted), key=lambda row: float(row[key]))
            for seed in study.distinct(rows, "seed", int)]


def best_group(rows, method, key="step_seconds", **wanted):
    """The sizes of groups with which a method needs least, of all seeds, as they are printed."""
    found = [int(row["group"]) for row in best_rows(rows, method, key, **wanted)]
    low, high = min(found), max(found)
    return str(low) if low == high else f"{low} to {high}"


def tally(words):
    """Words with how often each comes, the most frequent first."""
    return ", ".join(f"`{word}` {words.count(word)}"
                     for word in sorted(set(words), key=lambda word: (-words.count(word), word)))
