# SPDX-License-Identifier: BSD-3-Clause
"""Items with a position and work: parts, moves between ranks, regions. See <equipoise/points.h>."""
from ctypes import addressof, byref, c_int, c_int64, c_void_p, sizeof

import itertools

import numpy

from . import _structs as s
from ._collective import Handle, Shared, collective
from ._library import address, check, fill, lib, number, numbers, owned_array, tested, text


SAME = "the ranks differ in the type of items"


class _Points:
    """An eqp_points with the arrays that it borrows; arrays that C cannot read in place are copied."""

    def __init__(self, x, weight=None, size=None, part_now=None):
        self.c = s.eqp_points()
        if not isinstance(x, numpy.ndarray) or x.dtype != numpy.float32:
            x = tested("x", x, numpy.float64)
        if x.ndim != 2 or x.shape[1] != 3:
            raise ValueError(f"x: an array [n][3] is wanted, not one of shape {x.shape}")
        if x.strides[1] != x.itemsize or x.strides[0] < 3 * x.itemsize or not x.flags.aligned:
            x = numpy.ascontiguousarray(x)
        self.n = len(x)
        self.kept = [x]
        self.c.n = self.n
        self.c.x = address(x)
        self.c.stride = x.strides[0] if self.n > 1 else 0
        self.c.single = x.dtype == numpy.float32
        self.c.weight = self.column("weight", weight, numpy.float64)
        self.c.size = self.column("size", size, numpy.int64)
        self.c.part_now = self.column("part_now", part_now, numpy.intc)

    def column(self, name, values, kind):
        if values is None:
            return None
        self.kept.append(numbers(name, values, kind, (self.n,)))
        return address(self.kept[-1])


def _row(name, values, kind, **limits):
    """Checked contiguous array [n]."""
    values = tested(name, values, kind, **limits)
    if values.ndim != 1:
        raise ValueError(f"{name}: an array [n] is wanted, not one of shape {values.shape}")
    return numpy.ascontiguousarray(values)


def _places(name, x):
    """One position or many as an array [n][3]."""
    x = numbers(name, x, numpy.float64)
    if x.shape[-1:] != (3,) and x.size > 0 or x.ndim > 2:
        raise ValueError(f"{name}: an array [n][3] is wanted, not one of shape {x.shape}")
    return x.reshape(-1, 3)


class _Choice:
    """A method and its eqp_balance_options, with the arrays that they borrow."""

    def __init__(self, comm, method, nparts, share, imbalance_tol, seed, options):
        self.message = s.eqp_message()
        self.c = fill(s.eqp_balance_options(size=sizeof(s.eqp_balance_options), message=addressof(self.message)), "balance", {
            "nparts": comm.Get_size() if nparts is None else nparts, "imbalance_tol": imbalance_tol, "seed": seed})
        row = c_void_p()
        check(lib.eqp_method_read(text("method", method), byref(row), self.c.settings, self.message), self.message)
        self.row = row.value
        if options is not None and not isinstance(options, dict):
            raise TypeError(f"options: a dict is wanted, not {options!r}")
        for name, value in (options or {}).items():
            check(lib.eqp_method_set(self.row, text("options", name), None if value is True else text(name, str(value)),
                                     self.c.settings, self.message), self.message)
        if share is not None:
            self.share = numbers("share", share, numpy.float64, (self.c.nparts,))
            self.c.share = address(self.share)


def _result(result):
    """The dict to update when the call succeeds, and the struct that the call fills."""
    if result is not None and not isinstance(result, dict):
        raise TypeError(f"result: a dict is wanted, not {result!r}")
    return {} if result is None else result, s.eqp_balance_result()


@collective("eqp_balance_points")
def balance_points(comm, x, weight=None, *, method="sfc", nparts=None, size=None, part_now=None, share=None,
                   imbalance_tol=0.02, seed=1, options=None, result=None, regions=False):
    """Assigns a part to each item: eqp_balance_points(). Collective.

    x: [n][3] of float32 or float64, read in place if the three coordinates of an item are contiguous. weight: [n] work;
    None means equal work. method: a word such as "tensor:x=2,y=2,z=2". nparts: None means one part per rank. options:
    {"name": value} of the method, added to those in the word. result: a dict that receives the members of
    eqp_balance_result. Returns [n] parts; with regions=True also their Regions, for "voronoi" its cells."""
    points = _Points(x, weight, size, part_now)
    choice = _Choice(comm, method, nparts, share, imbalance_tol, seed, options)
    if not isinstance(regions, bool):
        raise TypeError(f"regions: True or False is wanted, not {regions!r}")
    handle = c_void_p()
    choice.c.regions = addressof(handle) if regions else None
    result, said = _result(result)
    part = numpy.empty(points.n, dtype=numpy.intc)
    yield choice.row, points.c, choice.c, part, said
    result.update((name, getattr(said, name)) for name, _ in said._fields_)
    return (part, Regions._of(handle.value, choice.c.nparts)) if regions else part


