# SPDX-License-Identifier: BSD-3-Clause
"""Load balancing for MPI N-body codes by their interactions.

balance_points() assigns a part to each item by its position and work, send_records() moves items to their ranks, and
balance_send() does both; a Balancer keeps a code balanced. Communicators are mpi4py's, arrays are numpy's. Errors raise
an Error; a collective call fails on all ranks or on none. Names match the C interface, whose man pages have the
details: `man 3 equipoise`."""
from . import _structs
from ._balancer import Balancer, Evaluation, Map, Survey, owner_dtype
from ._library import Error, __version__, error_text, lib
from ._points import (Plan, Regions, Walls, balance_points, balance_send, cut_keys, gather_records, hilbert_keys,
                      methods, send_records, verify_records)

# Error codes, survey kinds and actions, without the prefix EQP_.
for _name in dir(_structs):
    if _name.startswith(("EQP_ERR_", "EQP_SURVEY_", "EQP_COST_")) or _name in ("EQP_KEEP", "EQP_REPAIR", "EQP_RENEW"):
        globals()[_name[4:]] = getattr(_structs, _name)

cpu_seconds = lib.eqp_cpu_seconds
busy_seconds = lib.eqp_busy_seconds
wait_begin = lib.eqp_wait_begin
wait_end = lib.eqp_wait_end
random_uniform = lib.eqp_random_uniform
