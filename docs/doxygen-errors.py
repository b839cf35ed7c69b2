#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Doxygen's input filter for error.h: writes the enum out, since Doxygen does not expand a list that macros make.

usage: doxygen-errors.py error.h; the filtered header goes to stdout, with as many lines.
"""
import re
import sys

ROW = re.compile(r'^\s*X\((\w+), (-?\d+), "([^"]*)"\)', re.MULTILINE)
ENUM = re.compile(r"^#define EQP_ERROR_ENUM.*?^#undef EQP_ERROR_ENUM\n", re.MULTILINE | re.DOTALL)


def main(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    rows = ROW.findall(text)
    if not rows or not ENUM.search(text):
        print(f"{path}: no list of errors", file=sys.stderr)
        return 1
    members = " ".join(f"EQP_{name} = {value}, /**< {words} */" for name, value, words in rows)
    sys.stdout.write(ENUM.sub(lambda match: members + "\n" * match.group(0).count("\n"), text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
