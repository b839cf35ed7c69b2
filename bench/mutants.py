#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The share of a fixed random sample of mutants of sampling/ and lib/ that the tests catch.

usage: bench/mutants.py [TREE] --work DIR [--sample N] [--seed S] [--first N]

A mutant is the tree with one operator or constant changed, or one statement deleted. The tests of the suite unit, and of
the suite mpi those on up to three ranks, are run once with coverage; each mutant is then built and given to the tests that
execute its line, the quickest first, until one fails. DIR holds a clone of TREE's last commit, its builds, the coverage
and results.csv; a second call goes on where the first one ended. A mutant that does not compile is no mutant: another one
takes its place. Prints how many were caught, by kind of change."""
import argparse
import collections
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

FOLDERS = ("sampling/", "lib/")
OPERATORS = {"<=": "<", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+=": "-=", "-=": "+=", "<": "<=",
             ">": ">=", "+": "-", "-": "+", "*": "/", "/": "*"}
OPERATOR = re.compile(r" (" + "|".join(map(re.escape, OPERATORS)) + r") (?=\S)")
CONSTANT = re.compile(r"(?<![\w.])(\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d+)(?![\w.])")
STATEMENT = re.compile(r"^\s+(?!return|goto|break|continue|case|default|const|static|else)"
                       r"(?:[\w.>\[\]()*+-]+ [-+*/|&]?= .*|[\w.>-]+\(.*\)|[\w.>\[\]-]+(?:\+\+|--)|\(void\).*);$")
COLUMNS = ["number", "file", "line", "kind", "before", "after", "outcome", "test"]


def blanked(text):
    """The text with comments, strings and directives as blanks: lines and columns stay."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def changes_of(line):
    """(kind, from, to, what stands there then) for all changes of a blanked line."""
    for found in OPERATOR.finditer(line):
        yield "operator", found.start(1), found.end(1), OPERATORS[found[1]]
    for found in CONSTANT.finditer(line):
        yield "constant", found.start(), found.end(), str(int(found[0]) + 1) if found[0].isdigit() else f"(2 * {found[0]} + 1)"
    if STATEMENT.match(line) and line.count("(") == line.count(")"):
        yield "statement", len(line) - len(line.lstrip()), len(line), ";"


def all_mutants(tree):
    names = subprocess.check_output(["git", "ls-files", *FOLDERS], cwd=tree, text=True).split()
    for name in sorted(names):
        if name.endswith(".c"):
            with open(os.path.join(tree, name), encoding="utf-8") as file:
                lines = blanked(file.read()).split("\n")
            for number, line in enumerate(lines, 1):
                for kind, begin, end, after in changes_of(line):
                    yield name, number, kind, begin, end, after


