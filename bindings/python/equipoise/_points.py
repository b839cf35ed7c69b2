# SPDX-License-Identifier: BSD-3-Clause
"""Items with a place and work: parts for them, ways to where they belong, regions. See <equipoise/points.h>."""
import ctypes
from ctypes import byref, c_int64, c_void_p

import numpy

from . import _structs as s
from ._library import address, check, communicator, lib, owned_array


class _Points:
    """An eqp_points with the arrays that it borrows. Without a number of them arrays are as C wants them, or copied."""

    def __init__(self, x, weight=None, size=None, part_now=None):
        self.c = s.eqp_points()
        x = numpy.asarray(x)
        if x.dtype != numpy.float32:
            x = numpy.asarray(x, dtype=numpy.float64)
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

    def column(self, name, values, dtype):
        if values is None:
            return None
        array = numpy.ascontiguousarray(values, dtype=dtype)
        if array.shape != (self.n,):
            raise ValueError(f"{name}: {self.n} values are wanted, not an array of shape {array.shape}")
        self.kept.append(array)
        return address(array)


class _Nothing:
    """Instead of points that cannot be: the other ranks make the call, so this one does, and all of them fail."""

    def __init__(self):
        self.c = s.eqp_points(n=-1)
        self.n = 0


def _made(make, *arguments):
    """Points, or nothing and the exception that is to be raised after the collective call."""
    try:
        return make(*arguments), None
    except (TypeError, ValueError) as e:
        return _Nothing(), e


def _finish(code, wrong, message=None):
    if wrong is not None:
        raise wrong
    check(code, message)


def balance_points(comm, x, weight=None, *, method="rcb", nparts=None, size=None, part_now=None, share=None,
                   imbalance_tol=0.02, seed=1, options=None, result=None):
    """A part for each item: eqp_balance_points(). Collective.

    x: [n][3] of float32 or float64, read where it lies if the three numbers of an item do; weight: [n] work, None: all
    alike. nparts: None: as many as ranks. options: of the method's own, {"name": value}. result: a dict that gets what
    eqp_balance_result says. Returns [n] parts."""
    own = communicator(comm)
    points, wrong = _made(_Points, x, weight, size, part_now)
    message = s.eqp_message()
    wanted = s.eqp_balance_options(size=ctypes.sizeof(s.eqp_balance_options),
                                   nparts=comm.Get_size() if nparts is None else nparts,
                                   imbalance_tol=imbalance_tol, seed=seed, message=ctypes.addressof(message))
    row = lib.eqp_method_find(method.encode())
    for name, value in (options or {}).items():
        check(lib.eqp_method_set(row, name.encode(), None if value is True else str(value).encode(),
                                 byref(wanted.settings), byref(message)), message)
    if share is not None:
        share = numpy.ascontiguousarray(share, dtype=numpy.float64)
        wanted.nparts = wanted.nparts if share.shape == (wanted.nparts,) else 0
        wanted.share = address(share)
    part = numpy.empty(points.n, dtype=numpy.intc)
    said = s.eqp_balance_result()
    code = lib.eqp_balance_points(own, row, byref(points.c), byref(wanted), address(part), byref(said))
    _finish(code, wrong, message)
    if result is not None:
        result.update((name, getattr(said, name)) for name, _ in said._fields_)
    return part


def _records(items):
    items = numpy.ascontiguousarray(items)
    if items.ndim < 1 or items.dtype.hasobject:
        raise TypeError("an array of numbers or of structs of numbers is wanted")
    return items, items.dtype.itemsize * int(numpy.prod(items.shape[1:], dtype=numpy.int64))


def send_records(comm, items, dest):
    """Each item, a row of an array of any type, to the rank that dest names; returns the array of those that arrived:
    eqp_send_records(). Collective."""
    own = communicator(comm)
    items, element = _records(items)
    dest = numpy.ascontiguousarray(dest, dtype=numpy.intc)
    n, arrived = c_int64(), c_void_p()
    wrong = None if dest.shape == items.shape[:1] else ValueError(f"dest: {len(items)} ranks are wanted")
    code = lib.eqp_send_records(own, element, -1 if wrong else len(items), address(dest), address(items), byref(n),
                                byref(arrived))
    _finish(code, wrong)
    return owned_array(arrived, n.value, items.dtype, items.shape[1:])


