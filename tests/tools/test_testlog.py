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

SAID = "\n".join(f"line {k}" for k in range(100))
BAD = ["FAIL", "ERROR", "TIMEOUT", "UNEXPECTEDPASS", "INTERRUPT"]
# Logs by their arguments, a list of (name, result) or text; expected status; lines that are printed, and the last one.
CASES = [
    ({"a.json": [("a", "OK"), ("b", "OK")], "none.json": None, "c.json": [("c", "EXPECTEDFAIL")]}, 0, [], "3 passed, 0 failed"),
    *(({"a.json": [("good", "OK"), ("bad", result)]}, 1, [f"--- bad: {result}, exit status 1", "    line 99"],
       "1 passed, 1 failed") for result in BAD),
    ({"a.json": [("a", "OK"), ("b", "SKIP")]}, 0, ["--- b: skipped"], "1 passed, 0 failed, 1 skipped"),
    ({"valgrind=a.json": [("unit / kdtree", "SKIP")]}, 0, ["--- valgrind: unit / kdtree: skipped"],
     "0 passed, 0 failed, 1 skipped"),
    ({"none.json": None}, 1, [], "0 passed, 0 failed"),
    ({"fuzz.lines": "gadget: 10 runs, coverage 3, ok\nnot a test\ntext: skipped, no clang\nstatus: 1\n"}, 0,
     ["--- text: skipped"], "1 passed, 0 failed, 1 skipped"),
    ({"fuzz=fuzz.lines": "let: 3 runs, FAILED (status 77)\n    ERROR: no\nhdf5: ok\n"}, 1,
     ["--- fuzz: let: FAIL", "        ERROR: no"], "1 passed, 1 failed"),
]

for logs, status, shown, last in CASES:
    with tempfile.TemporaryDirectory() as folder:
        for argument, log in logs.items():
            if log is None:
                continue
            with open(os.path.join(folder, argument.split("=")[-1]), "w", encoding="utf-8") as file:
                file.write(log if isinstance(log, str) else "".join(
                    json.dumps({"name": name, "result": result, "returncode": 1, "stdout": SAID}) + "\n" for name, result in log))
        done = subprocess.run([sys.executable, os.path.abspath(sys.argv[1]), *logs], cwd=folder, capture_output=True, text=True,
                              check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == status and lines[-1] == last, (logs, done)
    assert set(shown) <= set(lines) and "    line 0" not in lines, (logs, lines)
