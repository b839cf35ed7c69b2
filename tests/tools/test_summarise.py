#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/summarise.py on made-up reports: the numbers of the table and of summary.csv, damaged input.

usage: test_summarise.py SUMMARISE
"""
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SUMMARISE = ""
RANKS = 4
LOADS = {"count": [4.0, 1.0, 2.0, 1.0], "sfc": [2.0, 2.0, 2.0, 2.0], "it's \"odd\" %d": [1.5, 2.5, 2.0, 2.0]}


def step(number, method, loads):
    average = sum(loads) / len(loads)
    return {
        "step": number,
        "method": method,
        "imbalance_predicted": None if method == "count" else 0.25,
        "imbalance_measured": max(loads) / average - 1,
        "force_seconds_max": max(loads),
        "force_seconds_mean": average,
        "balance_seconds": 0.5,
        "ghosts_total": 1000 + number,
    }


def write_report(folder, method, loads, steps=3):
    os.makedirs(folder)
    report = {"schema": 1, "app": "barneshut", "ranks": len(loads), "particles": 32768}
    report["steps"] = [step(i, method, loads) for i in range(steps)]
    with open(os.path.join(folder, "report.json"), "w", encoding="utf-8") as f:
        json.dump(report, f)


def summarise(*arguments):
    return subprocess.run([sys.executable, SUMMARISE, *arguments], capture_output=True, text=True, check=False)


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


class Summarise(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for method, loads in LOADS.items():
            write_report(os.path.join(self.folder, method), method, loads)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def test_table_shows_every_run_in_the_usual_order(self):
        done = summarise(self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "barneshut, 32,768 particles, 4 ranks, 2 steps")
        count, sfc, odd = [line.rsplit(None, 6) for line in lines[5:8]]
        self.assertEqual(count, ["count", "-", "100.00%", "1,001", "12.000", "6.000", "1.500"])
        self.assertEqual(sfc, ["sfc", "25.00%", "0.00%", "1,001", "6.000", "6.000", "1.500"])
        self.assertEqual(odd[0], "it's \"odd\" %d")

    def test_summary_holds_means_and_sums_over_the_steps(self):
        summarise(self.folder)
        count, sfc, _ = rows_of(self.path("summary.csv"))
        self.assertEqual(count["method"], "count")
        self.assertEqual(count["imbalance_predicted"], "")
        self.assertAlmostEqual(float(count["imbalance_measured"]), 1.0)
        self.assertAlmostEqual(float(count["force_seconds_max"]), 12.0)
        self.assertAlmostEqual(float(sfc["imbalance_predicted"]), 0.25)

    def test_a_sum_with_an_unknown_part_is_unknown(self):
        with tempfile.TemporaryDirectory() as folder:
            write_report(os.path.join(folder, "sfc"), "sfc", [1.0, 1.0])
            path = os.path.join(folder, "sfc", "report.json")
            with open(path, encoding="utf-8") as f:
                report = json.load(f)
            for one in report["steps"]:
                del one["balance_seconds"]
            with open(path, "w", encoding="utf-8") as f:
                json.dump(report, f)
            done = summarise(folder)
            (row,) = rows_of(os.path.join(folder, "summary.csv"))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(row["balance_seconds"], "")
        self.assertEqual(float(row["force_seconds_max"]), 3.0)

    def test_runs_of_different_length_and_ranks_share_the_table(self):
        write_report(self.path("long"), "long", [1.0] * (RANKS + 2), steps=5)
        done = summarise(self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[0], "runs of different sizes")
        self.assertEqual([row["ranks"] for row in rows_of(self.path("summary.csv"))], ["4", "4", "4", "6"])

    def test_a_link_is_followed(self):
        with open(self.path("mine"), "w", encoding="utf-8") as f:
            f.write("mine")
        os.symlink("mine", self.path("summary.csv"))
        self.assertEqual(summarise(self.folder).returncode, 0)
        self.assertTrue(os.path.islink(self.path("summary.csv")))
        with open(self.path("mine"), encoding="utf-8") as f:
            self.assertNotEqual(f.read(), "mine")

    def test_a_file_that_cannot_be_written_leaves_the_old_one(self):
        with open(self.path("summary.csv"), "w", encoding="utf-8") as f:
            f.write("old")
        limit = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"]
        done = subprocess.run([*limit, sys.executable, SUMMARISE, self.folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"summarise: {self.path('summary.csv')}: cannot be written: File too large\n")
        with open(self.path("summary.csv"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "old")
        self.assertFalse([name for name in os.listdir(self.folder) if name.endswith(".part")])

    def damaged(self, name, text):
        with open(self.path("sfc", name), "w", encoding="utf-8") as f:
            f.write(text)
        done = summarise(self.folder)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(os.path.join("sfc", name), done.stderr)

    def test_damaged_files_are_named_in_one_line(self):
        no_steps = ['{"schema": 1, "steps": []}', '{"schema": 1, "steps": [1]}', '{"schema": 1}']
        for text in ["", "{", "[]", '{"schema": 2, "steps": [{}]}'] + no_steps:
            with self.subTest(text=text):
                self.damaged("report.json", text)

    def test_a_folder_without_runs_is_an_error(self):
        with tempfile.TemporaryDirectory() as nothing:
            done = summarise(nothing)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))


if __name__ == "__main__":
    SUMMARISE = sys.argv.pop(1)
    unittest.main()
