# SPDX-License-Identifier: BSD-3-Clause
"""The table of goals: each goal, and the value reached by the CSV files of the other studies."""
import os

import compared
import costs
import exchange
import recovered
import study

TITLE = "Goals"

# Quantity -> (must, aim): upper limits of ratios, seconds and shares of a run, lower limits of what is recovered.
GOALS = {
    "recovered": (95, 99),
    "network over curve": (0.75, 0.5),
    "network over boxes": (0.6, 0.3),
    "gravity over curve": (0.85, 0.65),
    "exchange": (0.4, 0.15),
    "tiles": (0.3, 0.05),
    "share": (5, 2),
    "comparison": (300, 60),
}
NODES = (4, 35)  # per part: the regime of the goals for networks
PARTICLES = (8, 64)  # per part: that of gravity
EXCHANGE = 2048  # parts
TILES = 4096  # parts


def within(rows, low, high):
    """The numbers of parts that have so many particles or nodes each, in the whole numbers that a user would say."""
    return [parts for parts, each in compared.per_part(rows).items() if low <= round(each) <= high]


def ratios(rows, sets, bounds, others):
    """auto's step as a part of that of the best of the others: all sets, seeds, and parts of the regime."""
    found = []
    for name in sets:
        of_set = study.pick(rows, set=name)
        for parts in within(of_set, *bounds) if of_set else []:
            found += compared.ratio(of_set, "auto", others, parts=parts)
    return found


def verdict(numbers, goal, above):
    if not numbers:
        return "-"
    middle = study.median(numbers)
    met = [middle >= limit if above else middle <= limit for limit in GOALS[goal]]
    return "aim" if met[1] else "must" if met[0] else "missed"


def line(what, goal, numbers, form="{:.2f}", unit="", above=False):
    must, aim = GOALS[goal]
    return [what, f"{must:g}{unit}", f"{aim:g}{unit}", study.spread(numbers, form) + (unit if numbers else ""),
            verdict(numbers, goal, above)]


def recovered_lines(rows):
    rows = recovered.with_best(rows)
    lines = []
    for title, what in (("same groups", recovered.of_same_size), ("best groups each", recovered.of_best_sizes)):
        for name in study.distinct(rows, "set"):
            of_set = study.pick(rows, set=name)
            shares = [share for parts in study.distinct(of_set, "parts", int)
                      for share in what(of_set, "best", parts=parts)]
            note = "" if compared.is_network(name) else f", {title}"
            if note or title == "same groups":
                lines.append(line(f"imbalance recovered by the best method, computing only, {compared.title(name)}{note}", "recovered",
                                  shares, "{:.1f}", " %", above=True))
    return lines


def read(folder, name):
    path = os.path.join(folder, name + ".csv")
    return study.read_csv(path) if os.path.exists(path) else []


def exchange_lines(rows):
    lines = []
    for name, title in (("barneshut", "Barnes-Hut"), ("cutoff", "within a cutoff")):
        of_set = study.pick(rows, set=name)
        for key, what in (("exchange_seconds", "communication"), ("step_seconds", "whole step")):
            lines.append(line(f"best plan against direct messages, `sfc`, {EXCHANGE:,} parts, {title}: {what}", "exchange",
                              exchange.of_direct(of_set, "auto", EXCHANGE, key)))
    return lines


def network_lines(rows):
    lines = []
    regime = f"{NODES[0]} to {NODES[1]} nodes per part"
    names = [name for name in study.distinct(rows, "set") if compared.is_network(name)]
    for goal, title, others in (("network over curve", "`sfc`", ["sfc"]),
                                ("network over boxes", "the better of `sectioning` and `bisection`", compared.OWN_METHODS)):
        lines += [line(f"`auto` against {title}, {compared.title(name)}, {regime}", goal, ratios(rows, [name], NODES, others))
                  for name in names]
    return lines


def cost_lines(rows):
    tiles = study.values([row for row in study.pick(rows, what=costs.TILES) if int(row["parts"]) == TILES], "seconds")
    run = [100 * value for value in study.values(study.pick(rows, what=costs.SHARE), "share")]
    compare = study.pick(rows, what=costs.COMPARE)
    case = f"{compare[0]['case']}, {int(compare[0]['particles']):,} particles" if compare else ""
    return [line(f"CPU time of `tiles` for {TILES:,} parts from samples", "tiles", tiles, "{:.2f}", " s"),
            line(f"share of balancing in {costs.STEPS} steps with `auto` on {costs.RANKS} ranks", "share", run, "{:.1f}", " %"),
            line(f"CPU time of comparing {case}, both ranks", "comparison", study.values(compare, "seconds"), "{:.1f}", " s")]


def section(folder):
    times = read(folder, "total_time")
    lines = recovered_lines(read(folder, "recovered")) + network_lines(times)
    lines += [line(f"`auto` against `sfc`, {compared.SETS[name]}, {PARTICLES[0]} to {PARTICLES[1]} particles per part",
                   "gravity over curve", ratios(times, [name], PARTICLES, ["sfc"])) for name in ("barneshut", "cutoff")]
    lines += exchange_lines(read(folder, "exchange")) + cost_lines(read(folder, "costs"))
    lines = [cells for cells in lines if cells[-1] != "-"]
    missed = sum(cells[-1] == "missed" for cells in lines)
    if not lines:
        return "No study of them has been carried out."
    return f"""What this project set itself, and what the studies below found: of all seeds and numbers of parts of the regime the
median, and in brackets the least and the largest. Modelled times have alpha 2e-6 and beta 1e-9; every method has its best
exchange plan and its best size of groups. How many seeds there are, fewer where a study takes
long, says each section. Missed, by the median: {missed} of {len(lines)} lines.

{study.table(["what", "must", "aim", "measured", "reached"], lines)}"""
