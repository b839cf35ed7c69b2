#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/testlog.py on made-up logs: it counts every outcome and shows the last lines of a failing test.

usage: test_testlog.py TESTLOG
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TESTLOG = ""


def count_arguments(*arguments):
    """Exit status and lines that testlog.py prints."""
    done = subprocess.run([sys.executable, TESTLOG, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def count(*logs):
    """Exit status and lines that testlog.py prints for logs, each a list of (name, result); None is a missing log."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, log in enumerate(logs):
            paths.append(os.path.join(folder, f"{i}.json"))
            if log is None:
                continue
            with open(paths[-1], "w", encoding="utf-8") as f:
                for name, result in log:
                    said = "\n".join(f"line {k}" for k in range(100))
                    f.write(json.dumps({"name": name, "result": result, "returncode": 1, "stdout": said}) + "\n")
        return count_arguments(*paths)


def count_lines(text, label=""):
    """Exit status and lines for one log file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "testlog-fuzz.lines")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return count_arguments(label + path)


class TestLog(unittest.TestCase):
    def test_all_logs_are_summed(self):
        self.assertEqual(count([("a", "OK"), ("b", "OK")], None, [("c", "EXPECTEDFAIL")]), (0, ["3 passed, 0 failed"]))

    def test_everything_that_is_no_success_fails(self):
        for result in ("FAIL", "ERROR", "TIMEOUT", "UNEXPECTEDPASS", "INTERRUPT"):
            with self.subTest(result=result):
                status, lines = count([("good", "OK"), ("bad", result)])
                self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))

    def test_a_failing_test_shows_its_last_lines(self):
        _, lines = count([("bad", "FAIL")])
        self.assertTrue(lines[0].startswith("--- bad: FAIL"))
        self.assertIn("    line 99", lines)
        self.assertNotIn("    line 0", lines)

    def test_skipped_tests_are_named_and_do_not_fail(self):
        self.assertEqual(count([("a", "OK"), ("b", "SKIP")]), (0, ["--- b: skipped", "1 passed, 0 failed, 1 skipped"]))

    def test_no_test_at_all_is_a_failure(self):
        self.assertEqual(count(None), (1, ["0 passed, 0 failed"]))

    def test_lines_are_tests_too(self):
        text = "gadget: 10 runs, coverage 3, ok\nnot a test\ntext: skipped, no clang\nstatus: 1\n"
        self.assertEqual(count_lines(text), (0, ["--- text: skipped", "1 passed, 0 failed, 1 skipped"]))

    def test_a_failing_line_shows_what_is_below_it(self):
        status, lines = count_lines("let: 3 runs, FAILED (status 77)\n    ERROR: no\nhdf5: ok\n", "fuzz=")
        self.assertEqual(status, 1)
        self.assertEqual(lines[0], "--- fuzz: let: FAIL")
        self.assertIn("        ERROR: no", lines)
        self.assertEqual(lines[-1], "1 passed, 1 failed")

    def test_a_label_comes_before_the_names(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.json")
            with open(path, "w", encoding="utf-8") as f:
                f.write(json.dumps({"name": "unit / kdtree", "result": "SKIP"}) + "\n")
            self.assertEqual(
                count_arguments("valgrind=" + path),
                (0, ["--- valgrind: unit / kdtree: skipped", "0 passed, 0 failed, 1 skipped"]),
            )


if __name__ == "__main__":
    TESTLOG = sys.argv.pop(1)
    unittest.main()
