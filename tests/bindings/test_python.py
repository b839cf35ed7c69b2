# SPDX-License-Identifier: BSD-3-Clause
"""The Python package on several ranks: parts for any array layout, errors on all ranks, exceptions that leave
callbacks, objects. With the argument `parts` it prints the output of parts.c."""
import faulthandler
import sys

import numpy as np
from mpi4py import MPI

import equipoise

comm = MPI.COMM_WORLD
failures = 0


def check(condition, what):
    global failures
    if not condition:
        print(f"rank {comm.rank}: {what}", file=sys.stderr)
        failures += 1


def raised(call, *arguments, **named):
    """The exception of a call, or None; fails if the call takes long."""
    faulthandler.dump_traceback_later(10, exit=True)
    try:
        call(*arguments, **named)
    except BaseException as e:
        return e
    finally:
        faulthandler.cancel_dump_traceback_later()
    return None


def items():
    n = 0 if comm.rank == 1 else 300
    rows = np.zeros(n, dtype=[("id", np.int64), ("x", np.float32, 3), ("weight", np.float64)])
    for i in range(n):
        rows[i]["id"] = comm.rank * 300 + i
        rows[i]["x"] = [equipoise.random_uniform(3, comm.rank * 300 + i, a) for a in range(3)]
    rows["weight"] = 1.0 + np.arange(n) % 5
    return rows


def print_parts():
    rows = items()
    for method in ("rcb", "sfc"):
        said = {}
        part = equipoise.balance_points(comm, rows["x"], rows["weight"], method=method, nparts=7, result=said)
        for p in equipoise.gather_records(comm, part):
            if comm.rank == 0:
                print(method, p)
        if comm.rank == 0:
            print(f"{method} {said['imbalance']:.12e}")


def parts_do_not_depend_on_how_arrays_lie():
    rows = items()
    x = rows["x"]
    expected = equipoise.balance_points(comm, x, rows["weight"], nparts=5)
    wide = np.zeros((len(rows), 8), np.float32)
    wide[:, 2:5] = x
    packed = np.zeros(len(rows), dtype=np.dtype([("a", np.int8), ("x", np.float32, 3)]))  # not aligned
    packed["x"] = x
    for name, other in (("contiguous", x.copy()), ("columns of a wider array", wide[:, 2:5]), ("by columns", np.asfortranarray(x)),
                        ("double", x.astype(np.float64)), ("backwards", x[::-1].copy()[::-1]), ("packed", packed["x"]),
                        ("lists", x.tolist() if len(x) else x), ("other byte order", x.astype(">f8"))):
        part = equipoise.balance_points(comm, other, list(rows["weight"]), nparts=5)
        check((part == expected).all(), f"parts of an array that is {name}")
    check(equipoise.balance_points(comm, x).max(initial=0) < comm.size, "as many parts as ranks")
    grid = equipoise.balance_points(comm, x, method="tensor:x=1,y=2,z=4", nparts=8)
    options = equipoise.balance_points(comm, x, method="tensor:y=2", nparts=8, options={"x": 1, "z": 4})
    check((grid == options).all() and len(x) in (0, len(grid)), "options in words")


def items_travel():
    rows = items()
    total = comm.allreduce(len(rows))
    arrived = equipoise.send_records(comm, rows, rows["id"] % comm.size)
    check((arrived["id"] % comm.size == comm.rank).all() and comm.allreduce(len(arrived)) == total, "items arrive once")
    arrived["weight"] += 1  # the caller owns it
    pairs = np.stack([rows["id"], -rows["id"]], axis=1)
    check(sorted(equipoise.gather_records(comm, pairs[:, :])[:, 1]) == sorted(-i for i in range(900) if i // 300 != 1 and
          i < 300 * comm.size), "rows of two numbers")
    part = equipoise.balance_points(comm, rows["x"], nparts=4)
    cells_part, cells = equipoise.balance_points(comm, rows["x"], method="voronoi", nparts=4, regions=True)
    check((cells.find(rows["x"]) == cells_part).all() and len(cells.touch([0] * 3, [1] * 3)) == 4, "regions come with parts")
    regions = equipoise.Regions(comm, rows["x"], part, 4)
    check((regions.find(rows["x"]) == part).all(), "places of items are in the regions of their parts")
    low, high = regions.box(2)
    check((low < high).all() and regions.find([[np.nan, 0, 0]])[0] == -1, "regions have boxes")


