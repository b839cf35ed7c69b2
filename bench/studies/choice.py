# SPDX-License-Identifier: BSD-3-Clause
"""What auto takes, and what that gains over the curve, by what messages and bytes cost."""
import functools

import chart
import compared
import study

NAME = "choice"
TITLE = "What auto takes, by network"

NETWORKS = {  # of computers: what --network is told
    "free": "alpha=0,beta=0",
    "default": "",
    "dear": "alpha=2e-5,beta=1e-8",
    "one node": "node={parts}",
}
METHODS = ["sfc", "auto"]
GROUP = 64  # most particles of a group of targets: the default of the app
PARTS_GRAVITY = [128, 2048]
GENERATED, PARTS = "network-small", 512
FILES = {"Tantalum.data": 32, "Copper.data": 256, "180chains_16.10e.data": 512}


def words(told, parts):
    return ["--network", told.format(parts=parts)] if told else []


def measure(network, case):
    return [{"network": network, **row} for row in case()]


def cases(run):
    found = []
    for network, told in NETWORKS.items():
        for seed in run.seeds:
            for parts in PARTS_GRAVITY:
                more = words(told, parts)
                some = [functools.partial(compared.compare_gravity, run, seed, name, GROUP, METHODS, [parts], more)
                        for name in ("barneshut", "cutoff")]
                found += [functools.partial(measure, network, case) for case in some]
            some = [compared.network(run, seed, GENERATED, METHODS, [PARTS], *words(told, PARTS))]
            for name, parts in FILES.items():
                some += compared.files(run, [seed], METHODS, {name: [parts]}, *words(told, parts))
            found += [functools.partial(measure, network, case) for case in some]
    return found


def sets(rows):
    """(title, rows) of every set and number of parts."""
    for name in study.distinct(rows, "set"):
        of_set = study.pick(rows, set=name)
        for parts in study.distinct(of_set, "parts", int):
            yield f"{compared.title(name)}, {parts:,} parts", study.pick(of_set, parts=parts)


def gains(rows):
    """auto's step as a part of the curve's, per seed."""
    return compared.ratio(rows, "auto", ["sfc"])


def draw(run, rows):
    titles = [title.replace("`", "") for title, _ in sets(rows)]
    lines = [chart.series(network, [[i, study.median(gains(study.pick(found, network=network)))]
                                    for i, (_, found) in enumerate(sets(rows))], color, line=False)
             for color, network in enumerate(study.distinct(rows, "network"), 1)]
    chart.draw(run, NAME, [chart.panel(lines, "", "step by auto, of that by sfc", names=titles)])


def section(rows):
    names = study.distinct(rows, "network")
    lines = [[title, *(f"{compared.tally([row['chosen'] for row in study.pick(found, method='auto', network=network)])}: "
                       f"{study.median(gains(study.pick(found, network=network))):.2f}" for network in names)]
             for title, found in sets(rows)]
    told = "; ".join(f"*{network}* " + (f"`{NETWORKS[network].format(parts='P')}`" if NETWORKS.get(network) else "what `--network` is without "
                                         "being told") for network in names)
    return f"""`auto` evaluates its candidates for the network that it is told, so its choice depends on it: {told}. Parts of a node
share memory, and *one node* has all P of them. Groups of at most {GROUP} targets. {compared.measured_files(rows)}
Seeds: {len(study.distinct(rows, 'seed'))}. What `auto` took, by how many seeds, and its step as a part of that by `sfc`
(median):

{study.table(["set", *names], lines)}

![Step by auto, of that by the curve](studies/{NAME}.svg)"""
