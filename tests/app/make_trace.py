#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a trace of a made-up code: items on a grid, a moving hot spot, ranks of equal counts.

    tests/app/make_trace.py FORMAT FOLDER [ITEMS [PHASES [RANKS]]]

FORMAT: csv, tsv, vt, boxes (WarpX's LoadBalanceCosts) or charm (a dump for each phase). All formats describe the same
items, except that vt and charm have no positions and boxes has no edges. Ranks hold equal counts in the order of the
item numbers, which go through the grid row by row."""
import json
import pathlib
import struct
import sys


class Trace:
    def __init__(self, n, phases, ranks):
        self.side = 1
        while self.side ** 3 < n:
            self.side += 1
        self.n, self.phases, self.ranks = n, phases, ranks

    def place(self, i):
        return i % self.side, i // self.side % self.side, i // self.side ** 2

    def rank(self, i):
        return i * self.ranks // self.n

    def load(self, i, phase):
        """Seconds: 1 ms, and up to 20 times that near a point that moves along the diagonal."""
        at = self.side * (0.3 + 0.4 * phase / max(self.phases, 20))
        far = sum((x - at) ** 2 for x in self.place(i)) / self.side ** 2
        return 1e-3 + 0.019 / (1 + 40 * far)

    def edges(self):
        """Edges to the next item along each axis, and back."""
        for i in range(self.n):
            x, y, z = self.place(i)
            for inside, step in (x + 1 < self.side, 1), (y + 1 < self.side, self.side), (True, self.side ** 2):
                if inside and i + step < self.n:
                    yield i, i + step
                    yield i + step, i


def write_table(trace, folder, separator):
    with open(folder / f"items.{'tsv' if separator == chr(9) else 'csv'}", "w") as out:
        out.write(separator.join("item x y z load_seconds phase rank bytes".split()) + "\n")
        for p in range(trace.phases):
            for i in range(trace.n):
                row = [i, *trace.place(i), f"{trace.load(i, p):.9g}", p, trace.rank(i), 800]
                out.write(separator.join(map(str, row)) + "\n")
    with open(folder / f"edges.{'tsv' if separator == chr(9) else 'csv'}", "w") as out:
        out.write(separator.join(["from", "to", "bytes"]) + "\n")
        out.writelines(f"{a}{separator}{b}{separator}800\n" for a, b in trace.edges())


def write_vt(trace, folder):
    def entity(i):
        home = trace.rank(i)
        return {"collection_id": 7, "home": home, "id": i + 1 << 18 | home << 2 | 3, "index": [i], "migratable": True,
                "type": "object"}

    edges = list(trace.edges())
    items = [[] for _ in range(trace.ranks)]
    sent = [[] for _ in range(trace.ranks)]
    for i in range(trace.n):
        items[trace.rank(i)].append(i)
    for a, b in edges:
        sent[trace.rank(a)].append({"bytes": 800.0, "from": entity(a), "messages": 1, "to": entity(b), "type": "SendRecv"})
    for r in range(trace.ranks):
        phases = []
        for p in range(trace.phases):
            tasks = [{"entity": entity(i), "node": r, "resource": "cpu", "time": trace.load(i, p)} for i in items[r]]
            fixed = {"home": r, "id": r << 2 | 1, "migratable": False, "type": "object"}
            tasks.append({"entity": fixed, "node": r, "resource": "cpu", "time": 1e-5})
            phases.append({"id": p, "tasks": tasks, "communications": sent[r]})
        root = {"metadata": {"rank": r, "type": "LBDatafile"}, "phases": phases}
        (folder / f"data.{r}.json").write_text(json.dumps(root))


def write_boxes(trace, folder):
    names = "cost proc lev i_low j_low k_low hostname".split()
    header = ["[1]step()", "[2]time(s)"]
    for i in range(trace.n):
        header += [f"[{3 + 7 * i + k}]{name}_box_{i}()" for k, name in enumerate(names)]
    with open(folder / "LBC.txt", "w") as out:
        out.write("#" + " ".join(header) + "\n")
        for p in range(trace.phases):
            row = [str(p), f"{p:.14e}"]
            for i in range(trace.n):
                row += [f"{v:.14e}" for v in (trace.load(i, p), trace.rank(i), 0, *(8 * x for x in trace.place(i)))]
                row.append(f"node{trace.rank(i) // 4}")
            out.write(" ".join(row) + "\n")


def charm(trace, phase, user_data=False, edges=None):
    """A dump as Charm++ 7 and 8 write it on a 64-bit machine with little-endian numbers."""
    out = bytes([0x10, 0xEA, 0xBD, 0xF9, 1, 1, 2, 4, 8, 16, 1, 4, 8, 1, 1, 8])
    out += struct.pack("<ii", 3, trace.ranks) + struct.pack("<i", trace.n) + struct.pack("<Q", trace.ranks)
    for r in range(trace.ranks):
        out += struct.pack("<4d?ii", 1.0, 0.5, 1e-5, 1.0, True, trace.n // trace.ranks, r)
    parts = [out, struct.pack("<Q", trace.n)]
    for i in range(trace.n):
        parts.append(struct.pack("<iiQid??", 5, 0, i, i, trace.load(i, phase), True, False))
        parts.append(struct.pack("<Q3s", 3, b"abc") if user_data else b"")
        parts.append(struct.pack("<H", 800))
    parts.append(struct.pack("<Q", trace.n) + b"".join(struct.pack("<i", trace.rank(i)) for i in range(trace.n)))
    edges = list(trace.edges()) if edges is None else edges
    parts.append(struct.pack("<Q", len(edges)))
    for a, b in edges:
        parts.append(struct.pack("<iiQ", -1, 5, a) + struct.pack("<biQi", 2, 5, b, 0) + struct.pack("<ii", 1, 800))
    return b"".join(parts)


def main():
    kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    trace = Trace(*(list(map(int, sys.argv[3:])) + [512, 3, 8][len(sys.argv) - 3:]))
    folder.mkdir(parents=True, exist_ok=True)
    if kind in ("csv", "tsv"):
        write_table(trace, folder, "," if kind == "csv" else "\t")
    elif kind == "charm":
        for p in range(trace.phases):
            (folder / f"lbdata.dat.{p}").write_bytes(charm(trace, p))
    else:
        {"vt": write_vt, "boxes": write_boxes}[kind](trace, folder)


if __name__ == "__main__":
    main()
