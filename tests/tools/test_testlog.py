#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/testlog.py on made-up logs: every outcome is counted, a failing test's last words are shown.

usage: test_testlog.py TESTLOG
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TESTLOG = ""


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
        done = subprocess.run([sys.executable, TESTLOG, *paths], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


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


if __name__ == "__main__":
    TESTLOG = sys.argv.pop(1)
    unittest.main()
