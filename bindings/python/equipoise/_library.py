# SPDX-License-Identifier: BSD-3-Clause
"""Finds and loads the C library, converts arguments, and turns error codes into exceptions."""
import ctypes
import os
import pathlib
import weakref
from ctypes import byref, c_bool, c_char_p, c_int, c_void_p
from types import SimpleNamespace

import numpy

from . import _structs as s

NAME = "libequipoise.so"


class Error(Exception):
    """A failed call: `code` is one of equipoise.ERR_..., the text is the message of the library."""

    __module__ = "equipoise"

    def __init__(self, code, text=""):
        super().__init__(text or error_text(code))
        self.code = code


def candidates():
    """Paths to try for the library, in this order."""
    here = pathlib.Path(__file__).resolve().parent
    said = os.environ.get("EQUIPOISE_LIBRARY")
    if said:
        return [said]  # a path in the environment is the only candidate
    soname = f"{NAME}.{s.VERSION[0]}" if s.VERSION[0] else f"{NAME}.0.{s.VERSION[1]}"
    found = [here / NAME]  # a wheel
    try:
        from . import _where  # an installed package has the relative path of the library folder
        found += [here / _where.LIBDIR / soname]
    except ImportError:
        found += [here.parents[2] / "lib" / soname]  # a build directory
    return [str(path) for path in found if path.exists()] + [soname]


def load():
    tried = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as e:
            tried.append(str(e))
    else:
        raise ImportError("equipoise: the C library cannot be loaded; EQUIPOISE_LIBRARY can name it: " + "; ".join(tried))
    library.eqp_version.restype = c_char_p
    version = library.eqp_version().decode()
    # Before 1.0 a minor version may change structs.
    if [int(part) for part in version.split(".")[:2]] != list(s.VERSION[:2]):
        raise ImportError(f"equipoise: the package is of version {'.'.join(map(str, s.VERSION))}, the library of {version}")
    return library, version


_library, __version__ = load()
free = ctypes.CDLL(None).free
free.argtypes, free.restype = [c_void_p], None

_WANTED = {"i": "integers", "u": "integers", "f": "numbers", "b": "truth values"}
_TAKEN = {"i": "iu", "u": "iu", "f": "iuf", "b": "b"}


def tested(name, values, kind, shape=None, least=None, most=None):
    """Values as an array of the given type. A value that does not fit raises an error with the name of the argument,
    where numpy and ctypes would truncate it. An empty array may have any type."""
    kind = numpy.dtype(kind)
    try:
        found = numpy.asarray(values)
    except ValueError as e:  # rows of different lengths
        raise ValueError(f"{name}: {e}") from None
    if shape is not None and found.shape != shape:
        raise ValueError(f"{name}: an array of shape {shape} is wanted, not {found.shape}" if shape else
                         f"{name}: one value is wanted, not an array")
    if found.size == 0:
        return numpy.empty(found.shape, kind)
    if found.dtype == object and all(type(value) is int for value in found.flat):
        raise ValueError(f"{name}: {max(found.flat, key=abs)} does not fit into {kind}")
    if found.dtype.kind not in _TAKEN[kind.kind]:
        raise TypeError(f"{name}: {_WANTED[kind.kind]} are wanted, not {found.dtype if found.shape else repr(values)}")
    if kind.kind in "iu" and (least is not None or most is not None or not numpy.can_cast(found.dtype, kind)):
        low = numpy.iinfo(kind).min if least is None else least
        high = numpy.iinfo(kind).max if most is None else most
        for value in (int(found.min()), int(found.max())):
            if not low <= value <= high:
                raise ValueError(f"{name}: {value} is not within {low} and {high}")
    return numpy.asarray(found, dtype=kind)


def numbers(name, values, kind, shape=None, **limits):
    """Like tested(), but contiguous."""
    return numpy.ascontiguousarray(tested(name, values, kind, shape, **limits))


