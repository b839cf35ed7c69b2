#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every reader takes time in proportion to its input: twice as much of it takes at most 2.5 times the instructions.

    tests/fuzz/work.py FOLDER     with the programs fuzz_NAME_replay

Each shape of input is read in three sizes below callgrind, and what is compared is what the second half of the growth
takes with the first, so that starting a program does not count. Status 77 without valgrind."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
import make_corpus as corpus  # noqa: E402

MOST = 2.5


def network(n):
    nodes = [corpus.node(f"0,{i}", f"{i % 19 - 9} {i // 19 % 19 - 9} {i // 361 / 10}", [(f"0,{(i + 1) % n}", "1 0 0", "0 0 3"),
             (f"0,{(i - 1) % n}", "-1 0 0", "0 0 3")]) for i in range(n)]
    return corpus.network(nodes=nodes)


def page(steps=1, traffic=0, hindsight=0, why=1):
    step = '{"step": %d, "method": "sfc", "rebalanced": true, "imbalance_measured": 0.5, "why": "' + "w" * why + '"}'
    return "\0".join(('{"schema": 1, "steps": [%s]}' % ", ".join(step % i for i in range(steps)),
                      "from,to,bytes\n" + "2,0,5\n" * traffic,
                      "step,steps,seconds,best_seconds,map,best_map\n" + "".join(f"{i},1,1,1,0,0\n" for i in range(hindsight))))


def vt(n, repeats=0):
    task = '{"entity":{"id":%d,"home":0,"type":"object","migratable":true},"node":0,"resource":"cpu","time":0.5}'
    known = '"phases":{"identical_to_previous":{"range":[[1,%d]]}},' % repeats if repeats else ""
    return (' {"metadata":{%s"type":"LBDatafile"},"phases":[{"id":0,"tasks":[' % known +
            ",".join(task % (i << 32) for i in range(n)) + "]}]}")


def items(n, step, phases=1):
    return " item,load,phase\n" + "".join(f"{i * step},1,{p}\n" for p in range(phases) for i in range(n))


def forces(n):
    one = "\t".join([f"p{i}{c}" for i in (1, 2) for c in "xyz"] + ["bx", "by", "bz", "a", "mu", "nu"] +
                    [f"fq{i}{c}" for i in (1, 2) for c in "xyz"])
    return "# forces\n" + one + "\n" + "0 0 0 9 1 0 0 1 0 1 2 0.3 1e-3 2e-3 -3e-3 1e-3 2e-3 -3e-3\n".replace(" ", "\t") * n


def samples(frames, n):
    frame = struct.pack("=qq6d", 4, n, *[-1.0] * 3, *[2.0] * 3) + struct.pack("=4H", 1, 2, 3, 4) * n
    return b"EQPSAMP1" + struct.pack("=ii", 1, 3) + frame * frames


def tipsy(n):
    return struct.pack(">d6I", 0.5, n, 3, 0, n, 0, 0) + struct.pack(">9f", *[1.0] * 9) * n


def zipped(text):
    packed = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packed.compress(text.encode()) + packed.flush()


# Target, size, input of n.
SHAPES = {
    "text, lines": ("text", 400, lambda n: "1 0 0 0 0 0 0\n" * n),
    "text, remarks": ("text", 4000, lambda n: "#\n" * n + "1 0 0 0 0 0 0\n"),
    "text, one line": ("text", 900, lambda n: "1 0 0 0 0 0 0" + " " * n + "\n"),
    "text, columns": ("text", 400, lambda n: "id,x,y,z\n" + "".join(f"{i},1,2,3\n" for i in range(n))),
    "text, XYZ": ("text", 400, lambda n: f"{n}\n\n" + "C 1 2 3\n" * n),
    "text, frames of a dump": ("text", 40, lambda n: "".join(
        f"ITEM: TIMESTEP\n{i}\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n0 1\n0 1\n0 1\nITEM: ATOMS id x y z\n1 0 0 0\n"
        "2 .5 .5 .5\n" for i in range(n))),
    "text, gzip": ("text", 400, lambda n: zipped("1 0 0 0 0 0 0\n" * n)),
    "gadget": ("gadget", 2000, lambda n: b"\0" + corpus.gadget(2, counts=(0, n, 0, 0, 0, 0))),
    "tipsy": ("tipsy", 2000, tipsy),
    "loads, rows": ("loads", 500, lambda n: "step,rank,load,predicted\n" + "".join(f"{i},0,1,1\n" for i in range(n))),
    "loads, ranks": ("loads", 500, lambda n: "step,rank,load,predicted\n" + "".join(f"0,{i},1,1\n" for i in range(n))),
    "page, steps": ("page", 300, lambda n: page(steps=n)),
    "page, a long word": ("page", 8000, lambda n: page(why=n)),
    "page, traffic": ("page", 1000, lambda n: page(traffic=n)),
    "page, hindsight": ("page", 500, lambda n: page(hindsight=n)),
    "samples, points": ("samples", 2000, lambda n: samples(1, n)),
    "samples, frames": ("samples", 300, lambda n: samples(n, 1)),
    "speeds, points": ("speeds", 300, lambda n: "".join(f"{r} {i} 2\n" for r in range(17) for i in range(n // 17))),
    "speeds, ranks": ("speeds", 300, lambda n: "".join(f"{r} 1 2\n" for r in range(17 + n))),
    "ctrl, keys": ("ctrl", 300, lambda n: "".join(f"key{i} = {i}\n" for i in range(n))),
    "ctrl, a list": ("ctrl", 2000, lambda n: "key = [ " + "1 " * n + "]\n"),
    "paradis": ("paradis", 200, network),
    "forces": ("forces", 100, forces),
    "table": ("traces", 500, lambda n: items(n, 1)),
    "table, ids of one remainder": ("traces", 500, lambda n: items(n, 1 << 40)),
    "table, ids with gaps": ("traces", 500, lambda n: items(n, 4294967297)),
    "table, phases": ("traces", 300, lambda n: items(2, 1, n)),
    "edges": ("traces", 500, lambda n: items(n, 1) + "# edges\nfrom,to,bytes\n" + "".join(f"{i},{n - 1 - i},8\n" for i in range(n))),
    "vt, tasks": ("traces", 300, vt),
    "vt, repeated phases": ("traces", 20000, lambda n: vt(2, n)),
}


def instructions(program, path):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, path],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"{program}: status {done.returncode}: {done.stderr[-500:]}")
    return int(found[1])


def growth(place, name):
    """How many times the instructions twice the input takes; None where this build has no such reader."""
    target, n, make = SHAPES[name]
    program = os.path.join(sys.argv[1], f"fuzz_{target}_replay")
    if not os.path.exists(program):
        print(f"{name}: skipped, this build has no {target}")
        return None
    work = []
    for size in (n, 2 * n, 4 * n):
        data = make(size)
        path = os.path.join(place, re.sub(r"\W", "-", name))
        with open(path, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        work.append(instructions(program, path))
    times = (work[2] - work[1]) / (work[1] - work[0])
    print(f"{name:30} {work[0]:11} {work[1]:11} {work[2]:11}   twice as much: {times:.2f} times", flush=True)
    return times


def main():
    if shutil.which("valgrind") is None:
        print("valgrind is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(os.cpu_count()) as pool:
        os.environ["TMPDIR"] = place
        found = dict(zip(SHAPES, pool.map(lambda name: growth(place, name), SHAPES)))
    # Below 0.5 the input was not read.
    failed = [name for name, times in found.items() if times is not None and not 0.5 < times <= MOST]
    if failed:
        sys.exit("not in proportion: " + ", ".join(failed))


main()