@collective("eqp_balance_send")
def balance_send(comm, x, items, weight=None, *, method="sfc", size=None, part_now=None, share=None, imbalance_tol=0.02,
                 seed=1, options=None, result=None):
    """Balances as balance_points() with one part per rank, and sends the items there: eqp_balance_send(). Collective.

    items: an array whose rows are moved, or a tuple of such arrays. Returns the arrived rows in the same form."""
    points = _Points(x, weight, size, part_now)
    choice = _Choice(comm, method, None, share, imbalance_tol, seed, options)
    result, said = _result(result)
    given = [_records(one) for one in (items if isinstance(items, tuple) else (items,))]
    for one, _ in given:
        if len(one) != points.n:
            raise ValueError(f"items: {points.n} are wanted, as in x, not {len(one)}")
    columns = (s.eqp_point_column * len(given))(*((element, address(one), None) for one, element in given))
    n = c_int64()
    yield choice.row, points.c, choice.c, len(given), columns, n, said
    result.update((name, getattr(said, name)) for name, _ in said._fields_)
    came = tuple(owned_array(c_void_p(column.recv), n.value, one.dtype, one.shape[1:])
                 for column, (one, _) in zip(columns, given))
    return came if isinstance(items, tuple) else came[0]


@collective("eqp_cut_keys", meets=False)  # zero keys are valid
def cut_keys(comm, keys, work=None):
    """Assigns a rank to each item by the caller's keys so that work is even: eqp_cut_keys(). Collective.

    keys: [n] below 2^64 - 1, in any order. work: [n]; None means equal work. Returns [n] ranks, for send_records() or
    Plan."""
    keys = _row("keys", keys, numpy.uint64, most=2**64 - 2)
    work = None if work is None else numbers("work", work, numpy.float64, keys.shape)
    if work is not None and not (numpy.isfinite(work) & (work >= 0)).all():
        raise ValueError("work: finite numbers, not below 0, are wanted")
    part = numpy.empty(len(keys), dtype=numpy.intc)
    yield len(keys), keys, work, part, s.eqp_message()
    return part


@collective("eqp_verify_records")
def verify_records(comm, ids, items=None, sum=None):
    """Detects records that were lost, duplicated or changed while they moved: eqp_verify_records(). Collective.

    ids: [n] ids of this rank's records. items: [n] records to check, None to check the ids alone. sum: the result of
    the call before the move; None makes this that first call. Returns the sum, an array of two numbers."""
    ids = _row("ids", ids, numpy.int64)
    items, element = (None, 0) if items is None else _records(items)
    if items is not None and len(items) != len(ids):
        raise ValueError(f"items: {len(ids)} are wanted, as of ids, not {len(items)}")
    found = numpy.zeros(2, numpy.uint64) if sum is None else numbers("sum", sum, numpy.uint64, (2,)).copy()
    yield len(ids), ids, element, items, found, s.eqp_message()
    return found


def _records(items):
    try:
        items = numpy.asarray(items)
    except ValueError as e:  # rows of different lengths
        raise ValueError(f"items: {e}") from None
    if items.ndim < 1 or items.dtype.hasobject:
        raise TypeError("items: an array of numbers or of structs of numbers is wanted")
    element = items.dtype.itemsize * int(numpy.prod(items.shape[1:], dtype=numpy.int64))
    if element == 0:
        raise ValueError("items: rows of no bytes")
    return numpy.ascontiguousarray(items), element


@collective("eqp_send_records", SAME)
def send_records(comm, items, dest):
    """Sends each item, a row of an array of any type, to its rank in dest; returns the array of items that arrived:
    eqp_send_records(). Collective."""
    items, element = _records(items)
    dest = numbers("dest", dest, numpy.intc, items.shape[:1], least=0, most=comm.Get_size() - 1)
    n, arrived = c_int64(), c_void_p()
    yield element, len(items), dest, items, n, arrived
    return owned_array(arrived, n.value, items.dtype, items.shape[1:])


@collective("eqp_gather_records", SAME)
def gather_records(comm, items):
    """Gathers the items of all ranks on every rank: eqp_gather_records(). Collective."""
    items, element = _records(items)
    n, gathered = c_int64(), c_void_p()
    yield element, len(items), items, n, gathered
    return owned_array(gathered, n.value, items.dtype, items.shape[1:])


def _along(items, ngiven, ntaken, *first):
    """The arguments of a call that moves a column, after `first`; returns the moved column."""
    items, element = _records(items)
    if len(items) != ngiven:
        raise ValueError(f"items: {ngiven} are wanted, not {len(items)}")
    to = numpy.empty((ntaken, *items.shape[1:]), dtype=items.dtype)
    yield *first, element, items, to
    return to


