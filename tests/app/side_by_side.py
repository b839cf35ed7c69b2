#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs side by side in one folder, with signals at random moments: nothing is lost and nothing is mixed.

usage: side_by_side.py APP SAME_FORCES [ROUNDS [SEED]]

A round starts two or three runs of different sizes that draw their names of output, report and forces from two each, so
that some names collide. Runs get SIGTERM or SIGKILL or end by themselves. Checks: a refused run names the holder of the
name, each file is whole and belongs to one run, every announced restart file exists and can be resumed, and only killed
runs leave further files. After the last round, the next run of each name removes these as well.
"""
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

APP, SAME = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
RANDOM = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
NAME = os.path.basename(APP)
BARNESHUT = NAME == "barneshut"
ENDLESS, SHORT, MINUTE = 10**8, 12, 60
# Runs with different numbers of particles or nodes.
SIZES = [600, 700, 800]
VARIANTS = [["--generate", f"plummer:n={n}", "--dt", "0.001"] if BARNESHUT else
            ["--generate", f"chains:n={n // 100},box=12000,corners=8", "--cells", "4,4,4", "--r-tol", "10", "--dt", "1e-10"]
            for n in SIZES]
ENDING = ".hdf5" if BARNESHUT else ".data"
IN_USE = re.compile(rf"^{NAME}: --(output|report|forces): .*: in use by {NAME}, process \d+ on \S+$")
GO_ON = re.compile(r"stopped after step (\d+); go on with --restart (\S+)$")
counted = {"runs": 0, "ended": 0, "refused": 0, "stopped": 0, "killed": 0, "snapshots": 0, "restarts": 0, "pairs mended": 0}
failures = []


def fail(what):
    failures.append(what)
    print("FAIL:", what, flush=True)


def run(*arguments):
    return subprocess.run([APP, *arguments, "--quiet"], capture_output=True, text=True, timeout=5 * MINUTE)


def report_size(folder):
    """Number of particles in the run of a report; a network changes its size."""
    report = json.load(open(os.path.join(folder, "report.json")))
    return report["particles"] if BARNESHUT else SIZES[0]


class Run:
    def __init__(self, variant):
        self.variant, self.output, self.report, self.forces = variant, *(RANDOM.choice("ab") for _ in range(3))
        self.steps = RANDOM.choice([SHORT, ENDLESS])
        self.fate = None
        ranks = [os.environ.get("MPIEXEC", "mpirun"), "-n", "2"] if RANDOM.random() < 0.1 else []
        words = ["--output", f"out-{self.output}{ENDING}", "--output-every", "4", "--report", f"report-{self.report}",
                 "--forces", f"forces-{self.forces}.hdf5", "--steps", str(self.steps), "--quiet"]
        # Some runs have no --output.
        if RANDOM.random() < 0.3:
            words = words[4:]
        self.error = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*ranks, APP, *VARIANTS[variant], *words], stdout=subprocess.DEVNULL,
                                        stderr=self.error, start_new_session=True)
        self.launched = bool(ranks)

    def members(self):
        """All processes of the run's session; the ranks of a launcher are in process groups of their own."""
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                fields = open(path).read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == self.process.pid and fields[0] != "Z":
                yield int(path.split("/")[2])

    def signal(self, number):
        self.fate = self.fate or number
        for pid in list(self.members()) if number == signal.SIGKILL else [self.process.pid]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def end(self):
        try:
            status = self.process.wait(timeout=5 * MINUTE)
        except subprocess.TimeoutExpired:
            fail(f"a run does not end: {self.process.args}")
            self.signal(signal.SIGKILL)
            status = self.process.wait()
        while self.launched and list(self.members()):
            time.sleep(0.05)
        self.error.seek(0)
        self.judge(status, self.error.read().splitlines())

    def judge(self, status, lines):
        """Outcome of the run: status and output agree."""
        counted["runs"] += 1
        self.restart = None
        refused = [line for line in lines if IN_USE.match(line)]
        stopped = [match for match in map(GO_ON.search, lines) if match]
        if refused:
            counted["refused"] += 1
            # A launcher that gets a signal has its own status and output.
            if (status != 2 or len(lines) != 1) and not self.launched:
                fail(f"status {status} of a refused run, {lines}")
        elif stopped:
            counted["stopped"] += 1
            self.restart = (stopped[0].group(2), int(stopped[0].group(1)))
            if self.fate is None or status == 0:
                fail(f"status {status} of a stopped run, {lines}")
        elif status == 0:
            counted["ended"] += 1
            if self.steps != SHORT:
                fail("an endless run has ended")
        elif self.fate is not None:
            counted["killed"] += 1
        else:
            fail(f"status {status}, {lines}")


