# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the apps, for the benches of this folder."""
import json
import os
import subprocess
import sys
import tempfile

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "helpers", "run.sh")  # mpirun as root, too


def command(program, ranks, *words):
    return [*([RUN, str(ranks)] if ranks > 1 else []), program, *words]


def report(program, ranks, *words, folder=None):
    """report.json of a run, whose report goes into the folder."""
    if folder is None:
        with tempfile.TemporaryDirectory() as place:
            return report(program, ranks, *words, folder=os.path.join(place, "report"))
    words = command(program, ranks, *words, "--quiet", "--report", folder)
    if subprocess.run(words, check=False).returncode != 0:
        sys.exit(f"failed: {' '.join(words)}")
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
        return json.load(file)
