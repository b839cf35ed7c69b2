#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the tests in Meson's JSON logs: prints the end of what failing tests said, then one line of counts."""
import json
import sys

TAIL_LINES = 60
PASSED = ("OK", "EXPECTEDFAIL")
SKIPPED = ("SKIP", "IGNORED")


def records(path):
    """One dictionary per test; a log that Meson never wrote holds none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            return [json.loads(line) for line in log if line.strip()]
    except FileNotFoundError:
        return []


def show(test):
    print(f"--- {test['name']}: {test['result']}, exit status {test.get('returncode')}")
    for stream in ("stdout", "stderr"):
        lines = (test.get(stream) or "").splitlines()
        if len(lines) > TAIL_LINES:
            print(f"    ({len(lines) - TAIL_LINES} lines of {stream} before these)")
        for line in lines[-TAIL_LINES:]:
            print(f"    {line}")


def main(paths):
    tests = [test for path in paths for test in records(path)]
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