def check_restart(name, step, among):
    """A snapshot is whole and of one of these variants: a run resumes from it for one step."""
    again = run("--restart", name, "--steps", str(step + 1), "--report", "check")
    if again.returncode == 2 and "lines '#= '" in again.stderr and not BARNESHUT:
        # A run was killed between renaming its two files; the network file has a copy of the parameters.
        counted["pairs mended"] += 1
        with open(name[: -len(".data")] + ".ctrl", "w") as control:
            control.writelines(line[3:] for line in open(name) if line.startswith("#= "))
        step = int(re.search(r"^cycleStart = (\d+)", open(name[: -len(".data")] + ".ctrl").read(), re.M).group(1))
        again = run("--restart", name, "--steps", str(step + 1), "--report", "check")
    if again.returncode != 0:
        fail(f"{name}: status {again.returncode}: {again.stderr}")
    elif BARNESHUT and report_size("check") not in [SIZES[v] for v in among]:
        fail(f"{name}: {report_size('check')} particles")


def check_report(folder):
    """The files of a run are whole, each from one run; a killed run may have stopped in the middle of its last step."""
    if os.path.exists(os.path.join(folder, "report.json")) and report_size(folder) not in SIZES:
        fail(f"{folder}: {report_size(folder)} particles")
    loads = os.path.join(folder, "loads.csv")
    if os.path.exists(loads):
        rows = open(loads).read().split("\n")
        whole = rows[1:-1] if len(rows) > 2 else []
        if any(row.count(",") != rows[0].count(",") for row in whole):
            fail(f"{loads}: rows of unlike length")
        if BARNESHUT:
            sums = {}
            for row in whole:
                field = dict(zip(rows[0].split(","), row.split(",")))
                sums[field["step"]] = sums.get(field["step"], 0) + int(field["particles"])
            last = whole[-1].split(",")[0] if whole else None
            if len({n for step, n in sums.items() if step != last}) > 1:
                fail(f"{loads}: of several runs: {sums}")


def litter():
    return [name for name in glob.glob("**", recursive=True) if name.endswith((".lock", ".part"))]


def one_round(number):
    before = set(litter())
    runs = [Run(v) for v in RANDOM.sample(range(3), RANDOM.choice([2, 2, 3]))]
    time.sleep(RANDOM.uniform(0.3, 2.5))
    for each in runs:
        if RANDOM.random() < 0.7:
            each.signal(RANDOM.choice([signal.SIGTERM, signal.SIGTERM, signal.SIGKILL]))
        if RANDOM.random() < 0.5:
            time.sleep(RANDOM.uniform(0, 0.5))
    for each in runs:
        if each.steps == ENDLESS and each.fate is None:
            each.signal(signal.SIGTERM)
    for each in runs:
        each.end()
    killed = any(each.fate is not None and each.restart is None for each in runs)
    if not killed and set(litter()) - before:
        fail(f"round {number}: left: {set(litter()) - before}")
    announced = {}
    for each in runs:
        if each.restart:
            announced.setdefault(each.restart[0], []).append(each)
    for name, owners in announced.items():
        counted["restarts"] += 1
        # If two runs used the name in turn, the second replaced the file of the first.
        check_restart(name, max(each.restart[1] for each in owners), [each.variant for each in owners])
    snapshots = glob.glob(f"out-*_*{ENDING}")
    for name in RANDOM.sample(sorted(snapshots), min(2, len(snapshots))):
        counted["snapshots"] += 1
        check_restart(name, int(re.search(r"_(\d+)", name).group(1)), range(3))
    for folder in glob.glob("report-*"):
        check_report(folder)
    for name in glob.glob("forces-*.hdf5"):
        if not any(subprocess.run([SAME, name, f"reference-{v}.hdf5", "1e-6"], capture_output=True).returncode == 0
                   for v in range(3)):
            fail(f"{name}: the forces of no run")
    for name in glob.glob("out-*_*") + glob.glob("*-restart*"):
        if not name.endswith((".lock", ".part")):
            os.remove(name)


with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sessions:
    os.chdir(folder)
    os.environ.update({"OMPI_MCA_ess_singleton_isolated": "1", "OMPI_MCA_orte_tmpdir_base": sessions,
                       "OMPI_MCA_odls_base_sigkill_timeout": "4"})
    for v, words in enumerate(VARIANTS):
        if run(*words, "--steps", str(SHORT), "--forces", f"reference-{v}.hdf5").returncode != 0:
            fail("a reference run")
    for number in range(ROUNDS):
        one_round(number)
        if number % 10 == 9:
            print(f"{number + 1} rounds: {counted}", flush=True)
    # The next runs of these names remove the leftovers of killed runs.
    for name in "ab":
        last = run(*VARIANTS[0], "--steps", "1", "--output", f"out-{name}{ENDING}", "--report", f"report-{name}",
                   "--forces", f"forces-{name}.hdf5")
        if last.returncode != 0:
            fail(f"after all rounds: {last.stderr}")
    if litter():
        fail(f"left in the end: {litter()}")
    os.chdir("/")
print(f"{NAME}, {ROUNDS} rounds: " + ", ".join(f"{n} {what}" for what, n in counted.items()) + f"; {len(failures)} failures")
sys.exit(1 if failures else 0)
