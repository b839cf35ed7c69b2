# SPDX-License-Identifier: BSD-3-Clause
"""The C library: where it is, what its functions take, and how its codes become exceptions."""
import ctypes
import os
import pathlib
import weakref
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p

import numpy

from . import _structs as s

NAME = "libequipoise.so"
SAMPLING = f"libequipoise-sampling.so.{s.VERSION[0]}"


class Error(Exception):
    """A call that failed: `code` is one of equipoise.ERR_..., the text what the library says of it."""

    def __init__(self, code, text=""):
        super().__init__(text or error_text(code))
        self.code = code


def candidates():
    """Where the library may be: the first place that has it counts."""
    here = pathlib.Path(__file__).resolve().parent
    said = os.environ.get("EQUIPOISE_LIBRARY")
    if said:
        return [said]  # nothing else is tried: whoever says where it is wants that one
    soname = f"{NAME}.{s.VERSION[0]}"
    found = [here / NAME]  # a wheel
    try:
        from . import _where  # an installed package knows the folder of libraries, as seen from here
        found += [here / _where.LIBDIR / soname]
    except ImportError:
        found += [here.parents[2] / "build" / "lib" / soname]  # a source tree
    return [str(path) for path in found if path.exists()] + [soname]


def load():
    tried = []
    for path in candidates():
        try:
            # The sampler is found where it stands beside it, be it known to the loader or not.
            folder = os.path.dirname(path)
            for beside in (os.path.join(folder, SAMPLING), os.path.join(folder, "..", "sampling", SAMPLING)):
                if folder and os.path.exists(beside):
                    ctypes.CDLL(beside)
                    break
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


lib, __version__ = load()
free = ctypes.CDLL(None).free
free.argtypes, free.restype = [c_void_p], None

_P = c_void_p
# Results are codes unless said otherwise. A communicator is an int or a pointer: see communicator().
_FUNCTIONS = {
    "eqp_error_text": ([c_int], c_char_p),
    "eqp_cpu_seconds": ([], c_double),
    "eqp_busy_seconds": ([], c_double),
    "eqp_wait_begin": ([], None),
    "eqp_wait_end": ([], None),
    "eqp_random_uniform": ([c_uint64, c_uint64, c_uint64], c_double),
    "eqp_hilbert_keys": ([c_int64, _P, _P, _P, _P, c_double, _P], c_int),
    "eqp_method_count": ([], c_int),
    "eqp_method_at": ([c_int], POINTER(s.eqp_method)),
    "eqp_method_find": ([c_char_p], POINTER(s.eqp_method)),
    "eqp_method_set": ([POINTER(s.eqp_method), c_char_p, c_char_p, _P, _P], c_int),
    "eqp_choice_parse": ([_P, _P, c_char_p, _P, _P], c_int),
    "eqp_choices_parse": ([_P, _P, c_char_p, _P, _P, _P], c_int),
    "eqp_policy_options_parse": ([c_char_p, _P], c_int),
    "eqp_exchange_plan_parse": ([c_char_p, _P], c_int),
    "eqp_balance_points": ([_P, _P, _P, _P, _P, _P], c_int),
    "eqp_send_records": ([_P, c_size_t, c_int64, _P, _P, _P, _P], c_int),
    "eqp_gather_records": ([_P, c_size_t, c_int64, _P, _P, _P], c_int),
    "eqp_point_order_create": ([_P, _P, _P], c_int),
    "eqp_point_order_free": ([_P], None),
    "eqp_point_order_count": ([_P], c_int64),
    "eqp_point_order_bring": ([_P, c_size_t, _P, _P], c_int),
    "eqp_point_order_return": ([_P, c_size_t, _P, _P], c_int),
    "eqp_regions_create": ([_P, _P, _P, c_int, _P], c_int),
    "eqp_regions_free": ([_P], None),
    "eqp_regions_find": ([_P, _P], c_int),
    "eqp_regions_box": ([_P, c_int, _P, _P], c_int),
    "eqp_balancer_options_init": ([_P, c_size_t], c_int),
    "eqp_balancer_create": ([_P, _P, _P, _P, _P], c_int),
    "eqp_balancer_free": ([_P], None),
    "eqp_balancer_due": ([_P], c_bool),
    "eqp_balancer_advise": ([_P, c_int64, _P, _P], c_int),
    "eqp_balancer_renew": ([_P, c_int64, _P, _P], c_int),
    "eqp_balancer_begin": ([_P, _P, _P], c_int),
    "eqp_balancer_record": ([_P, _P, _P], c_int),
    "eqp_balancer_compare": ([_P, _P, _P, _P], c_int),
    "eqp_balancer_pack": ([_P, _P, _P], c_int),
    "eqp_balancer_unpack": ([_P, c_size_t, _P], c_int),
    "eqp_balancer_map": ([_P], _P),
    "eqp_balancer_costs": ([_P], _P),
    "eqp_cost_fit_predict": ([_P, _P], c_double),
    "eqp_map_shared": ([_P], c_int64),
    "eqp_map_rank": ([_P, c_int64, _P], c_int),
    "eqp_map_own_rank": ([_P, c_int64], c_int),
    "eqp_map_tag_in": ([_P, c_int64, c_int], c_int64),
    "eqp_survey_heavy": ([_P], c_double),
    "eqp_survey_pin_below": ([_P], c_uint64),
    "eqp_survey_weigh": ([_P, _P], c_double),
    "eqp_survey_reserve": ([_P, c_int64], c_int),
    "eqp_survey_add_pin": ([_P, c_int64], c_int),
    "eqp_survey_add_tile": ([_P, _P], c_int),
    "eqp_survey_add_owner": ([_P, _P], c_int),
    "eqp_survey_room_for_pins": ([_P, c_int64, _P], c_int),
    "eqp_survey_took_pins": ([_P, c_int64], c_int),
    "eqp_evaluation_load": ([_P, c_int, c_double], c_int),
    "eqp_evaluation_block": ([_P, c_int, c_int64, c_int64, c_int64, c_int], c_int),
    "eqp_evaluation_need": ([_P, c_int, c_int64, c_int], c_int),
    "eqp_evaluation_held": ([_P, c_int, c_int64], c_int),
    "eqp_evaluation_common": ([_P, c_int, c_int64], c_int),
    "eqp_evaluation_meanwhile": ([_P, c_int, c_int, c_double], c_int),
}
for _name, (_arguments, _result) in _FUNCTIONS.items():
    _function = getattr(lib, _name)
    _function.argtypes, _function.restype = _arguments, _result


