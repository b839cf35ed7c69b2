#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/summarise.py on made-up reports: the numbers of the table, the CSV files, damaged input, no gnuplot.

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
HEADER = (
    "step,rank,method,load,predicted,particles,targets,interactions,ghosts,bytes_sent,force_seconds,balance_seconds"
)


def step(number, method, loads):
    average = sum(loads) / len(loads)
    return {
        "step": number,
        "method": method,
        "imbalance_predicted": None if method == "count" else 0.25,
        "imbalance_measured": max(loads) / average - 1,
        "force_seconds_max": max(loads),
        "force_seconds_mean": average,
        "exchange_seconds_max": 0.25,
        "balance_seconds": 0.5,
        "ghosts_total": 1000 + number,
    }


def write_report(folder, method, loads, steps=3):
    os.makedirs(folder)
    report = {"schema": 1, "app": "barneshut", "ranks": len(loads), "particles": 32768}
    report["steps"] = [step(i, method, loads) for i in range(steps)]
    with open(os.path.join(folder, "report.json"), "w", encoding="utf-8") as f:
        json.dump(report, f)
    with open(os.path.join(folder, "loads.csv"), "w", encoding="utf-8") as f:
        f.write(HEADER + "\n")
        for i in range(steps):
            for rank, load in enumerate(loads):
                f.write(f"{i},{rank},x,{load},{load},10,10,100,5,40,{load},0.5\n")


def summarise(*arguments, path=None):
    environment = dict(os.environ)
    if path is not None:
        environment["PATH"] = path
    return subprocess.run(
        [sys.executable, SUMMARISE, *arguments], env=environment, capture_output=True, text=True, check=False
    )


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
        done = summarise("--no-plots", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "barneshut, 32,768 particles, 4 ranks, 2 steps")
        count, sfc, odd = [line.rsplit(None, 8) for line in lines[5:8]]
        self.assertEqual(count, ["count", "-", "100.00%", "1,001", "12.000", "6.000", "0.750", "1.500", "14.250"])
        self.assertEqual(sfc, ["sfc", "25.00%", "0.00%", "1,001", "6.000", "6.000", "0.750", "1.500", "8.250"])
        self.assertEqual(odd[0], "it's \"odd\" %d")

    def test_summary_holds_means_and_sums_over_the_steps(self):
        summarise("--no-plots", self.folder)
        count, sfc, _ = rows_of(self.path("summary.csv"))
        self.assertEqual(count["method"], "count")
        self.assertEqual(count["imbalance_predicted"], "")
        self.assertAlmostEqual(float(count["imbalance_measured"]), 1.0)
        self.assertAlmostEqual(float(count["force_seconds_max"]), 12.0)
        self.assertAlmostEqual(float(sfc["imbalance_predicted"]), 0.25)
        self.assertAlmostEqual(float(sfc["all_seconds"]), 8.25)

    def test_a_sum_with_an_unknown_part_is_unknown(self):
        with tempfile.TemporaryDirectory() as folder:
            write_report(os.path.join(folder, "sfc"), "sfc", [1.0, 1.0])
            path = os.path.join(folder, "sfc", "report.json")
            with open(path, encoding="utf-8") as f:
                report = json.load(f)
            for one in report["steps"]:
                del one["exchange_seconds_max"]
            with open(path, "w", encoding="utf-8") as f:
                json.dump(report, f)
            done = summarise("--no-plots", folder)
            (row,) = rows_of(os.path.join(folder, "summary.csv"))
        self.assertEqual(done.returncode, 0)
        self.assertEqual((row["exchange_seconds_max"], row["all_seconds"]), ("", ""))
        self.assertEqual(float(row["force_seconds_max"]), 3.0)

    def test_csv_of_the_plots_holds_each_rank_and_each_step_once(self):
        summarise("--no-plots", self.folder)
        loads = rows_of(self.path("load-per-rank.csv"))
        self.assertEqual([float(row["count"]) for row in loads], [3 * x for x in LOADS["count"]])
        imbalance = rows_of(self.path("imbalance.csv"))
        self.assertEqual([row["step"] for row in imbalance], ["0", "1", "2"])
        self.assertEqual(imbalance[0]["count predicted"], "")
        self.assertEqual(float(imbalance[2]["sfc predicted"]), 0.25)

    def test_runs_of_different_length_and_ranks_share_the_tables(self):
        write_report(self.path("long"), "long", [1.0] * (RANKS + 2), steps=5)
        done = summarise("--no-plots", self.folder)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.splitlines()[0], "runs of different sizes")
        loads = rows_of(self.path("load-per-rank.csv"))
        self.assertEqual(len(loads), RANKS + 2)
        self.assertEqual((loads[-1]["count"], loads[-1]["long"]), ("", "5.0"))
        self.assertEqual(rows_of(self.path("imbalance.csv"))[4]["sfc measured"], "")

    @unittest.skipUnless(shutil.which("gnuplot"), "needs gnuplot")
    def test_plots_are_drawn_from_the_csv_files(self):
        done = summarise(self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in ("load-per-rank", "imbalance"):
            with open(self.path(name + ".png"), "rb") as f:
                self.assertEqual(f.read(8), b"\x89PNG\r\n\x1a\n")
            with open(self.path(name + ".svg"), encoding="utf-8") as f:
                text = f.read()
            self.assertTrue(text.rstrip().endswith("</svg>"))
            for word in ("count", "sfc", "32,768 particles", "rank" if name == "load-per-rank" else "step"):
                self.assertIn(word, text)

    @unittest.skipUnless(shutil.which("gnuplot"), "needs gnuplot")
    def test_many_ranks_and_one_step_can_be_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            write_report(os.path.join(folder, "sfc"), "sfc", [1.0] * 200, steps=1)
            done = summarise(folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(os.path.getsize(os.path.join(folder, "load-per-rank.svg")) > 0)

    def test_without_gnuplot_one_line_says_so_and_the_table_still_comes(self):
        with tempfile.TemporaryDirectory() as nothing:
            done = summarise(self.folder, path=nothing)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "summarise: no gnuplot, no plots\n")
        self.assertIn("100.00%", done.stdout)

    def damaged(self, name, text):
        with open(self.path("sfc", name), "w", encoding="utf-8") as f:
            f.write(text)
        done = summarise("--no-plots", self.folder)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(os.path.join("sfc", name), done.stderr)

    def test_damaged_files_are_named_in_one_line(self):
        no_steps = ['{"schema": 1, "steps": []}', '{"schema": 1, "steps": [1]}', '{"schema": 1}']
        for text in ["", "{", "[]", '{"schema": 2, "steps": [{}]}'] + no_steps:
            with self.subTest(text=text):
                self.damaged("report.json", text)
        write_report(self.path("again"), "sfc", LOADS["sfc"])
        shutil.copy(self.path("again", "report.json"), self.path("sfc", "report.json"))
        no_rank_0 = HEADER + "\n0,1,x,1,1,1,1,1,1,1,1,1\n"
        for text in ("", HEADER + "\n", "step,rank\n0,0\n", no_rank_0, HEADER + "\n0,0,x\n"):
            with self.subTest(text=text):
                self.damaged("loads.csv", text)

    def test_a_folder_without_runs_is_an_error(self):
        with tempfile.TemporaryDirectory() as nothing:
            done = summarise(nothing)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))


if __name__ == "__main__":
    SUMMARISE = sys.argv.pop(1)
    unittest.main()