def gather_records(comm, items):
    """The items of all ranks, on every rank: eqp_gather_records(). Collective."""
    own = communicator(comm)
    items, element = _records(items)
    n, gathered = c_int64(), c_void_p()
    check(lib.eqp_gather_records(own, element, len(items), address(items), byref(n), byref(gathered)))
    return owned_array(gathered, n.value, items.dtype, items.shape[1:])


class PointOrder:
    """Items along a Hilbert curve, equally many on each rank: eqp_point_order. Making and freeing it is collective."""

    def __init__(self, comm, x, weight=None, *, size=None, part_now=None):
        self._handle = c_void_p()
        own = communicator(comm)
        points, wrong = _made(_Points, x, weight, size, part_now)
        _finish(lib.eqp_point_order_create(own, byref(points.c), byref(self._handle)), wrong)
        self._n = points.n

    def __len__(self):
        return lib.eqp_point_order_count(self._handle)

    def _along(self, function, items, ngiven, ntaken):
        items, element = _records(items)
        wrong = None if len(items) == ngiven else ValueError(f"{ngiven} items are wanted, not {len(items)}")
        to = numpy.empty((ntaken, *items.shape[1:]), dtype=items.dtype)
        # An element of no bytes is refused on all ranks, as a rank's wrong number of them has to be.
        _finish(function(self._handle, 0 if wrong else element, address(items), address(to)), wrong)
        return to

    def bring(self, items):
        """A column into the order. Collective."""
        return self._along(lib.eqp_point_order_bring, items, self._n, len(self))

    def give_back(self, items):
        """A column to where the items are: eqp_point_order_return(). Collective."""
        return self._along(lib.eqp_point_order_return, items, len(self), self._n)

    def free(self):
        lib.eqp_point_order_free(self._handle)
        self._handle = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.free()


class Regions:
    """Which part each place belongs to: eqp_regions. Collective to make, else local."""

    def __init__(self, comm, x, part, nparts):
        self._handle = c_void_p()
        own = communicator(comm)
        points, wrong = _made(_Points, x, None, None, part)
        _finish(lib.eqp_regions_create(own, byref(points.c), points.c.part_now, nparts, byref(self._handle)), wrong)

    def __del__(self):
        lib.eqp_regions_free(self._handle)

    def find(self, places):
        """The part of each of [n][3] places; -1 where there is none."""
        places = numpy.ascontiguousarray(places, dtype=numpy.float64).reshape(-1, 3)
        return numpy.array([lib.eqp_regions_find(self._handle, c_void_p(places[i:].ctypes.data))
                            for i in range(len(places))], dtype=numpy.intc)

    def box(self, part):
        """The lowest and the highest corner around the items of a part."""
        low, high = numpy.empty(3), numpy.empty(3)
        check(lib.eqp_regions_box(self._handle, part, address(low), address(high)))
        return low, high


def hilbert_keys(x, corner, side):
    """Keys along the curve through a cube for [n][3] places: eqp_hilbert_keys(). Local."""
    x = numpy.asarray(x, dtype=numpy.float64).reshape(-1, 3)
    axes = [numpy.ascontiguousarray(x[:, a]) for a in range(3)]
    corner = numpy.ascontiguousarray(corner, dtype=numpy.float64)
    if corner.shape != (3,):
        raise ValueError("corner: three numbers are wanted")
    key = numpy.empty(len(x), dtype=numpy.uint64)
    check(lib.eqp_hilbert_keys(len(x), *map(address, axes), address(corner), side, address(key)))
    return key


def methods():
    """Names and summaries of the methods of this build."""
    rows = [lib.eqp_method_at(i).contents for i in range(lib.eqp_method_count())]
    return {row.name.decode(): row.summary.decode() for row in rows}