def items_follow_their_parts():
    rows = items()
    x, ids = rows["x"], rows["id"]
    part = equipoise.balance_points(comm, x, rows["weight"], method="sfc")
    expected = equipoise.send_records(comm, rows, part)
    sum = equipoise.verify_records(comm, ids, rows)
    mine, same = equipoise.balance_send(comm, x, (rows, ids), rows["weight"], method="sfc")
    check((mine == expected).all() and (same == mine["id"]).all(), "balanced and sent in one call")
    check((equipoise.balance_send(comm, x, ids, rows["weight"], method="sfc") == mine["id"]).all(), "one array alone")
    check((equipoise.verify_records(comm, mine["id"], mine, sum) == sum).all(), "nothing is lost")
    e = raised(equipoise.verify_records, comm, same[comm.rank == 0:], mine[comm.rank == 0:], sum)
    check(isinstance(e, equipoise.Error) and e.code == equipoise.ERR_DATA and "1 fewer" in str(e), repr(e))
    with equipoise.Plan(comm, part) as plan:
        weight, place = plan.send(rows["weight"]), plan.send(x)
        check(len(plan) == len(mine) and (weight == mine["weight"]).all() and (place == mine["x"]).all(), "a plan, twice")
        check((plan.give_back(2 * weight) == 2 * rows["weight"]).all(), "and back")
    keys = equipoise.hilbert_keys(x.astype(float), [0, 0, 0], 1)
    ranks = equipoise.cut_keys(comm, keys, rows["weight"])
    ends = comm.allgather([(keys[ranks == r].min(), keys[ranks == r].max()) if (ranks == r).any() else None
                           for r in range(comm.size)])
    for r in range(1, comm.size):
        below = max(end[r - 1][1] for end in ends if end[r - 1])
        check(below < min(end[r][0] for end in ends if end[r]), "keys of a rank are behind those of the rank before")


def parts_have_walls_and_neighbours():
    rows = items()
    walls = equipoise.Walls(comm, rows["x"], rows["weight"], nparts=6, low=[0, 0, 0], high=[1, 1, 1], least=0.2)
    corners = [walls.walls(p) for p in range(6)]
    check(sorted(walls.grid)[2] <= 6 and np.prod(walls.grid) == 6, f"a grid: {walls.grid}")
    check(abs(sum(np.prod(high - low) for low, high in corners) - 1) < 1e-12, "boxes fill the domain")
    check(all((high - low > 0.2 - 1e-12).all() for low, high in corners), "boxes are as wide as is wanted")
    for p, (low, high) in enumerate(corners):
        near = [q for q, (l, h) in enumerate(corners) if (np.maximum(np.maximum(l - high, low - h), 0) ** 2).sum() <= 0.01]
        check(walls.touch(low, high, 0.1).tolist() == near, "those that are near")
    check(walls.touch([0.01, 0.5, 0.5], reach=0.05, domain=[[0] * 3, [1] * 3]).size >= 1 + (walls.grid[0] > 1), "and around")
    e = raised(equipoise.Regions, comm, rows["x"], rows["id"] % 3, 3)
    check(isinstance(e, equipoise.Error) and "walls" in str(e), repr(e))
    e = raised(equipoise.Walls, comm, rows["x"], method="sfc", nparts=24)
    check(isinstance(e, equipoise.Error) and "sfc" in str(e) and "walls" in str(e), repr(e))


def errors_are_exceptions_on_all_ranks():
    rows = items()
    x = rows["x"].copy()
    e = raised(equipoise.balance_points, comm, x, method="no such")
    check(isinstance(e, equipoise.Error) and e.code == equipoise.ERR_ARGUMENT and "'no such'" in str(e) and " sfc" in str(e),
          repr(e))
    e = raised(equipoise.balance_points, comm, x, method="no such" if comm.rank == 0 else "sfc")
    check(isinstance(e, equipoise.Error) and "'no such'" in str(e), repr(e))
    if comm.rank == 0:
        x[7, 1] = np.inf
    e = raised(equipoise.balance_points, comm, x)
    check(isinstance(e, equipoise.Error) and e.code == equipoise.ERR_DATA, repr(e))
    e = raised(equipoise.balance_points, comm, x, method="tensor", options={"nonsense": 3})
    check(isinstance(e, equipoise.Error) and e.code == equipoise.ERR_UNKNOWN and "nonsense" in str(e), repr(e))
    check(isinstance(raised(equipoise.balance_points, 3, x), TypeError), "no communicator")
    check(isinstance(raised(equipoise.send_records, comm, np.array([object()]), [0]), TypeError), "no objects")