class Work:
    """A clone and its two builds: one to be mutated, one with coverage."""

    def __init__(self, tree, folder):
        self.folder = os.path.abspath(folder)
        self.tree = self.path("tree")
        if not os.path.exists(self.path("cover.json")):
            os.makedirs(self.folder, exist_ok=True)
            if not os.path.exists(self.tree):
                self.run(["git", "clone", "-q", tree, self.tree])
            for build, words in (("build", []), ("coverage", ["-Db_coverage=true"])):
                if not os.path.exists(self.path(build, "build.ninja")):
                    self.run(["meson", "setup", "-Dbench=false", "-Doptimization=1", *words, self.path(build), self.tree])
            self.run(["ninja", "-C", self.path("coverage")])
            covered = [self.cover(test) for test in self.tests("coverage")]
            with open(self.path("cover.part"), "w", encoding="utf-8") as file:
                json.dump(covered, file)
            os.rename(self.path("cover.part"), self.path("cover.json"))
        with open(self.path("cover.json"), encoding="utf-8") as file:
            seconds = {row["name"]: row for row in json.load(file)}
        self.run(["ninja", "-C", self.path("build")])
        self.all = [(seconds[test["name"]], test) for test in self.tests("build") if seconds[test["name"]]["passed"]]
        self.all.sort(key=lambda pair: pair[0]["seconds"])

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, words):
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def tests(self, build):
        text = subprocess.check_output(["meson", "introspect", "--tests", self.path(build)], text=True)
        for test in json.loads(text):
            suites = {suite.split(":")[-1] for suite in test["suite"]}
            ranks = re.search(r"-(\d+)$", test["name"])
            if "unit" in suites or ("mpi" in suites and (not ranks or int(ranks[1]) <= 3)):
                # Meson names programs relative to the build directory.
                yield {**test, "workdir": test["workdir"] or self.path(build)}

    def execute(self, test, seconds, **more):
        """Whether a test passes in time."""
        script = '. "$0/scripts/mpi-env.sh"; exec timeout "$@"'
        words = ["sh", "-c", script, self.tree, "-k", "5", str(seconds), *test["cmd"]]
        return subprocess.run(words, cwd=test["workdir"], stdout=subprocess.DEVNULL, check=False,
                              stderr=subprocess.DEVNULL, env={**os.environ, **test["env"], **more}).returncode in (0, 77)

    def cover(self, test):
        """The lines that a test executes, {file: [line]}."""
        data, begin = self.path("gcda"), time.monotonic()
        shutil.rmtree(data, ignore_errors=True)
        passed = self.execute(test, 600, GCOV_PREFIX=data)
        lines = collections.defaultdict(set)
        seconds = time.monotonic() - begin
        for folder, _, names in os.walk(data):
            counts = [os.path.join(folder, name) for name in names if name.endswith(".gcda")]
            for count in counts:
                shutil.copy(count[len(data):-4] + "gcno", count[:-4] + "gcno")
            if counts:
                text = subprocess.check_output(["gcov", "--json-format", "--stdout", *counts], cwd=folder, text=True,
                                               stderr=subprocess.DEVNULL)
                for document in map(json.loads, text.splitlines()):
                    for file in document["files"]:
                        name = os.path.relpath(os.path.join(document["current_working_directory"], file["file"]), self.tree)
                        name = os.path.relpath(os.path.join(self.path("coverage"), file["file"]), self.tree) \
                            if name.startswith("..") else name
                        if name.startswith(FOLDERS):
                            lines[name].update(line["line_number"] for line in file["lines"] if line["count"] > 0)
        return {"name": test["name"], "passed": passed, "seconds": seconds,
                "lines": {name: sorted(some) for name, some in lines.items()}}

    def build(self, targets):
        return subprocess.run(["ninja", "-C", self.path("build"), *targets], stdout=subprocess.DEVNULL, check=False,
                              stderr=subprocess.DEVNULL).returncode == 0

    def judge(self, name, number):
        """('caught', test), ('survived', ''), ('uncovered', '') or ('invalid', '') of the tree as it is."""
        outcome = "uncovered"
        for known, test in self.all:
            # Continuation lines of a statement have no count.
            if not set(known["lines"].get(name, ())).intersection(range(number - 2, number + 1)):
                continue
            targets = [os.path.relpath(self.path("build", word), self.path("build")) for word in test["cmd"]]
            if not self.build([target for target in targets if target[0] != "." and os.path.isfile(self.path("build", target))]):
                return "invalid", ""
            if not self.execute(test, 20 + 10 * known["seconds"]):
                return "caught", test["name"]
            outcome = "survived"
        return outcome, ""


def try_mutant(work, mutant):
    name, number, kind, begin, end, after = mutant
    path = os.path.join(work.tree, name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text.split("\n")
    before = lines[number - 1]
    lines[number - 1] = before[:begin] + after + before[end:]
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        outcome, test = work.judge(name, number)
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return {"file": name, "line": number, "kind": kind, "before": before.strip(), "after": lines[number - 1].strip(),
            "outcome": outcome, "test": test}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", nargs="?", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--work", required=True, help="folder of the clone, its builds and results.csv")
    parser.add_argument("--sample", type=int, default=200, help="mutants [200]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=None, help="stop after that many of the sample")
    arguments = parser.parse_args()
    work = Work(arguments.tree, arguments.work)
    order = list(all_mutants(work.tree))
    print(f"{len(order)} possible changes, {len(work.all)} tests")
    random.Random(arguments.seed).shuffle(order)
    path = work.path("results.csv")
    rows = []
    if os.path.exists(path):
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    wanted = min(arguments.sample, arguments.first or arguments.sample)
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if not rows:
            writer.writeheader()
        while sum(row["outcome"] != "invalid" for row in rows) < wanted and len(rows) < len(order):
            row = {"number": len(rows), **try_mutant(work, order[len(rows)])}
            rows.append(row)
            writer.writerow(row)
            file.flush()
            print(f"{row['number']} {row['file']}:{row['line']} {row['kind']} {row['outcome']} {row['test']}", flush=True)
    valid = [row for row in rows if row["outcome"] != "invalid"]
    for kind in ("operator", "constant", "statement", None):
        some = [row for row in valid if kind in (None, row["kind"])]
        caught = sum(row["outcome"] == "caught" for row in some)
        print(f"{kind or 'all'}: {caught} of {len(some)} caught" + (f", {100 * caught / len(some):.1f} %" if some else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
