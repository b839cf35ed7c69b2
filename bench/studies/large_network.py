# SPDX-License-Identifier: BSD-3-Clause
"""Modelled time of a step of a large dislocation network by every method: figures 4.8 and 4.9.

Takes ten CPU minutes and 7 GB a seed."""
import functools

import chart
import compared
import published
import study
import total_time

NAME = "large_network"
TITLE = "A large network"

METHODS = ["count", "sfc", "auto", *compared.OWN_METHODS]
PARTS = [128, 512, 2048, 4096]
TILES = "2,2,4"  # of a generated network, for 4e5 nodes or so
MOST_SEEDS = 1  # a seed takes minutes
SET = "network-large"


def cases(run):
    return [functools.partial(compared.compare_network, run, seed, SET, run.lines(seed), METHODS, PARTS, ["--tile", TILES])
            for seed in run.seeds[:MOST_SEEDS]]


def draw(run, rows):
    lines = [total_time.gains(rows, method, color) for color, method in enumerate(METHODS[1:], 1)]
    lines.append(total_time.paper("figure 4.9", published.network_improvements()))
    chart.draw(run, NAME, [chart.panel(lines, "parts", total_time.AXIS, log="x")])


def section(rows):
    low, high = published.IMPROVEMENT["network"]
    gains = {over: [gain for parts in study.distinct(rows, "parts", int)
                    for gain in total_time.improvement(rows, "auto", over, parts=parts)] for over in ("count", "sfc")}
    boxes = [100 * (1 - ratio) for parts in study.distinct(rows, "parts", int)
             for ratio in compared.ratio(rows, "auto", compared.OWN_METHODS, parts=parts)]
    nodes = int(rows[0]["particles"])
    return f"""A generated network, repeated {nodes // (compared.LINE * compared.NETWORKS['network'])} times in all: {nodes:,} nodes,
{int(rows[0]['interactions']):,} pairs of segments. Modelled as above. Walls of `sectioning` and `bisection` after 30 moves,
as a run would make them in so many steps. Seeds: {len(study.distinct(rows, 'seed'))}, few because each takes minutes; median,
least and largest.

{total_time.set_table(rows, "4.9", published.network_improvements())}

![Improvement over equal counts](studies/{NAME}.svg)

The paper has {100 * low:.0f} to {100 * high:.0f} % over ParaDiS' own balancer (figures 4.8 and 4.9). Here `auto` gains
{study.spread(gains['count'], '{:.1f}')} % over equal counts, {study.spread(boxes, '{:.1f}')} % over the better of
ParaDiS' balancers and {study.spread(gains['sfc'], '{:.1f}')} % over the curve (all seeds and parts)."""
