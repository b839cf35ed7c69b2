#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory of the dislocation app by weak scaling, as CSV: the peak of the largest rank, less what an empty process of
the same job holds.

    bench/bench_network_memory.py DISLOCATION [CHAINS [METHOD...]]      (180 interaction)

One step of the same tangle of so many chains on each of 1, 2 and 4 ranks: it is laid beside itself, and so is the grid
of cells. bytes_per_node is without, with_empty with what a process holds when there is next to nothing to do.
"""
import json
import os
import subprocess
import sys
import tempfile

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "mpi", "run.sh")  # mpirun as root, too

TILES = {1: "1,1,1", 2: "2,1,1", 4: "2,2,1"}
CELLS_PER_TILE = 12


def run(program, ranks, method, chains):
    """Bytes of the largest rank, nodes of all, and the command."""
    tile = TILES[ranks]
    cells = ",".join(str(CELLS_PER_TILE * int(t)) for t in tile.split(","))
    with tempfile.TemporaryDirectory() as folder:
        launcher = [RUN, str(ranks)]
        command = [program, "--generate", f"chains:n={chains},box=60000,maxseg=500", "--tile", tile, "--cells", cells,
                   "--steps", "1", "--balance", method, "--quiet"]
        subprocess.run(launcher + command + ["--report", folder], check=True)
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            report = json.load(file)
    return max(report["peak_bytes"]), report["particles"], " ".join(launcher + command)


def main(program, chains=180, *methods):
    print("method,ranks,nodes_per_rank,peak_bytes,empty_bytes,bytes_per_node,with_empty,command")
    for method in methods or ("interaction",):
        for ranks in TILES:
            most, nodes, command = run(program, ranks, method, int(chains))
            empty, _, _ = run(program, ranks, method, 1)
            each = nodes / ranks
            print(f"{method},{ranks},{each:.0f},{most},{empty},{(most - empty) / each:.1f},{most / each:.1f},"
                  f"\"{command}\"", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