class Code:
    """One owner on each rank."""

    nominal = [1.0, 2.0]
    back, ghosts = [0], [1]

    def __init__(self):
        self.fails, self.kept, self.traced = None, None, 0

    def survey(self, kind, survey):
        if self.fails == "survey" and comm.rank == comm.size - 1:
            raise KeyError("mine")
        survey.add_pin(comm.rank)
        survey.add_owner(id=comm.rank, pin=comm.rank, key=comm.rank, particles=1, count=[1, 2], interactions=3)
        self.kept = survey

    def trace(self, nparts, map, placement, loads_only, evaluation):
        if self.fails == "trace":
            raise equipoise.Error(equipoise.ERR_STATE, "not now")
        self.traced += 1
        check(len(placement) == 1 and map.own_rank(placement["tag"][0]) == placement["home"][0], "a traced placement")
        check(map.tag_in(placement["tag"][0], 3) == placement["tag"][0], "the same in any phase")
        evaluation.load(int(placement["home"][0]), 1e-6)
        if not loads_only:
            evaluation.block(0, comm.rank, 80, 1, int(placement["home"][0]))
            evaluation.need(0, comm.rank, 0)

    def base(self, nparts):
        return np.full(nparts, 1e-6)


def what_a_callback_raises_comes_back():
    code, last = Code(), comm.size - 1
    balancer = equipoise.Balancer(comm, code, "sfc", share=[1.0], plan="log")
    sums, lows = np.array([1.0, comm.rank]), np.array([float(-comm.rank)])
    step = balancer.record([1, 2], 1.0, busy_seconds=1.5, sum=sums, low=lows)
    check(step.row.busy_seconds == 1.5 and step.load_max == 1.0 and step.why == "", "a step")
    check(sums[0] == comm.size and lows[0] == -last, "sums and minima of all ranks")
    code.fails = "survey"
    e = raised(balancer.renew, 5)
    check(isinstance(e, KeyError) if comm.rank == last else
          isinstance(e, equipoise.Error) and e.code == equipoise.ERR_INTERNAL, repr(e))
    code.fails = None
    advice = balancer.renew(5)
    check(advice.action == equipoise.RENEW and len(advice.placement) == advice.changed, "the next call is as good as any")
    e = raised(code.kept.add_pin, 3)
    check(isinstance(e, equipoise.Error) and e.code == equipoise.ERR_STATE, "a survey is over with its callback")
    rows = balancer.compare("sfc,count", [1, 2, 3])
    check([(r.method, r.parts) for r in rows] == [(m, p) for p in (1, 2, 3) for m in ("sfc", "count")], "rows in order")
    check(code.traced > 0 and rows[0].evaluated.load_max > 0, "traces say what maps come to")
    code.fails = "trace"
    e = raised(balancer.compare, "sfc", [2])
    check(isinstance(e, equipoise.Error) and e.code == equipoise.ERR_STATE and str(e) == "not now", repr(e))
    data = balancer.pack()
    with equipoise.Balancer(comm, code, "sfc") as other:
        other.unpack(data)
        check(abs(other.predict([1, 0]) - balancer.predict([1, 0])) == 0, "what was packed is known")
        e = raised(other.unpack, data[:5])
        check(isinstance(e, equipoise.Error) and e.code == equipoise.ERR_FORMAT, repr(e))
    balancer.free()
    check(isinstance(raised(equipoise.Balancer, comm, code, "sfc", nonsense=1), TypeError), "no such option")
    check(isinstance(raised(equipoise.Balancer, comm, object(), "sfc"), equipoise.Error), "a survey is needed")


if __name__ == "__main__" and sys.argv[1:] == ["parts"]:
    print_parts()
elif __name__ == "__main__":
    parts_do_not_depend_on_how_arrays_lie()
    items_travel()
    items_follow_their_parts()
    parts_have_walls_and_neighbours()
    errors_are_exceptions_on_all_ranks()
    what_a_callback_raises_comes_back()
    check("rcb" in equipoise.methods() and equipoise.__version__, "methods and a version")
if __name__ == "__main__":
    sys.exit(1 if failures else 0)