class Plan(Shared):
    """Routes by which several arrays of the same items travel: eqp_move_plan. len() is the number of items that arrive
    on this rank and is local; all other calls are collective."""

    _free = lib.eqp_move_plan_free

    @collective("eqp_move_counts")
    def __init__(self, comm, dest):
        """dest: [n] destination rank of each local item."""
        dest = _row("dest", dest, numpy.intc, least=0, most=comm.Get_size() - 1)
        handle, n = c_void_p(), c_int64()
        check(lib.eqp_move_plan_create(len(dest), dest, comm.Get_size(), handle))
        self._n, self._count = len(dest), numpy.zeros(comm.Get_size(), numpy.int64)
        try:
            yield handle.value, self._count, n
        except GeneratorExit:  # the call has failed
            lib.eqp_move_plan_free(handle.value)
            raise
        self._made(handle.value, comm)
        self._arriving = n.value

    def __len__(self):
        self._open()
        return self._arriving

    @collective("eqp_move_apply", SAME)
    def send(self, items):
        """Sends each item, a row of an array of any type, to its rank; returns the items that arrived, ordered by
sending rank."""
        return _along(items, self._n, len(self), self._handle, self._count)

    @collective("eqp_move_return", SAME)
    def give_back(self, items):
        """Returns the arrived items, or one row for each, to their origin."""
        return _along(items, len(self), self._n, self._handle, self._count)


class Regions(Handle):
    """Maps each point in space to its part: eqp_regions. Making it is collective; all other calls are local."""

    @collective("eqp_regions_create")
    def __init__(self, comm, x, part, nparts):
        nparts, handle = number("nparts", nparts, c_int, least=1, most=s.EQP_REGIONS_PARTS), c_void_p()
        points = _Points(x)
        part = numbers("part", part, numpy.intc, (points.n,), least=0, most=nparts - 1)
        yield points.c, part, nparts, handle, s.eqp_message()
        self._handle, self._nparts = handle.value, nparts

    @classmethod
    def _of(cls, handle, nparts):
        regions = cls.__new__(cls)
        regions._handle, regions._nparts = handle, nparts
        return regions

    def __del__(self):
        if self._handle is not None:
            lib.eqp_regions_free(self._handle)

    def find(self, places):
        """The part of each of [n][3] points, or -1 if a point belongs to no part."""
        handle, places = self._open(), _places("places", places)
        return numpy.array([lib.eqp_regions_find.raw(handle, address(places) + i * places.strides[0])
                            for i in range(len(places))], dtype=numpy.intc)

    def box(self, part):
        """The lower and upper corner of the bounding box of a part's items."""
        return self._corners(lib.eqp_regions_box, part)

    def walls(self, part):
        """The lower and upper corner of a part between walls: eqp_regions_walls()."""
        return self._corners(lib.eqp_regions_walls, part)

    def _corners(self, function, part):
        low, high = numpy.empty(3), numpy.empty(3)
        check(function(self._open(), part, low, high))
        return low, high

    def touch(self, low, high=None, reach=0.0, domain=None):
        """The parts within reach of a box, or of the point low if high is None: eqp_regions_touch(). domain: the two
        corners of a periodic domain."""
        low = numbers("low", low, numpy.float64, (3,))
        high = low if high is None else numbers("high", high, numpy.float64, (3,))
        domain = None if domain is None else numbers("domain", domain, numpy.float64, (2, 3))
        part, n = numpy.empty(self._nparts, numpy.intc), c_int()
        check(lib.eqp_regions_touch(self._open(), low, high, reach, domain, part, n))
        return part[:n.value].copy()


class Walls(Regions):
    """Boxes of parts that meet face to face: eqp_walls(). grid: slabs along x, y, z, for MPI_Cart_create(), whose
    rank order the parts follow; zeros if the walls do not cross the whole domain. Making it is collective; all other
    calls are local."""

    @collective("eqp_walls")
    def __init__(self, comm, x, weight=None, *, low=None, high=None, least=0.0, method="tensor", nparts=None, share=None,
                 imbalance_tol=0.02, seed=1, options=None):
        """low, high: corners of the domain; None means the bounding box of all items. least: smallest width of a part,
one number or three."""
        points, handle = _Points(x, weight), c_void_p()
        choice = _Choice(comm, method, nparts, share, imbalance_tol, seed, options)
        how = s.eqp_walls_options(size=sizeof(s.eqp_walls_options))
        if (low is None) != (high is None):
            raise ValueError("low, high: both or none")
        for name, value in (("low", low), ("high", high), ("least", least)):
            if value is not None:
                value = tested(name, value, numpy.float64)
                setattr(how, name, tuple(numbers(name, numpy.resize(value, 3) if value.size == 1 else value, numpy.float64,
                                                 (3,)).tolist()))
        grid = numpy.zeros(3, numpy.intc)
        yield choice.row, points.c, choice.c, how, grid, handle
        self._handle, self._nparts, self.grid = handle.value, choice.c.nparts, tuple(grid.tolist())




def hilbert_keys(x, corner, side):
    """Hilbert keys of [n][3] points in a cube: eqp_hilbert_keys(). Local."""
    x = _places("x", x)
    key = numpy.empty(len(x), dtype=numpy.uint64)
    check(lib.eqp_hilbert_keys(len(x), *(numpy.ascontiguousarray(x[:, a]) for a in range(3)),
                               numbers("corner", corner, numpy.float64, (3,)), side, key))
    return key


def methods():
    """Names and summaries of the methods in this build."""
    rows = [s.eqp_method.from_address(at) for at in iter(lambda i=itertools.count(): lib.eqp_methods_at(None, next(i)), None)]
    return {row.name.decode(): row.summary.decode() for row in rows}
