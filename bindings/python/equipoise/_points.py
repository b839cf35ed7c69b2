# SPDX-License-Identifier: BSD-3-Clause
"""Items with a place and work: parts for them, ways to where they belong, regions. See <equipoise/points.h>."""
from ctypes import addressof, c_int, c_int64, c_void_p, sizeof

import numpy

from . import _structs as s
from ._collective import Handle, Shared, collective
from ._library import address, check, fill, lib, number, numbers, owned_array, tested, text


SAME = "the ranks differ in the type of items"


class _Points:
    """An eqp_points with the arrays that it borrows. Without a number of them arrays are as C wants them, or copied."""

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

    def finite(self):
        """Itself; for functions of C that do not say what is not finite."""
        if not numpy.isfinite(self.kept[0]).all():
            raise ValueError("x: a position that is not finite")
        return self

    def column(self, name, values, kind):
        if values is None:
            return None
        self.kept.append(numbers(name, values, kind, (self.n,)))
        return address(self.kept[-1])


def _places(name, x):
    """[n][3] places, of one or of many."""
    x = numbers(name, x, numpy.float64)
    if x.shape[-1:] != (3,) and x.size > 0 or x.ndim > 2:
        raise ValueError(f"{name}: an array [n][3] is wanted, not one of shape {x.shape}")
    return x.reshape(-1, 3)


@collective("eqp_balance_points")
def balance_points(comm, x, weight=None, *, method="rcb", nparts=None, size=None, part_now=None, share=None,
                   imbalance_tol=0.02, seed=1, options=None, result=None):
    """A part for each item: eqp_balance_points(). Collective.

    x: [n][3] of float32 or float64, read where it lies if the three numbers of an item do; weight: [n] work, None: all
    alike. nparts: None: as many as ranks. options: of the method's own, {"name": value}. result: a dict that gets what
    eqp_balance_result says. Returns [n] parts."""
    points = _Points(x, weight, size, part_now)
    message, said = s.eqp_message(), s.eqp_balance_result()
    wanted = fill(s.eqp_balance_options(size=sizeof(s.eqp_balance_options), message=addressof(message)), "balance", {
        "nparts": comm.Get_size() if nparts is None else nparts, "imbalance_tol": imbalance_tol, "seed": seed})
    row = lib.eqp_method_find(text("method", method))
    for what, named in (("options", options), ("result", result)):
        if named is not None and not isinstance(named, dict):
            raise TypeError(f"{what}: a dict is wanted, not {named!r}")
    for name, value in (options or {}).items():
        check(lib.eqp_method_set(row, text("options", name), None if value is True else text(name, str(value)),
                                 wanted.settings, message), message)
    if share is not None:
        share = numbers("share", share, numpy.float64, (wanted.nparts,))
        wanted.share = address(share)
    part = numpy.empty(points.n, dtype=numpy.intc)
    yield row, points.c, wanted, part, said
    if result is not None:
        result.update((name, getattr(said, name)) for name, _ in said._fields_)
    return part


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
    """Each item, a row of an array of any type, to the rank that dest names; returns the array of those that arrived:
    eqp_send_records(). Collective."""
    items, element = _records(items)
    dest = numbers("dest", dest, numpy.intc, items.shape[:1], least=0, most=comm.Get_size() - 1)
    n, arrived = c_int64(), c_void_p()
    yield element, len(items), dest, items, n, arrived
    return owned_array(arrived, n.value, items.dtype, items.shape[1:])


@collective("eqp_gather_records", SAME)
def gather_records(comm, items):
    """The items of all ranks, on every rank: eqp_gather_records(). Collective."""
    items, element = _records(items)
    n, gathered = c_int64(), c_void_p()
    yield element, len(items), items, n, gathered
    return owned_array(gathered, n.value, items.dtype, items.shape[1:])


class PointOrder(Shared):
    """Items along a Hilbert curve, equally many on each rank: eqp_point_order. Making and freeing it is collective."""

    _free = lib.eqp_point_order_free

    @collective("eqp_point_order_create", "the ranks differ in the type of x, or in whether weight or size is given")
    def __init__(self, comm, x, weight=None, *, size=None, part_now=None):
        points, handle = _Points(x, weight, size, part_now).finite(), c_void_p()
        yield points.c, handle
        self._made(handle.value, comm)
        self._n = points.n

    def __len__(self):
        return lib.eqp_point_order_count(self._open())

    def _along(self, items, ngiven, ntaken):
        items, element = _records(items)
        if len(items) != ngiven:
            raise ValueError(f"items: {ngiven} are wanted, not {len(items)}")
        to = numpy.empty((ntaken, *items.shape[1:]), dtype=items.dtype)
        yield element, items, to
        return to

    @collective("eqp_point_order_bring", SAME)
    def bring(self, items):
        """A column into the order. Collective."""
        return self._along(items, self._n, len(self))

    @collective("eqp_point_order_return", SAME)
    def give_back(self, items):
        """A column to where the items are: eqp_point_order_return(). Collective."""
        return self._along(items, len(self), self._n)


class Regions(Handle):
    """Which part each place belongs to: eqp_regions. Collective to make, else local."""

    @collective("eqp_regions_create", "the ranks differ in the type of x or in nparts")
    def __init__(self, comm, x, part, nparts):
        nparts, handle = number("nparts", nparts, c_int, least=1, most=s.EQP_REGIONS_PARTS), c_void_p()
        points = _Points(x).finite()
        part = numbers("part", part, numpy.intc, (points.n,), least=0, most=nparts - 1)
        yield points.c, part, nparts, handle
        self._handle = handle.value

    def __del__(self):
        if self._handle is not None:
            lib.eqp_regions_free(self._handle)

    def find(self, places):
        """The part of each of [n][3] places; -1 where there is none."""
        handle, places = self._open(), _places("places", places)
        return numpy.array([lib.eqp_regions_find.raw(handle, address(places) + i * places.strides[0])
                            for i in range(len(places))], dtype=numpy.intc)

    def box(self, part):
        """The lowest and the highest corner around the items of a part."""
        low, high = numpy.empty(3), numpy.empty(3)
        check(lib.eqp_regions_box(self._open(), part, low, high))
        return low, high


def hilbert_keys(x, corner, side):
    """Keys along the curve through a cube for [n][3] places: eqp_hilbert_keys(). Local."""
    x = _places("x", x)
    key = numpy.empty(len(x), dtype=numpy.uint64)
    check(lib.eqp_hilbert_keys(len(x), *(numpy.ascontiguousarray(x[:, a]) for a in range(3)),
                               numbers("corner", corner, numpy.float64, (3,)), side, key))
    return key


def methods():
    """Names and summaries of the methods of this build."""
    rows = [s.eqp_method.from_address(lib.eqp_method_at(i)) for i in range(lib.eqp_method_count())]
    return {row.name.decode(): row.summary.decode() for row in rows}
