# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes on one rank in Python: every collective call of the package gets wrong values of each parameter in turn on
one rank, and all ranks raise with a message that names it. Callbacks that raise on one rank. Objects used after
free()."""
import copy
import gc
import inspect
import signal
import sys
from functools import partial

import numpy as np
from mpi4py import MPI

import equipoise
import test_python
from equipoise._collective import collective_calls
from test_python import check, comm, raised

turn = 0
N = 20
X = np.random.default_rng(comm.rank).random((N, 3))
W = np.ones(N)
ZERO = np.zeros(N, np.int64)


def on_one_rank(what, call, good, wrong, name):
    """Makes the call with valid arguments on all ranks except one, which has its own. All ranks raise and name the
    error."""
    global turn
    guilty = turn = (turn + 1) % comm.size
    e = raised(call, **(wrong if comm.rank == guilty else good))
    said = f"{what} {({k: v for k, v in wrong.items() if good.get(k) is not v})!r:.90} on rank {guilty}: {e!r}"
    check(isinstance(e, Exception) and (name in str(e) or "nonsense" in str(e)), said)
    if comm.rank != guilty:
        check(isinstance(e, equipoise.Error) and str(e).startswith((f"rank {guilty}: ", "balancer: ")), said)


class Code:
    """A problem with one owner on each rank; the callback `fails` raises `raises` on one rank."""

    nominal = [1.0, 2.0]
    back, ghosts = [0], [1]
    fails, guilty, raises, calls, lent = None, 0, KeyError("mine"), set(), []

    def called(self, name, *lent):
        self.calls.add(name)
        self.lent += lent
        if name == self.fails and comm.rank == self.guilty:
            if not callable(self.raises):
                raise self.raises
            self.raises()

    def survey(self, kind, survey):
        survey.add_pin(comm.rank)
        survey.add_tile([0.5, 0.5, 0.5], 1.0, [comm.rank])
        survey.add_owner(id=comm.rank, pin=comm.rank, key=comm.rank, particles=1, count=[1, 2], interactions=3)
        self.called("survey", survey)

    def open(self, traced):
        self.called("open")

    def close(self):
        self.called("close")

    def aspect(self):
        self.called("aspect")
        return 1.0

    def base(self, nparts):
        self.called("base")
        return np.zeros(nparts)

    def advance(self):
        self.called("advance")

    def trace(self, nparts, map, placement, loads_only, evaluation):
        evaluation.load(int(placement["home"][0]), 1e-6)
        self.called("trace", map, evaluation)


def balancer(code, **options):
    return equipoise.Balancer(comm, code, "sfc", **options)


CODE = Code()
BALANCER = balancer(CODE)
PLAN = equipoise.Plan(comm, ZERO)
REALS = [["a"] * N, np.ones(N, complex), W[1:], W[:, None], [[1.0], [1.0, 2.0]], 3.0]
WHOLE = [W * 0.9, W > 0, ["a"] * N, ZERO[1:], [2**70] * N, np.full(N, 2**63, np.uint64), 0]
SCALAR = [0.9, 2.0, True, "2", [2, 2], 2**64, -2**63 - 1]
KINDS = [[1], [1, 2, 3], [0.9, 2], [-1, 2], [2**64, 1], ["a", "b"], 7]
RECORDS = [np.array([None] * N), 3.0, W[1:], W.astype("f4"), [[1.0], [1.0, 2.0]]]
# Arguments that are valid only if all ranks pass them.
OTHERS = {
    "balance_points": [{"method": "sfc", "options": None}, {"seed": 2}, {"regions": True}],
    "send_records": [{"items": W.astype("f4")}], "gather_records": [{"items": np.ones((N, 2))}],
    "balance_send": [{"items": (W.astype("f4"), W), "says": "columns"}, {"items": W, "says": "columns"}], "cut_keys": [{"work": None}],
    "verify_records": [{"items": W.astype("f4"), "says": "size of an element"}, {"sum": [1, 2]}],
    "Plan.send": [{"items": W.astype("f4")}], "Plan.give_back": [{"items": np.ones((len(PLAN), 2))}],
    "Walls.__init__": [{"least": 0.1, "says": "walls"}, {"x": X.astype("f4"), "says": "type"}],
    "Regions.__init__": [{"x": X.astype("f4"), "says": "type"}, {"nparts": 5, "says": "number of parts"}],
    "Balancer.__init__": [{"method": "count", "says": "options"}, {"seed": 2, "says": "options"},
                          {"problem": type("Other", (Code,), {"once": 1})(), "says": "problem"}],
    "Balancer.renew": [{"left": 6}], "Balancer.compare": [{"methods": "sfc"}, {"parts": [1, 3]}],
    "Balancer.record": [{"evaluations": 2}, {"moved": True}, {"last": None}, {"sum": np.ones(3)}, {"low": None}],
}
# For each parameter of each call, a valid argument and wrong ones; object() and text for numbers are always wrong.
X_ROW = (X, [X[:, :2], X[0], X.astype(complex), "text", None, X.tolist() + [[1, 2]]])
COLUMNS = {"x": X_ROW, "weight": (W, REALS), "size": (ZERO, WHOLE), "part_now": (ZERO, [*WHOLE, ZERO + 2**32])}
STEPS = (5, SCALAR)
CHOICE = {
    "method": ("tensor", [3, b"tensor", "ten\0sor"]), "imbalance_tol": (0.02, ["0.02", [1.0], True, 1j]),
    "share": ([0.25] * 4, [["a"] * 4, [0.5, 0.5], 1.0]), "seed": (1, [*SCALAR, -1]),
    "options": ({"x": 2}, [["x"], {"x": 2, "nonsense": 1}, {3: 1}, {"x": "nonsense"}])}
NPARTS = {"nparts": (4, [*SCALAR, 2**32, 2**31])}
AS_RANKS = {"share": ([1 / comm.size] * comm.size, [["a"] * comm.size, [0.5] * (comm.size + 1), 1.0]),
            "options": ({"y": 1}, CHOICE["options"][1])}
RESULT = {"result": ({}, [[]])}
KEYS = np.arange(N, dtype=np.uint64)
CORNER = [[0.0, 1.0], ["a", 0.0, 0.0], [1j, 0, 0], "text"]
CALLS = {
    "balance_points": (partial(equipoise.balance_points, comm), COLUMNS | CHOICE | NPARTS | RESULT | {
        "regions": (False, [1, "yes", None])}),
    "balance_send": (partial(equipoise.balance_send, comm), COLUMNS | CHOICE | AS_RANKS | RESULT | {
        "items": ((W, X), [W[1:], (W, W[1:]), 3.0, (np.array([None] * N),)])}),
    "cut_keys": (partial(equipoise.cut_keys, comm), {
        "keys": (KEYS, [W * 0.9, KEYS[:, None], ["a"] * N, [2**70] * N, np.full(N, -1), 3, np.full(N, 2**64 - 1, np.uint64)]),
        "work": (W, [*REALS, -W, W * np.nan, W * np.inf])}),
    "verify_records": (partial(equipoise.verify_records, comm), {
        "ids": (ZERO + comm.rank, [v for v in WHOLE if np.ndim(v) == 0 or len(v) == N]),
        "items": (W, [W[1:], np.array([None] * N), 3.0]), "sum": (None, [[1], [0.5, 1.0], ["a", "b"], 3.0])}),
    "Plan.__init__": (lambda **named: equipoise.Plan(comm, **named).free(), {
        "dest": (ZERO, [W * 0.9, ["a"] * N, ZERO + 2**32, ZERO + comm.size, ZERO - 1, ZERO[:, None], 0])}),
    "Plan.send": (PLAN.send, {"items": (W, [v for v in RECORDS if getattr(v, "dtype", None) != np.float32])}),
    "Plan.give_back": (PLAN.give_back, {"items": (np.ones(len(PLAN)), [np.ones(len(PLAN) + 1), 3.0])}),
    "Walls.__init__": (lambda **named: equipoise.Walls(comm, **named), {
        "x": X_ROW, "weight": COLUMNS["weight"], "low": ([0.0] * 3, CORNER), "high": ([1.0] * 3, CORNER),
        "least": (0.0, [["a"], [1.0, 2.0], "text", 1j])} | CHOICE | NPARTS),
    "send_records": (partial(equipoise.send_records, comm), {
        "items": (W, [v for v in RECORDS if not isinstance(v, np.ndarray) or v.dtype != np.float32 and v.size == N]),
        "dest": (ZERO, [*WHOLE, ZERO + 2**32, ZERO + comm.size, ZERO - 1])}),
    "gather_records": (partial(equipoise.gather_records, comm), {"items": (W, [np.array([None] * N), 3.0, [[1.0], [1.0, 2.0]]])}),
    "Regions.__init__": (lambda **named: equipoise.Regions(comm, **named), {
        "x": X_ROW, "part": (ZERO, [*WHOLE, ZERO + 2**32, ZERO + 4, ZERO - 1, None]), "nparts": (4, [*SCALAR, 2**32])}),
    "Balancer.__init__": (lambda **named: equipoise.Balancer(comm, **named).free(), {
        "problem": (CODE, []), "method": ("sfc", [3, "sfc:nonsense=2"]), "rebalance": ("repair", ["seldom", 2.5, True]),
        "share": ([1.0], ["some", ["a"], [1j], [], [-1.0]]), "plan": ("log", ["nonsense", 3]),
        # Parameters of all remaining calls, by name.
        "seed": (1, [*SCALAR, -1]), "imbalance_tol": (0.02, ["0.02", [0.1, 0.2], -1, np.nan]), "calibrate": (True, [1, "no", 0.0]),
        "size": (None, [8])}),
    "Balancer.advise": (BALANCER.advise, {"left": STEPS}),
    "Balancer.renew": (BALANCER.renew, {"left": STEPS}),
    "Balancer.begin": (BALANCER.begin, {}),
    "Balancer.record": (BALANCER.record, {
        "count": ([1, 2], KINDS), "load": (1.0, ["1", [1.0, 2.0], None, -1.0, np.nan]), "last": ([1, 2], KINDS),
        "evaluations": (1, [*SCALAR, -1]), "moved": (False, [0, "no"]), "code": (0, [*SCALAR, 3]),
        "sum": (np.ones(2), [[1.0, 2.0], np.ones(2, "f4"), np.ones(4)[::2], np.ones((2, 2)), np.ones(40)]),
        "low": (np.ones(1), [[1.0], np.ones(1, int), np.full(1, np.nan)]), "busy_seconds": (1.0, ["1", 1j])}),
    "Balancer.compare": (BALANCER.compare, {
        "methods": ("sfc,count", [3, "sfc,nonsense"]), "parts": ([1, 2], [[0, 2], [0.5, 2], ["a", "b"], [2**64, 1], [True]])}),
}


def mistakes_of_one_rank():
    check(set(CALLS) == set(collective_calls), f"calls without a row, rows without a call: {set(CALLS) ^ set(collective_calls)}")
    for name, (call, row) in CALLS.items():
        parameters = inspect.signature(collective_calls[name]).parameters.values()
        plain = {p.name for p in parameters if p.kind != p.VAR_KEYWORD} - {"self", "comm"}
        check(plain <= set(row), f"{name}: no wrong values for {plain - set(row)}")
        free = any(p.kind == p.VAR_KEYWORD for p in parameters)
        check(free or set(row) <= plain, f"{name}: no parameters {set(row) - plain}")
        good = {parameter: value for parameter, (value, _) in row.items() if parameter != "size" or value is not None}
        for parameter, (_, wrong) in row.items():
            for value in (object(), *wrong):
                on_one_rank(name, call, good, good | {parameter: value}, parameter)
        on_one_rank(name, call, good, good | {"nonsense": 1}, "nonsense")
        for p in parameters:
            if p.name in good and p.default is p.empty:
                on_one_rank(name, call, good, {k: v for k, v in good.items() if k != p.name}, p.name)
        for other in OTHERS.get(name, []):
            says, other = other.get("says", next(iter(other))), {k: v for k, v in other.items() if k != "says"}
            e = raised(call, **(good | other if comm.rank == comm.size - 1 else good))
            check(isinstance(e, equipoise.Error) and says in str(e), f"{name}, {other} on one rank: {e!r}")
        e = raised(call, **good)
        check(e is None, f"{name}: the next call is as good as any: {e!r}")


def callbacks_raise_on_one_rank():
    """An exception in a callback is raised again on its rank; the other ranks get its message."""
    code = Code()
    mine = balancer(code)
    mine.record([1, 2], 1.0)
    for name in ("survey", "open", "close", "aspect", "base", "advance", "trace"):
        for what, raises in (("mine", KeyError("mine")), ("KeyboardInterrupt", KeyboardInterrupt()),
                             ("KeyboardInterrupt", partial(signal.raise_signal, signal.SIGINT)), ("not now", equipoise.Error(equipoise.ERR_STATE, "not now")),
                             ("callback", lambda: mine.renew(3)), ("callback", mine.free)):
            code.fails, code.raises, code.guilty = name, raises, (code.guilty + 1) % comm.size
            e = raised(mine.compare, "interaction", [2]) if name != "close" else raised(mine.renew, 5)
            said = f"{name} raises {what} on rank {code.guilty}: {e!r}"
            check(what in str(e) or what in repr(e), said)
            if comm.rank != code.guilty:
                check(isinstance(e, equipoise.Error) and f"rank {code.guilty}: " in str(e), said)
    check({"survey", "open", "close", "aspect", "base", "advance", "trace"} <= code.calls, f"only {code.calls} are called")
    # The results of callbacks are checked as well.
    for name, wrong in (("base", lambda n: [0.0]), ("base", lambda n: "nonsense"), ("aspect", lambda: "nonsense")):
        code.fails, code.guilty = None, (code.guilty + 1) % comm.size
        if comm.rank == code.guilty:
            setattr(code, name, wrong)
        e = raised(mine.compare, "interaction", [2])
        check(name in str(e), f"{name} returns what it should not: {e!r}")
        vars(code).pop(name, None)
    check(raised(mine.compare, "interaction", [2]) is None, "the next call is as good as any")
    for lent in code.lent:
        for use in ("add_pin", "own_rank", "load"):
            if hasattr(lent, use):
                e = raised(getattr(lent, use), *(1, 1.0)[:2 if use == "load" else 1])
                check(isinstance(e, equipoise.Error) and e.code == equipoise.ERR_STATE, f"{use} after the callback: {e!r}")
    mine.free()


def numbers_are_not_cut():
    """Wrong arguments of local calls, including calls inside callbacks."""
    code = Code()
    kept = []

    def survey(kind, survey):
        for use, *wrong in ((survey.add_pin, 0.5), (survey.add_pin, 2**63), (survey.weigh, [1]), (survey.weigh, [1, 2**63]),
                            (survey.add_tile, [0, 0], 1.0), (survey.add_tile, [0, 0, 0], "1"),
                            (survey.add_tile, [0, 0, 0], 1.0, [1, 2, 3]), (survey.add_owners, [(1,)]),
                            (survey.add_owners, np.zeros(1, equipoise.owner_dtype), [0, 0.5], [1])):
            kept.append((use.__name__, wrong, raised(use, *wrong)))
        for wrong in ({"id": 2**63}, {"key": -1}, {"key": 0.5}, {"home": 2**31}, {"particles": 2**32}, {"centre": [0, 0]},
                      {"count": [1]}, {"count": [1, 2, 3]}, {"at_home": True}, {"nonsense": 1}):
            kept.append(("add_owner", wrong, raised(partial(survey.add_owner, **wrong))))
        Code.survey(code, kind, survey)

    def trace(nparts, map, placement, loads_only, evaluation):
        for use, *wrong in ((evaluation.load, 2**32, 1.0), (evaluation.load, 0, "1"), (evaluation.need, 0, 2**63, 0),
                            (evaluation.block, 0, 1, 8, 0.5, 0), (evaluation.held, 0.5, 1), (evaluation.common, 0, 2**64),
                            (evaluation.meanwhile, 0, True, 1.0), (map.own_rank, 2**63), (map.tag_in, 1, 2**32),
                            (map.rank, 1, [0, 0])):
            kept.append((use.__name__, wrong, raised(use, *wrong)))
        Code.trace(code, nparts, map, placement, loads_only, evaluation)

    code.survey, code.trace = survey, trace
    with balancer(code) as mine:
        mine.compare("sfc", [2])
        kept += [("predict", w, raised(mine.predict, w)) for w in ([1], [0.5, 1], [2**63, 1])]
        kept += [("unpack", w, raised(mine.unpack, w)) for w in ("text", None, 3, np.zeros(3))]
    regions = equipoise.Regions(comm, X, ZERO, 1)
    kept += [("box", w, raised(regions.box, w)) for w in (2**32, 0.0, True)]
    kept += [("touch", w, raised(regions.touch, *w)) for w in (([0, 0],), ([0] * 3, "text"), ([0] * 3, None, "1"), ([0] * 3, None, 0, [1]))]
    kept += [("walls", w, raised(regions.walls, w)) for w in (2**32, 0.0, True)]
    kept += [("find", w, raised(regions.find, w)) for w in (np.zeros((3, 4)), "text", [["a", "b", "c"]])]
    kept += [("random", w, raised(equipoise.random_uniform, 1, 2, w)) for w in (-1, 2**64, 0.5)]
    kept += [("keys", w, raised(equipoise.hilbert_keys, *w)) for w in ((X, [0, 0], 1), (X, [0] * 3, "1"), (X[:, :2], [0] * 3, 1))]
    for name, wrong, e in kept:
        check(isinstance(e, (TypeError, ValueError)), f"{name} with {wrong}: {e!r}")
    check(len(kept) > 40 and len({name for name, _, _ in kept}) > 16, "all of them are tried")
    check(equipoise.random_uniform(np.int32(1), np.uint64(2), 2**64 - 1) < 1, "numbers of numpy are numbers")


def objects_after_their_end():
    own = comm.Dup()
    mine, plan = equipoise.Balancer(own, CODE, "sfc"), equipoise.Plan(own, ZERO)
    own.Free()  # the objects have a communicator of their own
    check("rank 0: " in str(raised(mine.renew, 3 if comm.rank else "3")) or comm.rank == 0, "a mistake is told all the same")
    for once in (mine, plan, mine.map):
        for copier in (copy.copy, copy.deepcopy):
            check(isinstance(raised(copier, once), TypeError), "there is no second one to free")
    regions = [equipoise.Regions(comm, X, ZERO, 1) for _ in range(3)]
    map, placement = mine.map, mine.renew(3).placement.copy()
    arrived = equipoise.gather_records(comm, W)
    for _ in range(2):  # the second call does nothing
        mine.free()
        plan.free()
    placed = placement.tolist()
    for name, use in (("shared", lambda: map.shared), ("own_rank", lambda: map.own_rank(0)), ("due", lambda: mine.due),
                      ("map", lambda: mine.map), ("predict", lambda: mine.predict([1, 2])), ("pack", mine.pack),
                      ("renew", lambda: mine.renew(3)), ("record", lambda: mine.record([1, 2], 1.0)),
                      ("unpack", lambda: mine.unpack(b"")), ("len", lambda: len(plan)),
                      ("send", lambda: plan.send(W))):
        e = raised(use)
        check(isinstance(e, equipoise.Error) and e.code == equipoise.ERR_STATE, f"{name} after free(): {e!r}")
    # Garbage collection runs at different times on different ranks and makes no collective call.
    for k in range(3):
        regions[(comm.rank + k) % 3] = equipoise.Plan(comm, ZERO) if k == 1 else None
        gc.collect()
        comm.Barrier()
    kept, plan = balancer(CODE), equipoise.Plan(comm, ZERO)
    MPI.Finalize()
    for name, use in (("balance_points", lambda: equipoise.balance_points(comm, X)), ("free", kept.free),
                      ("renew", lambda: kept.renew(3)), ("free", plan.free)):
        e = raised(use)
        check(isinstance(e, equipoise.Error) and e.code == equipoise.ERR_STATE, f"{name} after MPI_Finalize(): {e!r}")
    check(arrived.sum() == len(arrived) and placement.tolist() == placed, "arrays outlive all of that")


mistakes_of_one_rank()
callbacks_raise_on_one_rank()
numbers_are_not_cut()
objects_after_their_end()
sys.exit(1 if test_python.failures else 0)
