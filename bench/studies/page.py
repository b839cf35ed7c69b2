#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Carries out studies and writes docs/studies.md.

usage: bench/studies/page.py [--build DIR] [--seeds N,...] [--networks DIR] [--jobs N] [--output DIR] [STUDY...]

The studies that are named (or "all") are carried out anew, for minutes each; then the page is written from the CSV files
of all studies that have one. Without a name only the page and its pictures are written."""
import importlib
import os
import re
import sys
import textwrap

import measured
import published
import study

STUDIES = ["models", "chosen", "unit_sizes", "sample_rates", "total_time", "large_network", "recovered", "choice", "drift",
           "elements", "exchange", "costs", "predicted", "ahead", "strategies"]


def wrapped(text):
    """Paragraphs at the width of the tree; tables, pictures and headings as they are."""
    blocks = re.split(r"\n{2,}", text.strip())
    return "\n\n".join(block if block[0] in "|!#" or block.startswith("```") else textwrap.fill(" ".join(block.split()), 120,
                                                                     break_long_words=False, break_on_hyphens=False)
                       for block in blocks)


def page(run, studies):
    lines = [
        "# Studies",
        "",
        f"What {published.SOURCE} shows of balancing interactions, measured again with this code, and what goes beyond it. "
        "Written by `bench/studies/page.py` from the CSV files in `docs/studies/`; every study is carried out by its "
        "name, such as `bench/studies/page.py unit_sizes`, and needs a build. No number on this page is typed in but the "
        "published ones, which `bench/studies/published.py` holds with their figures, the goals, and the last two sections, "
        "which are of version 0.1.0. Modelled steps of CSV files "
        "without a column `overhead_seconds` hold forces and the exchange of their data alone, without collective calls and CPU "
        "time outside forces: real steps are longer, and gains are smaller parts of them.",
        "",
        f"## {measured.TITLE}",
        "",
        measured.section(run.output),
    ]
    for one in studies:
        path = os.path.join(run.output, one.NAME + ".csv")
        if os.path.exists(path):
            rows = study.read_csv(path)
            lines += ["", f"## {one.TITLE}", "", one.section(rows)]
            if hasattr(one, "draw"):
                one.draw(run, rows)
    with open(os.path.join(study.FOLDER, "version-0.1.md"), encoding="utf-8") as file:
        lines += ["", file.read()]
    with open(os.path.join(os.path.dirname(run.output), "studies.md"), "w", encoding="utf-8") as file:
        file.write(wrapped("\n".join(lines)) + "\n")


def main():
    arguments = study.arguments_of(__doc__, (["study"], {"nargs": "*", "help": "of: " + ", ".join(STUDIES) + "; or all"}))
    run = study.Run(arguments)
    studies = [importlib.import_module(name) for name in STUDIES]
    unknown = [name for name in arguments.study if name not in STUDIES + ["all"]]
    if unknown:
        sys.exit(f"page.py: {unknown[0]} is no study; there are {', '.join(STUDIES)}")
    wanted = [one for one in studies if one.NAME in arguments.study or "all" in arguments.study]
    good = study.carry_out(wanted, run)
    page(run, studies)
    if not good:
        sys.exit(1)


if __name__ == "__main__":
    main()
