#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every argument of every collective public function, and every field of what it is given, has a row in
tests/mpi/test_disagree*.c, where one rank differs in it.

Every collective function that the C++ header or the Fortran module calls has a row in its test in tests/bindings.

A function is collective if it takes a communicator, or an object made with one, and its comment does not say "Local".

usage: check_disagree.py SOURCE_ROOT
"""
import glob
import os
import re
import sys

DECLARATION = re.compile(r"(?:/\*\*((?:(?!\*/).)*)\*/\s*)?^(?:int|void|double|\w+(?: \*)?) ?(eqp_\w+)\(([^;{}]*)\);", re.S | re.M)
STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\n\} \1;", re.S)
BY_ADDRESS = {"eqp_schedule_method"}  # rows of a table, compared by address
CALL = re.compile(r'\{"(eqp_\w+)",\s*\w+,\s*(.*?)\}', re.S)
DEFINE = re.compile(r'^#define (\w+)((?:[\s\\]+"[^"]*")+)$', re.M)
BINDINGS = {"tests/bindings/test_cpp.cpp": "lib/include/equipoise/equipoise.hpp",
            "tests/bindings/test_fortran.f90": "bindings/fortran/equipoise.f90"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def uncommented(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def field_names(body):
    for declaration in uncommented(body).split(";"):
        found = re.search(r"\(\*(\w+)\)\(|(\w+)\s*(?:\[[^]]*\])?\s*$", declaration)
        if found:
            yield found.group(1) or found.group(2)


def wanted(headers):
    """(function, argument or argument.field) pairs that need a row."""
    functions = [match.groups() for text in headers for match in DECLARATION.finditer(text)]
    fields = {name: list(field_names(body)) for text in headers for name, body in STRUCT.findall(text)}
    objects = {name for _, _, arguments in functions if "MPI_Comm" in arguments
               for name in re.findall(r"(eqp_\w+) \*\*", arguments)}
    for comment, function, arguments in functions:
        comment = comment or ""
        types = re.findall(r"\w+", arguments)
        if re.search(r"\bLocal\b", comment) or "MPI_Comm" not in types and not objects.intersection(types):
            continue
        for argument in arguments.split(","):
            kind, name = re.search(r"(\w+)[ *]*\b(\w+)\s*(?:\[\w*\])?$", argument.strip()).groups()
            yield function, name
            given = "const " in argument or re.search(r"\[in,out\] +" + name + r"\b", comment)
            if given and kind not in BY_ADDRESS and len(fields.get(kind, [])) > 1:
                for field in fields[kind]:
                    yield function, f"{name}.{field}"


def rows_of(text):
    """(function, argument) of the tables "OUTCOME ARGUMENT: how; ..." in a test."""
    shared = dict(DEFINE.findall(text))
    for function, table in CALL.findall(text):
        for name, value in shared.items():
            table = re.sub(rf"\b{name}\b", lambda found: value, table)
        for argument in re.findall(r"(?:^|; )(?:[A-Z_]+ )?([\w.]+): ", re.sub(r'"[\s\\]*"', "", table).replace('"', "; "), re.M):
            yield function, argument


def complaints(root):
    headers = [read(path) for path in sorted(glob.glob(os.path.join(root, "lib/include/equipoise/**/*.h"), recursive=True))]
    tests = [read(path) for path in glob.glob(os.path.join(root, "tests/mpi/test_disagree*.c"))]
    rows = {row for text in tests for row in rows_of(text)}
    needed = set(wanted(headers))
    if not needed or not rows:
        yield "no collective functions, or no rows"
    for function, argument in sorted(needed - rows):
        yield f"{function}: no row for {argument}"
    for function, argument in sorted(rows - needed):
        yield f"{function}: a row for {argument}, which it does not have"
    yield from unbound(root, {function for function, _ in needed})


def unbound(root, functions):
    """Functions that a binding calls and its test does not; free functions have no argument in which ranks could
    differ."""
    for test, binding in BINDINGS.items():
        called = {"eqp_" + name for name in
                  re.findall(r'\b(?:eqp|c)_(\w+)[("]', uncommented(read(os.path.join(root, binding))))}
        called -= {name for name in called if re.search(r"_free$|^eqp_agree$|^eqp_comm_", name)}
        tried = set(re.findall(r'"(eqp_\w+): \w+', read(os.path.join(root, test))))
        if not called & functions:
            yield f"{binding}: no collective functions"
        for function in sorted(called & functions - tried):
            yield f"{test}: no row for {function}"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    found = list(complaints(arguments[0]))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
