#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every function, macro and header that the pages name is in the public headers; every local link has a target.

usage: check_names.py SOURCE_ROOT
"""
import glob
import os
import re
import sys

PAGES = ["*.md", "docs/*.md", "data/*.md", "man/*.scd"]
HEADERS = ["sampling/include/equipoise/**/*.h", "lib/include/equipoise/**/*.h", "lib/include/equipoise/*.hpp"]
NAME = re.compile(r"\b(eqp_[a-z0-9]\w*|EQP_[A-Z0-9]\w*)\b")
HEADER = re.compile(r"<equipoise/([\w./]+)>")
FORTRAN = ["bindings/fortran/*.f90"]
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def files(root, patterns):
    return sorted(path for pattern in patterns for path in glob.glob(os.path.join(root, pattern), recursive=True))


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def complaints(root):
    headers = files(root, HEADERS)
    known = {name for path in headers + files(root, FORTRAN) for name in NAME.findall(read(path))}
    # The list of codes holds their names without the prefix.
    error_list = re.findall(r"\bX\((\w+),", read(os.path.join(root, "sampling/include/equipoise/error.h")))
    known |= {"EQP_" + name for name in error_list}
    known_headers = {path.partition("/include/equipoise/")[2] for path in headers}
    for path in files(root, PAGES):
        place = os.path.relpath(path, root)
        in_code = False
        for number, line in enumerate(read(path).splitlines(), 1):
            for name in NAME.findall(line):
                if name not in known:
                    yield f"{place}:{number}: no public header has {name}"
            for header in HEADER.findall(line):
                if header not in known_headers:
                    yield f"{place}:{number}: no public header equipoise/{header}"
            in_code ^= line.startswith("```")
            if path.endswith(".md") and not in_code:
                for target in LINK.findall(line):
                    if "://" not in target and not os.path.exists(os.path.join(os.path.dirname(path), target)):
                        yield f"{place}:{number}: {target} is not there"


def main(arguments):
    if len(arguments) != 1 or not files(arguments[0], HEADERS) or not files(arguments[0], PAGES):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    found = list(complaints(arguments[0]))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
