# SPDX-License-Identifier: BSD-3-Clause
"""How often the cost model takes the best of none, diffusive and global: table 3.4, figure 3.4.

All times are virtual."""
import functools

import chart
import published
import study

NAME = "chosen"
TITLE = "None, diffusive or global"

WAYS = ["none", "diffusive", "global"]
FORMS = {"said": "corrected", "said_printed": "as printed"}
PATTERNS = ["rises along an axis", "a heavy ball", "parts unlike"]  # of study_gain
SHOWN = {"parts": 64, "steps": 200}  # of table 3.4


def measure(run):
    """Scenarios come twice: what the corrected model says, and then what the printed one does."""
    found = run.rows("bench/study_gain")
    rows = []
    for corrected, printed in zip(found[::2], found[1::2]):
        graph, *more = corrected["scenario"].split()
        rows.append({"graph": graph.split(":")[0], **dict(word.split("=") for word in more), "steps": corrected["steps"],
                     "imbalance": corrected["imbalance"], **{way: corrected[way] for way in WAYS},
                     "said": corrected["said"], "said_printed": printed["said"], "best": corrected["best"]})
    return rows


def cases(run):
    return [functools.partial(measure, run)]


def seconds(row, way):
    return float(row[WAYS[way]])


def taken(row, form):
    return seconds(row, int(row[form]))


def gain(row, spent):
    """Over doing nothing."""
    return seconds(row, 0) / spent - 1


def penalty(row, spent):
    return spent / seconds(row, int(row["best"])) - 1


def mean(numbers):
    return sum(numbers) / len(numbers) if numbers else 0.0


def percent(value, form="{:.1f}"):
    return form.format(100 * value)


def draw(run, rows):
    curves = {"global": lambda row: seconds(row, 2), "diffusive": lambda row: seconds(row, 1),
              "model": lambda row: taken(row, "said"), "best": lambda row: seconds(row, int(row["best"]))}
    ranked = sorted(rows, key=lambda row: gain(row, seconds(row, int(row["best"]))))
    gains = [chart.series(name, [[i, max(-100, 100 * gain(row, of(row)))] for i, row in enumerate(ranked)], -color,
                          line=name == "best", mark=name != "best") for color, (name, of) in enumerate(curves.items(), -4)]
    start = chart.series("imbalance", enumerate(sorted(100 * value for value in study.values(rows, "imbalance"))), 7, mark=False)
    chart.draw(run, NAME, [chart.panel(gains, "scenario, by the gain of the best", "gain [%]", "Gain over doing nothing"),
                           chart.panel([start], "scenario, by imbalance", "imbalance [%]", "Where scenarios begin")])


def judged(rows, form, title):
    """A line of the first table."""
    wrong = [penalty(row, taken(row, form)) for row in rows if row[form] != row["best"]]
    return [title, percent(1 - len(wrong) / len(rows)), percent(mean(wrong), "{:.2f}"), percent(max(wrong, default=0.0)),
            percent(mean([gain(row, taken(row, form)) for row in rows]))]


def always(rows, way):
    """The same of one who takes the same way each time."""
    wrong = [penalty(row, seconds(row, way)) for row in rows if int(row["best"]) != way]
    return [f"always {WAYS[way]}", percent(1 - len(wrong) / len(rows)), percent(mean(wrong), "{:.2f}"),
            percent(max(wrong, default=0.0)), percent(mean([gain(row, seconds(row, way)) for row in rows]))]


def scenarios(rows):
    """Of 64 parts and 200 steps: where diffusive gains most over global, and where it loses most; of all, the largest
    imbalance at which it is best to do nothing, and the most expensive wrong choice."""
    some = study.pick(rows, **SHOWN)
    idle = [row for row in rows if row["best"] == "0"]
    return [max(some, key=lambda row: seconds(row, 2) / seconds(row, 1)), max(some, key=lambda row: seconds(row, 1) / seconds(row, 2)),
            max(idle, key=lambda row: float(row["imbalance"])), max(rows, key=lambda row: penalty(row, taken(row, "said")))]


def scenario_row(row):
    what = f"{row['graph']}, {PATTERNS[int(row['pattern'])]}, x{1 + float(row['strength']):g}"
    numbers = [f"{1e3 * seconds(row, way):.4g}" for way in range(3)]
    return [what, row["parts"], row["steps"], row["price"], percent(float(row["imbalance"]), "{:.0f}"), *numbers,
            WAYS[int(row["said"])], WAYS[int(row["best"])]]


def section(rows):
    first = [judged(rows, form, f"model, {title}") for form, title in FORMS.items()] + [always(rows, way) for way in (2, 1, 0)]
    best = "; ".join(f"{name} in {percent(mean([row['best'] == str(way) for row in rows]))} %" for way, name in enumerate(WAYS))
    not_global = [penalty(row, seconds(row, 2)) for row in rows if row["best"] != "2"]
    printed = [[f"({name})", none, diffusive, both, said] for name, none, diffusive, both, said in published.SCENARIOS]
    return f"""{len(rows)} scenarios in virtual time (`bench/study_gain.c`): graphs of the load-balance benchmark of 8,000 to 16,000
vertices on 2 to 64 parts, whose weights differ and then stay, for 5 to 200 steps. *global*: the optimal cut of the curve once,
which costs 0.2 or 10 steps. *diffusive*: a step of real moves of boundary vertices before each step, each 0.01 step. The
model says before the first step which of the three is shortest (equations 3.1 to 3.7), once with the errors of print
corrected, once as printed. Left out: weights that change, messages of the steps, noise. Gains are mean seconds without
balancing over seconds with it, minus 1.

{study.table(["who decides", "right, %", "mean penalty where wrong, %", "worst penalty, %", "mean gain over none, %"], first)}

Best is {best}. Where global is not best, always taking it costs {percent(mean(not_global))} % on average. The thesis has, of its
benchmark: right in {percent(published.CHOSEN_RIGHT, '{:.0f}')} % (ddcMD {percent(published.CHOSEN_RIGHT_DDCMD, '{:.0f}')} %), wrong
choices cost {percent(published.WRONG_PENALTY, '{:.2f}')} %; global good in {percent(published.GLOBAL_BEST, '{:.0f}')} %, in the others
it costs {percent(published.GLOBAL_PENALTY, '{:.0f}')} %; mean gains {', '.join(f"{name} {percent(value, '{:.0f}')} %" for name, value in published.GAINS.items())}.

Four scenarios, in virtual ms. The first two have {SHOWN['parts']} parts and {SHOWN['steps']} steps, as table 3.4: where diffusive
gains most over global, and where it loses most. Of all scenarios, the third has the largest imbalance at which it is best
to do nothing, the fourth is the model's most expensive mistake.

{study.table(["graph and weights", "parts", "steps", "price, steps", "imbalance, %", *WAYS, "model takes", "best"],
             [scenario_row(row) for row in scenarios(rows)])}

Table 3.4, nanowire on 64 processes, 200 steps, seconds:

{study.table(["scenario", *WAYS, "model takes"], printed)}

In (a) global takes longer than doing nothing by more than its 9 s, so it did not balance there; equation 3.5, which
expects the mean load, cannot say that. The model here is told what the method has reached before.

![Gain over doing nothing](studies/{NAME}.svg)"""