def error_text(code):
    return lib.eqp_error_text(code).decode()


def check(code, message=None):
    """Raises an Error unless the code is 0."""
    if code != s.EQP_OK:
        raise Error(code, message.text.decode(errors="replace") if message is not None else "")


_same_mpi = False


def communicator(comm):
    """An mpi4py communicator as the C functions take it."""
    global _same_mpi
    from mpi4py import MPI

    if not isinstance(comm, MPI.Comm):
        raise TypeError("a communicator of mpi4py is wanted")
    if not _same_mpi:
        # Two MPI libraries in one process end in crashes: the one below mpi4py must be the one below us.
        text, length = ctypes.create_string_buffer(8192), c_int()
        lib.MPI_Get_library_version(text, byref(length))
        if text.value.decode().rstrip("\0 \n") != MPI.Get_library_version().rstrip("\0 \n"):
            raise ImportError("equipoise: mpi4py is linked with another MPI library")
        _same_mpi = True
    kind = c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(c_int) else c_void_p
    return c_void_p(kind.from_address(MPI._addressof(comm)).value)


def address(array):
    """Of the first element; None of no array."""
    return None if array is None else c_void_p(array.ctypes.data)


def owned_array(pointer, n, dtype, shape=()):
    """The [n] elements that the library has allocated, as an array that frees them; nothing is copied."""
    nbytes = n * numpy.dtype(dtype).itemsize * int(numpy.prod(shape, dtype=numpy.int64))
    if nbytes == 0:
        free(pointer)
        return numpy.empty((n, *shape), dtype)
    buffer = (ctypes.c_char * nbytes).from_address(pointer.value)
    weakref.finalize(buffer, free, c_void_p(pointer.value))
    return numpy.frombuffer(buffer, dtype=dtype).reshape((n, *shape))
