#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory of a long run, as CSV: what its largest rank holds as steps go by.

    bench/bench_run_memory.py PROGRAM [STEPS [RANKS [WORD...]]]      (100000, 1)

PROGRAM is barneshut or dislocation, WORDs are options of it; without any it makes a small input. Each run is made
without and with --report. bytes is resident memory, grown what came on top since the first row, that of step 1,000.
"""
import os
import re
import subprocess
import sys
import tempfile

import runs

SMALL = {"barneshut": ["--generate", "plummer:n=96"], "dislocation": ["--generate", "chains:n=1"]}
FIRST = 1000
SAMPLES = 5
BEYOND = 2000  # steps: a run must not end while it is looked at


def resident(top, program):
    """Bytes of the largest process of the program that is `top` or below it."""
    parent, most = {}, 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parent[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
    for pid in parent:
        at = pid
        while at != top and at in parent:
            at = parent[at]
        try:
            if at == top and os.readlink(f"/proc/{pid}/exe") == program:
                with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
                    most = max(most, int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        except OSError:
            continue
    return most


def run(command, program, steps):
    """Yields (step, bytes) as the progress of the run passes the steps that are wanted."""
    wanted = [FIRST] + [step for step in (steps * (i + 1) // SAMPLES for i in range(SAMPLES)) if step > FIRST]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        text = b""
        while piece := process.stderr.read1(65536):
            text = (text + piece)[-65536:]
            done = [int(step) for step in re.findall(rb"(\d+)/\d+ step, [^\r\n]*imbalance", text)]
            if wanted and done and done[-1] >= wanted[0]:
                while wanted and done[-1] >= wanted[0]:
                    del wanted[0]
                yield done[-1], resident(process.pid, program)
    if process.returncode != 0 or wanted:
        sys.exit(f"status {process.returncode}: {' '.join(command)}")


def main(program, steps=100000, ranks=1, *words):
    program, steps, ranks = os.path.realpath(program), int(steps), int(ranks)
    name = os.path.basename(program)
    words = [*(words or SMALL[name]), "--steps", str(steps + BEYOND), "--progress"]
    print("program,ranks,report,step,bytes,grown,words")
    for report in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            first = None
            for step, size in run(runs.command(program, ranks, *words, *(["--report", folder] if report else [])), program, steps):
                first = first or size
                print(f"{name},{ranks},{report},{step},{size},{size - first},\"{' '.join(words)}\"", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
