# SPDX-License-Identifier: BSD-3-Clause
"""How well models know the load of the ranks: table 3.3, figures 3.2 and 3.3.

Runs on up to 16 ranks, which may share cores: loads are CPU seconds."""
import csv
import functools
import io
import os
import tempfile

import chart
import judging
import published
import study

NAME = "models"
TITLE = "Load models and what is measured"

MODELS = {"molecules": "particles or nodes", "barriers": "time between barriers", "forces": "time in forces",
          "predicted": "interactions x fitted costs"}
RANKS = [4, 8, 16]
BEFORE = 1  # steps
STEPS = {"gravity": 7, "network": 3}
APPS = {"gravity": "barneshut", "network": "dislocation"}
METHODS = {"gravity": ["count", "sfc", "rcb", "voronoi", "interaction"],
           "network": ["count", "sfc", "sectioning", "bisection"]}
LINES = 40  # of a network
STRESS = "0,0,0,5e8,5e8,0"  # that makes it move


def inputs(run, app):
    """(name, words) of every input."""
    seeds = run.seeds
    if app == "network":
        return [(f"chains-{seed}", [*run.lines(seed, LINES), "--stress", STRESS]) for seed in seeds]
    return [("clusters", run.stars(seeds[0])), ("cutoff", run.stars(seeds[0]) + ["--cutoff", run.cutoff(seeds[0])]),
            ("disks", ["--generate", f"disks:n={published.PARTICLES},seed={seeds[0]}"])]


def loads(run, app, words, ranks):
    """Of every rank what study_loads says of it, and its CPU seconds outside MPI: medians of the steps."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "cpu.csv")
        text = run.call("preload/equipoise-lazy", "-n", "0", "--report", report, "--", run.program("bench/study_loads"),
                        app, str(BEFORE), str(STEPS[app]), *words, ranks=ranks)
        outside = study.read_csv(report)
    rows = [{**row, "measured": float(cpu["cpu_seconds"]) - float(row["polling"])}
            for row, cpu in zip(csv.DictReader(io.StringIO(text)), outside)]
    found = []
    for part in range(ranks):
        of = study.pick(rows, part=part)
        found.append({"part": part, "neighbours": of[0]["neighbours"],
                      **{key: f"{study.median(study.values(of, key)):.9g}" for key in ("measured", *MODELS)}})
    return found


def measure(run, app):
    found = {}
    for name, words in inputs(run, app):
        for ranks in RANKS:
            for method in METHODS[app]:
                found[f"{name} {method} {ranks}"] = loads(run, app, words + ["--balance", method], ranks)
    rows = [{"app": app, **row, "seconds": "", "outside": ""} for row in judging.judge(found, list(MODELS))]
    for row in study.pick(rows, kind="run", model="measured"):
        of = found[row["run"]]
        seconds = sum(study.values(of, "measured"))
        row["seconds"] = f"{seconds:.4f}"
        row["outside"] = f"{1 - sum(study.values(of, 'forces')) / seconds:.4f}"
    return rows


def cases(run):
    return [functools.partial(measure, run, app) for app in APPS]


PANELS = [("imbalance", 100, "imbalance [%]", True), ("kurtosis", 1, "kurtosis", True),
          ("rank", 1, "rank correlation", False), ("steps", 1, "steps to 12 %", True)]  # of the measured loads, too


def draw(run, rows):
    panels = []
    for app in study.distinct(rows, "app"):
        of = study.pick(rows, app=app, kind="run")
        names = sorted(study.distinct(of, "run"), key=lambda name: study.values(study.pick(of, run=name, model="measured"),
                                                                               "imbalance"))
        for column, factor, label, line in PANELS:
            lines = []
            for i, model in enumerate(list(MODELS) + (["measured"] if line else [])):
                cells = [factor * float(study.pick(of, run=name, model=model)[0][column]) for name in names]
                points = [[place, cell] for place, cell in enumerate(cells) if cell >= 0 or column != "steps"]
                measured = model == "measured"
                lines.append(chart.series(model, points, 7 if measured else 1 + i, line=measured, mark=not measured))
            panels.append(chart.panel(lines, "run, by measured imbalance", label, APPS[app]))
    chart.draw(run, NAME, panels, 4)


def error_row(title, rows, model):
    row = study.pick(rows, model=model)[0]
    paper = published.MODEL_ERRORS.get(model)
    printed = [f"{paper[0]:.1f}; {paper[1]:.3f}; {paper[2]:.3f}"] if paper else ["-"]
    return [title, MODELS[model], f"{100 * float(row['imbalance']):.1f}", f"{100 * float(row['bias']):+.1f}",
            f"{float(row['kurtosis']):.3f}", f"{float(row['rank']):.3f}", row["steps"], *printed]


def by_ranks(rows, app, model):
    errors = study.pick(rows, app=app, kind="error", model=model)
    return "; ".join(f"{100 * float(study.pick(errors, parts=ranks)[0]['imbalance']):.1f}" for ranks in RANKS)


def section(rows):
    lines = [error_row(name, study.pick(rows, app=app, kind="error", parts=0), model)
             for app, name in APPS.items() for model in MODELS]
    few = [[name, model, by_ranks(rows, app, model)] for app, name in APPS.items() for model in MODELS]
    return f"""What a model says of the load of each rank, beside CPU seconds of the rank outside MPI, in forces or not: those of
`equipoise-lazy --report` below the program, less the seconds in which it asks MPI whether something has come. A run is
{STEPS['gravity']} steps of barneshut or {STEPS['network']} of dislocation with one map, after {BEFORE} other, and loads are medians over
the steps: {', '.join(str(n) for n in RANKS)} ranks; barneshut by {', '.join(METHODS['gravity'])}; dislocation by
{', '.join(METHODS['network'])}; {published.PARTICLES:,} particles in clusters, also within a cutoff, or in two discs; two networks of
{LINES} lines. *molecules*: particles or nodes of the rank. *barriers*: CPU seconds in the evaluation of forces with the
exchange of their data and the waiting in it, at its collective calls too, as a rank that waits burns CPU time here: the
nearest to ddcMD's time outside barriers, which also holds waits for neighbours. *forces*: CPU seconds in forces and their lists. *predicted*: this project's model, counted
interactions times fitted costs.

Root mean squares over the runs: of the difference in imbalance, in points, and its mean (bias); in kurtosis; of 1 minus the rank
correlation; and of the difference in steps until diffusion (Algorithm 5 corrected, on the graph of ranks that have near
particles or neighbouring numbers) comes to {100 * published.CONVERGED:g} % if the model's loads are what it is given. Table 3.3 is ddcMD on 64 and 512
processes; here are few ranks, and they share cores, so that some of the differences are noise of the measurement.

{study.table(["app", "model", "imbalance", "bias", "kurtosis", "rank", "steps", "table 3.3: imbalance; kurtosis; rank"], lines)}

By number of ranks ({'; '.join(str(n) for n in RANKS)}), error of imbalance in points:

{study.table(["app", "model", "imbalance by ranks"], few)}

![Models beside measured loads](studies/{NAME}.svg)"""