def number(name, value, kind, **limits):
    """Like tested(), for one number, as a Python number."""
    if type(value) is int and 0 <= value < 2**31 and kind is not c_bool and not limits:  # the common case
        return value
    return tested(name, value, kind, (), **limits).item()


def text(name, value):
    """A text as bytes for C."""
    if not isinstance(value, str) or "\0" in value:
        raise TypeError(f"{name}: a text is wanted, not {value!r}")
    return value.encode()


def fill(struct, what, members):
    """Sets members of a struct by name."""
    kinds = dict(struct._fields_)
    for name, value in members.items():
        kind = kinds.get(name)
        if kind is None or issubclass(kind, (ctypes.Structure, c_void_p)) or name == "size":  # not for callers
            raise TypeError(f"{what} has no '{name}'")
        if issubclass(kind, ctypes.Array):
            value = tuple(numbers(name, value, kind._type_, (kind._length_,)).tolist())
        else:
            value = number(name, value, kind)
        setattr(struct, name, value)
    return struct


class _Function:
    """A library function with checked arguments; structs and arrays are passed by address."""

    def __init__(self, name):
        result, self.arguments = s.FUNCTIONS[name]
        self.raw = getattr(_library, name)
        self.raw.argtypes, self.raw.restype = [kind for _, kind in self.arguments], result

    def convert(self, given):
        if len(given) != len(self.arguments):
            raise TypeError(f"{self.raw.__name__}: {len(self.arguments)} arguments are wanted, not {len(given)}")
        return [self._converted(name, value, kind) for (name, kind), value in zip(self.arguments, given)]

    @staticmethod
    def _converted(name, value, kind):
        if kind is c_char_p:
            return value if value is None or isinstance(value, bytes) else text(name, value)
        if kind is not c_void_p:
            return number(name, value, kind)
        if isinstance(value, (ctypes.Structure, ctypes._SimpleCData)):
            return byref(value)
        return address(value) if isinstance(value, numpy.ndarray) else value

    def __call__(self, *given):
        return self.raw(*self.convert(given))


lib = SimpleNamespace(**{name: _Function(name) for name in s.FUNCTIONS})


def error_text(code):
    return lib.eqp_error_text(code).decode()


def check(code, message=None):
    """Raises an Error unless the code is 0."""
    if code != s.EQP_OK:
        raise Error(code, message.text.decode(errors="replace") if message is not None else "")


_same_mpi = False


def communicator(comm):
    """The C handle of an mpi4py communicator."""
    global _same_mpi
    from mpi4py import MPI

    if not isinstance(comm, MPI.Comm):
        raise TypeError("comm: a communicator of mpi4py is wanted")
    if MPI.Is_finalized():
        raise Error(s.EQP_ERR_STATE, "MPI is finalized")
    if not _same_mpi:
        # Two MPI libraries in one process crash: mpi4py and the library must be linked with the same one.
        said, length = ctypes.create_string_buffer(8192), c_int()
        _library.MPI_Get_library_version(said, byref(length))
        if said.value.decode().rstrip("\0 \n") != MPI.Get_library_version().rstrip("\0 \n"):
            raise ImportError("equipoise: mpi4py is linked with another MPI library")
        _same_mpi = True
    kind = c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(c_int) else c_void_p
    return c_void_p(kind.from_address(MPI._addressof(comm)).value).value


def address(array):
    """Address of the first element; None if array is None."""
    return None if array is None else array.ctypes.data


def owned_array(pointer, n, dtype, shape=()):
    """Wraps [n] elements that the library allocated, without a copy, in an array that owns and frees them."""
    nbytes = n * numpy.dtype(dtype).itemsize * int(numpy.prod(shape, dtype=numpy.int64))
    if nbytes == 0:
        free(pointer)
        return numpy.empty((n, *shape), dtype)
    buffer = (ctypes.c_char * nbytes).from_address(pointer.value)
    weakref.finalize(buffer, free, c_void_p(pointer.value)).atexit = False  # at exit the array may still be in use
    return numpy.frombuffer(buffer, dtype=dtype).reshape((n, *shape))
