#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""No room has more lines of code than sizes.txt grants it.

usage: check_size.py ROOT [--write]

A file belongs to the longest path in the table that is a prefix of its own. --write sets every ceiling to the present
lines of its room. A change that needs more lines raises the ceiling and explains in its commit why none could go."""
import os
import subprocess
import sys

CODE = (".c", ".h", ".hpp", ".cpp", ".py", ".f90", ".js", ".sh")


def main():
    root = sys.argv[1]
    table = os.path.join(root, "tests", "tools", "sizes.txt")
    with open(table, encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    ceiling = {room: int(lines) for room, lines in rows}
    lines = dict.fromkeys(ceiling, 0)
    names = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False).stdout.split("\n")
    if not any(names):
        sys.exit(77)  # no clone
    for name in filter(lambda name: name.endswith(CODE), names):
        rooms = [room for room in ceiling if name.startswith(room + "/")]
        if not rooms:
            sys.exit(f"{name}: in no room of sizes.txt")
        with open(os.path.join(root, name), "rb") as file:
            lines[max(rooms, key=len)] += file.read().count(b"\n")
    if "--write" in sys.argv:
        with open(table, "w", encoding="utf-8") as file:
            file.write("# Room and the most lines of code in it: check_size.py.\n")
            file.writelines(f"{room} {n}\n" for room, n in lines.items())
        return
    wrong = [f"{room}: {n} lines, {ceiling[room]} at most in sizes.txt" for room, n in lines.items() if n > ceiling[room]]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{sum(lines.values())} lines in {len(lines)} rooms")


if __name__ == "__main__":
    sys.exit(main())
