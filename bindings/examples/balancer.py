# SPDX-License-Identifier: BSD-3-Clause
"""The balancer object in Python: a clump moves through the cells of a box, and each rank owns whole cells.
usage: balancer.py [METHOD [STEPS]]"""
import sys

import numpy as np
from mpi4py import MPI

import equipoise

M = 12  # cells along an edge of the unit box
CELLS = np.arange(M**3)
GRID = np.stack([CELLS // M**2, CELLS // M % M, CELLS % M], axis=1)
CENTRE = (GRID + 0.5) / M
# The 27 cells around each cell, itself included, in a periodic box.
AROUND = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)])
NEIGHBOUR = ((GRID[:, None] + AROUND) % M) @ [M**2, M, 1]


def work_of(step):
    """Interactions of every cell in a step; cells in the clump have many."""
    clump = 0.3 + 0.005 * step
    return 20 + (2000 * np.exp(-40 * ((CENTRE - clump) ** 2).sum(axis=1))).astype(np.int64)


class Code:
    def __init__(self, comm, method):
        self.comm, self.now = comm, 0
        self.home = CELLS * comm.size // len(CELLS)  # rank of each cell, on all ranks
        # The check is on counted work, not on seconds.
        self.balancer = equipoise.Balancer(comm, self, method, rebalance="repair", calibrate=False)

    def survey(self, kind, survey):
        """Adds every local cell as an owner with its work and the cells that it reads."""
        here = np.flatnonzero(self.home == self.comm.rank)
        owners = np.zeros(len(here), dtype=equipoise.owner_dtype)
        owners["id"] = owners["pin"] = here
        owners["home"] = owners["tag"] = self.comm.rank
        owners["at_home"] = np.arange(len(here))
        owners["particles"], owners["bytes"], owners["interactions"] = 10, 800, 27
        owners["centre"] = CENTRE[here]
        owners["count"][:, 0] = work_of(self.now)[here]
        owners["key"] = equipoise.hilbert_keys(CENTRE[here], [0, 0, 0], 1)
        if kind == equipoise.SURVEY_WORK:
            survey.add_owners(owners, 27 * np.arange(len(here) + 1), NEIGHBOUR[here].ravel())
        else:
            survey.add_owners(owners)

    def follow(self, placement):
        """Moves cells as advised. A real code would move their particles with equipoise.send_records()."""
        moved = np.zeros_like(self.home)
        moved[self.home == self.comm.rank] = placement["home"]
        self.comm.Allreduce(moved, self.home)

    def compute(self):
        """Computes the forces of this step and returns their number of interactions."""
        looked = work_of(self.now)[self.home == self.comm.rank]
        self.force = sum((1 / np.sqrt(np.arange(1, n + 1))).sum() for n in looked)
        return int(looked.sum())

    def step(self, step, steps):
        begin = equipoise.cpu_seconds()
        advice = self.balancer.advise(steps - step)
        if advice.changed:
            self.follow(advice.placement)
        self.now, balanced = step, equipoise.cpu_seconds()
        self.looked = self.compute()
        return self.balancer.record(self.looked, equipoise.cpu_seconds() - balanced, balance_seconds=balanced - begin)


def run(comm, method, steps):
    code = Code(comm, method)
    for step in range(steps + 1):
        now = code.step(step, steps)
        if comm.rank == 0 and (now.rebalanced or step == steps):
            print(f"step {step}: imbalance {100 * now.imbalance_work:.1f}% by work {now.why}")
    rows = code.balancer.compare("count,sfc", [64, 512])
    for row in rows:
        if comm.rank == 0:
            print(f"{row.method} into {row.parts} parts: imbalance {100 * row.evaluated.imbalance:.0f}%")
    code.balancer.free()
    return comm.allreduce(code.looked) == work_of(steps).sum() and now.imbalance_work < 0.1 and len(rows) == 4


arguments = dict(enumerate(sys.argv))
sys.exit(0 if run(MPI.COMM_WORLD, arguments.get(1, "sfc"), int(arguments.get(2, 20))) else 1)
