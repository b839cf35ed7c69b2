# SPDX-License-Identifier: BSD-3-Clause
"""Weights only, in Python: items with positions and measured work are assigned to ranks and moved there."""
import sys

import numpy as np
from mpi4py import MPI

import equipoise

comm = MPI.COMM_WORLD
method = sys.argv[1] if len(sys.argv) > 1 else "sfc"

# A clump in a thin background; items in the clump take longer. The last rank has no items yet.
n = 0 if comm.size > 1 and comm.rank == comm.size - 1 else 5000
atoms = np.zeros(n, dtype=[("x", np.float32, 3), ("seconds", np.float64)])
for i in range(n):
    u = np.array([equipoise.random_uniform(1, comm.rank * 5000 + i, a) for a in range(3)])
    atoms["x"][i] = 0.7 + 0.05 * u if i % 2 == 0 else u
atoms["seconds"] = np.where(np.arange(n) % 2 == 0, 3e-6, 1e-6)

mine = equipoise.balance_send(comm, atoms["x"], atoms, atoms["seconds"], method=method)

total = comm.allreduce(mine["seconds"].sum())
most = comm.allreduce(mine["seconds"].sum(), MPI.MAX)
if comm.rank == 0:
    print(f"imbalance {100 * (most * comm.size / total - 1):.2f}%")
sys.exit(0 if most * comm.size <= 1.021 * total else 1)
