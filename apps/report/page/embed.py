#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts style and scripts into a page and writes it as C: an array of texts, cut at @TITLE@ and @DATA@.

usage: embed.py OUT.c PAGE.html STYLE.css SCRIPT.js...
"""
import re
import sys


def without_licence(text):
    """Less to load, once for each page: comments on lines of their own, indentation and empty lines."""
    text = re.sub(r"^\s*/\*.*?\*/\s*?$", "", text, flags=re.S | re.M)
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def literal(text):
    out = []
    for byte in text.encode():
        char = chr(byte)
        if char in '"\\?':
            out.append("\\" + char)
        elif char == "\n":
            out.append('\\n"\n    "')
        elif 32 <= byte < 127:
            out.append(char)
        else:
            out.append(f'\\{byte:03o}')
    return '"' + "".join(out) + '"'


def main(out, page, style, *scripts):
    html = read(page)
    html = html.replace("@STYLE@", without_licence(read(style)))
    html = html.replace("@SCRIPT@", "\n".join(without_licence(read(path)) for path in scripts))
    pieces = [piece for piece in re.split(r"(@TITLE@|@DATA@)", html) if piece]
    with open(out, "w", encoding="ascii") as f:
        f.write("/* Made by embed.py. */\n#include \"pack.h\"\n\nconst char *const app__page_piece[] = {\n")
        for piece in pieces:
            # A compiler need not take texts of more than 4095 bytes (C11, 5.2.4.1), so they are arrays of chunks.
            chunks = [piece[i:i + 3000] for i in range(0, len(piece), 3000)]
            f.write("".join(f"    {literal(chunk)},\n" for chunk in chunks))
        f.write("};\nconst int app__page_npieces = sizeof app__page_piece / sizeof app__page_piece[0];\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
