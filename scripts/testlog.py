#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts tests: prints the end of what failing ones said, then one line of counts.

usage: testlog.py [LABEL=]LOG...

A LOG is a JSON log of Meson, or NAME.lines with a line "TEST: ... ok|FAILED|skipped" for every test; indented lines
below one are what it said. A log that was never written holds no tests. LABEL comes before the names of its tests.
"""
import json
import re
import sys

TAIL_LINES = 60
PASSED = ("OK", "EXPECTEDFAIL")
SKIPPED = ("SKIP", "IGNORED")
LINE = re.compile(r"([\w-]+): (?:.*?\b)?(ok|FAILED|skipped)\b")
RESULTS = {"ok": "OK", "FAILED": "FAIL", "skipped": "SKIP"}


def records_of_lines(lines):
    """One dictionary per line that names a test; as Meson would write it."""
    tests = []
    for line in lines:
        match = LINE.match(line)
        if match:
            tests.append({"name": match[1], "result": RESULTS[match[2]], "stdout": line})
        elif tests and line.startswith(" "):
            tests[-1]["stdout"] += line
    return tests


def records(argument):
    """One dictionary per test of a log."""
    label, separator, path = argument.rpartition("=")
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            if path.endswith(".lines"):
                tests = records_of_lines(log)
            else:
                tests = [json.loads(line) for line in log if line.strip()]
    except FileNotFoundError:
        return []
    for test in tests:
        test["name"] = label + separator.replace("=", ": ") + test["name"]
    return tests


def show(test):
    status = f", exit status {test['returncode']}" if "returncode" in test else ""
    print(f"--- {test['name']}: {test['result']}{status}")
    for stream in ("stdout", "stderr"):
        lines = (test.get(stream) or "").splitlines()
        if len(lines) > TAIL_LINES:
            print(f"    ({len(lines) - TAIL_LINES} lines of {stream} before these)")
        for line in lines[-TAIL_LINES:]:
            print(f"    {line}")


def main(arguments):
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    tests = [test for argument in arguments for test in records(argument)]
    passed = sum(test["result"] in PASSED for test in tests)
    skipped = [test for test in tests if test["result"] in SKIPPED]
    failed = [test for test in tests if test["result"] not in PASSED + SKIPPED]
    for test in skipped:
        print(f"--- {test['name']}: skipped")
    for test in failed:
        show(test)
    counts = f"{passed} passed, {len(failed)} failed"
    print(counts + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
