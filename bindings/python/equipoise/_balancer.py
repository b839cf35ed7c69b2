# SPDX-License-Identifier: BSD-3-Clause
"""The balancer of an N-body code: <equipoise/balancer.h>, problem.h and survey.h."""
import contextlib
import ctypes
from ctypes import CFUNCTYPE, POINTER, byref, c_bool, c_double, c_int, c_int64, c_size_t, c_void_p
from types import SimpleNamespace

import numpy

from . import _structs as s
from ._collective import Handle, Shared, collective, error_code
from ._library import Error, address, check, fill, free, lib, number, numbers, tested, text

#: Row type of Survey.add_owners(), with the fields of eqp_owner.
owner_dtype = numpy.dtype(s.eqp_owner)
_placement_dtype = numpy.dtype(s.eqp_placement)


def _plain(struct):
    """The members of a struct, nested structs included, as attributes of Python types."""
    found = SimpleNamespace()
    for name, kind in struct._fields_:
        value = getattr(struct, name)
        if isinstance(value, ctypes.Structure):
            value = _plain(value)
        elif isinstance(value, ctypes.Array):
            value = list(value)
        elif isinstance(value, bytes):
            value = value.decode(errors="replace")
        setattr(found, name, value)
    return found


def _rows(pointer, n, dtype):
    """A copy of borrowed rows, as an array."""
    if not pointer or n == 0:
        return numpy.empty(0, dtype)
    return numpy.frombuffer((ctypes.c_char * (n * dtype.itemsize)).from_address(pointer), dtype=dtype).copy()


class Survey(Handle):
    """A survey that a callback fills; valid until the callback returns."""

    def __init__(self, handle, rank, nkinds):
        self._handle, self._rank, self._nkinds = handle, rank, nkinds
        self.at_home = 0  # owners added so far that live on this rank

    @property
    def heavy(self):
        """Work in nanoseconds from which an owner must list its tiles."""
        return lib.eqp_survey_heavy(self._open())

    def weigh(self, count):
        """Predicted nanoseconds of work; count: [kinds]."""
        return lib.eqp_survey_weigh(self._open(), numbers("count", count, numpy.int64, (self._nkinds,)))

    def add_pin(self, pin):
        check(lib.eqp_survey_add_pin(self._open(), pin))

    def add_tile(self, centroid, weight, pins=()):
        pins = numbers("pins", pins, numpy.int64).tolist()
        if len(pins) > s.EQP_TILE_PINS:
            raise ValueError(f"pins: at most {s.EQP_TILE_PINS} are wanted, not {len(pins)}")
        pins += [-1] * (s.EQP_TILE_PINS - len(pins))
        tile = fill(s.eqp_tile(), "a tile", {"centroid": centroid, "weight": weight, "pin": pins})
        check(lib.eqp_survey_add_tile(self._open(), tile))

    def add_owner(self, *, count=(), **members):
        """Adds an owner with the pins and tiles added since the last owner; members are those of eqp_owner, count is
        [kinds]."""
        owner = s.eqp_owner(pin=-1, home=self._rank, tag=self._rank)
        if numpy.size(count) > 0:
            owner.count[:self._nkinds] = numbers("count", count, numpy.int64, (self._nkinds,)).tolist()
        fill(owner, "an owner", members)
        check(lib.eqp_survey_add_owner(self._open(), owner))
        self.at_home += owner.home == self._rank

    def add_owners(self, owners, first=None, pin=None):
        """Adds many owners: rows of owner_dtype; the pins of row i are pin[first[i]:first[i + 1]]."""
        handle = self._open()
        if not isinstance(owners, numpy.ndarray) or owners.dtype != owner_dtype or owners.ndim != 1:
            raise TypeError("owners: an array of owner_dtype is wanted")
        owners = numpy.ascontiguousarray(owners)
        if (first is None) != (pin is None):
            raise TypeError("first and pin go together")
        if first is not None:
            first = numbers("first", first, numpy.int64, (len(owners) + 1,))
            pin = numbers("pin", pin, numpy.int64)
            if len(owners) and (first[0] < 0 or first[-1] > len(pin) or (first[1:] < first[:-1]).any()):
                raise ValueError("first: ascending places in pin are wanted, one more than owners")
            first = first.tolist()
        check(lib.eqp_survey_reserve(handle, len(owners)))
        room, place = c_void_p(), owners.ctypes.data
        room_for, took = lib.eqp_survey_room_for_pins.raw, lib.eqp_survey_took_pins.raw
        add = lib.eqp_survey_add_owner.raw
        for i in range(len(owners)):
            if first is not None:
                n = first[i + 1] - first[i]
                check(room_for(handle, n, byref(room)))
                if n > 0:
                    ctypes.memmove(room, pin.ctypes.data + 8 * first[i], 8 * n)
                check(took(handle, n))
            check(add(handle, place + i * owner_dtype.itemsize))
        self.at_home += int((owners["home"] == self._rank).sum())


class Map(Handle):
    """The rank of each owner: eqp_map. The map of a balancer is always its present one."""

    def __init__(self, handle, balancer=None):
        self._handle, self._balancer = handle, balancer

    def _open(self):
        return super()._open() if self._balancer is None else lib.eqp_balancer_map(self._balancer._open())

    @property
    def shared(self):
        """Entries of the table: owners that several ranks share, and routes through phases."""
        return lib.eqp_map_shared(self._open())

    def rank(self, tag, centroid):
        return lib.eqp_map_rank(self._open(), tag, numbers("centroid", centroid, numpy.float64, (3,)))

    def own_rank(self, tag):
        return lib.eqp_map_own_rank(self._open(), tag)

    def tag_in(self, tag, phase):
        """The tag of an owner in a phase of a cycle whose phases have maps of their own."""
        return lib.eqp_map_tag_in(self._open(), tag, phase)


class Evaluation(Handle):
    """The cost of a map, filled by a problem's `trace`: eqp_evaluation."""

    def __init__(self, handle):
        self._handle = handle

    def load(self, part, seconds):
        check(lib.eqp_evaluation_load(self._open(), part, seconds))

    def block(self, phase, block, nbytes, elements, home):
        check(lib.eqp_evaluation_block(self._open(), phase, block, nbytes, elements, home))

    def need(self, phase, block, part):
        check(lib.eqp_evaluation_need(self._open(), phase, block, part))

    def held(self, part, elements):
        check(lib.eqp_evaluation_held(self._open(), part, elements))

    def common(self, part, nbytes):
        check(lib.eqp_evaluation_common(self._open(), part, nbytes))

    def meanwhile(self, phase, part, seconds):
        check(lib.eqp_evaluation_meanwhile(self._open(), phase, part, seconds))


@contextlib.contextmanager
def _lent(*handles):
    """Lends handles to a callback and closes them when it ends."""
    try:
        yield handles
    finally:
        for handle in handles:
            handle._handle = None


# The callbacks of eqp_problem. Python functions do not get `user`.
_CALLBACKS = {
    "survey": CFUNCTYPE(c_int, c_void_p, c_int, c_void_p),
    "open": CFUNCTYPE(c_int, c_void_p, c_bool),
    "close": CFUNCTYPE(None, c_void_p),
    "aspect": CFUNCTYPE(c_int, c_void_p, POINTER(c_double)),
    "base": CFUNCTYPE(None, c_void_p, c_int, POINTER(c_double)),
    "trace": CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_void_p, c_bool, c_void_p),
    "advance": CFUNCTYPE(c_int, c_void_p, c_void_p),
    "label": CFUNCTYPE(c_int, c_void_p, c_int64),
    "grain": CFUNCTYPE(c_int, c_void_p, c_int),
}


DIFFER = "the ranks differ in left, or an owner cannot be"


class Balancer(Shared):
    """Keeps a code balanced. Making and freeing it are collective, as are the methods marked so.

    problem: an object with a method survey(kind, survey). Optional methods: open(traced), close(), aspect(),
    base(nparts), trace(nparts, map, placement, loads_only, evaluation), advance(), label(first) and grain(grain).
    Optional members of eqp_problem: `nominal`, `once`, `back`, `ghosts`, `overhead` (a dict), `branch`, `estimates` and
    `ngrains`. An exception in a method ends the call on all ranks: the rank that raised it gets that exception, the
    other ranks get an Error.

    method: a word such as "interaction:pins=2". rebalance: "auto", "never", "repair", "gain" or a number of steps.
    share: "equal", "measured" or a list of speeds. plan: a name that eqp_exchange_plan_parse() knows. options: further
    members of eqp_balancer_options, such as imbalance_tol, seed, calibrate, fixed_costs."""

    _free = lib.eqp_balancer_free

    @collective("eqp_balancer_create")
    def __init__(self, comm, problem, method="auto", *, rebalance=None, share=None, plan=None, **options):
        self._problem, self._rank, self._at_home = problem, comm.Get_rank(), 0
        wanted = self._options(method, rebalance, share, plan, options)
        handle = c_void_p()
        yield self._code(), wanted, handle, s.eqp_message()
        self._made(handle.value, comm)

    def _options(self, method, rebalance, share, plan, options):
        wanted, message = s.eqp_balancer_options(), s.eqp_message()
        check(lib.eqp_balancer_options_init(wanted, ctypes.sizeof(wanted)))
        check(lib.eqp_choice_parse(None, None, text("method", method), wanted.method, message), message)
        if rebalance is not None:
            code = lib.eqp_policy_options_parse(str(rebalance), wanted.policy)
            if code != s.EQP_OK:
                raise Error(code, f"rebalance: '{rebalance}' is none of auto, never, repair, gain and a number of steps")
        if plan is not None and lib.eqp_exchange_plan_parse(text("plan", plan), wanted.plan) != s.EQP_OK:
            raise Error(s.EQP_ERR_UNKNOWN, f"plan: there is no '{plan}'")
        if isinstance(share, str):
            kinds = {"equal": s.EQP_SHARE_EQUAL, "measured": s.EQP_SHARE_MEASURED}
            if share not in kinds:
                raise ValueError(f"share: '{share}' is none of equal, measured and a list of speeds")
            wanted.share.kind = kinds[share]
        elif share is not None:
            self._speeds = numpy.atleast_1d(numbers("share", share, numpy.float64))
            wanted.share.kind, wanted.share.nspeeds = s.EQP_SHARE_SPEEDS, self._speeds.size
            wanted.share.speed = address(self._speeds)
        return fill(wanted, "a balancer", options)

    def _code(self):
        """The problem as an eqp_problem; everything it points to lives as long as this object."""
        problem = self._problem
        if not hasattr(problem, "survey"):
            raise Error(s.EQP_ERR_ARGUMENT, "problem: a method 'survey' is wanted")
        nominal = numpy.array(numbers("nominal", getattr(problem, "nominal", []), numpy.float64))
        back, ghosts = (numpy.array(numbers(name, getattr(problem, name, []), numpy.intc)) for name in ("back", "ghosts"))
        if back.shape != ghosts.shape or back.ndim != 1 or nominal.ndim != 1:
            raise ValueError("problem: 'nominal', 'back' and 'ghosts' are lists, the latter of the same length")
        self._kept = [nominal, back, ghosts]
        self._nkinds = max(1, len(nominal))
        code = s.eqp_problem(nominal=address(nominal) if len(nominal) else None)
        code.back, code.ghosts = (address(a) if len(a) else None for a in (back, ghosts))
        named = {name: getattr(problem, name) for name in ("once", "branch", "estimates", "ngrains") if hasattr(problem, name)}
        fill(code, "a problem", {"nkinds": self._nkinds, "nphases": len(back), **named})
        overhead = getattr(problem, "overhead", None)
        if overhead is not None:
            self._kept.append(fill(s.eqp_overhead(), "an overhead", dict(overhead)))
            code.overhead = ctypes.addressof(self._kept[-1])
        for name, kind in _CALLBACKS.items():
            if getattr(problem, name, None) is not None:
                if not callable(getattr(problem, name)):
                    raise TypeError(f"problem: '{name}' is no function")
                call = getattr(self, "_call_" + name, lambda *given, name=name: getattr(problem, name)(*given))
                function = kind(self._guarded(call, kind._restype_ is not None))
                self._kept.append(function)
                setattr(code, name, ctypes.cast(function, c_void_p))
        return code

    def _guarded(self, call, returns):
        """Stops exceptions before they reach C: C gets a code, and the exception is raised again after the call."""
        def guarded(user, *arguments):
            code = s.EQP_OK
            self._called = self._calling = True
            try:
                call(*arguments)
                self._interrupts.let()
            except BaseException as e:
                self._raised = e if self._raised is None else self._raised
                code = error_code(e, s.EQP_ERR_INTERNAL)
            finally:
                self._calling = False
            return code if returns else None
        return guarded

    def _call_survey(self, kind, handle):
        with _lent(Survey(handle, self._rank, self._nkinds)) as (survey,):
            self._problem.survey(kind, survey)
        self._at_home = survey.at_home

    def _call_aspect(self, aspect):
        aspect[0] = number("aspect", self._problem.aspect(), c_double)

    def _call_base(self, nparts, seconds):
        more = numbers("base", self._problem.base(nparts), numpy.float64, (nparts,))
        numpy.ctypeslib.as_array(seconds, (nparts,))[:] += more

    def _call_trace(self, nparts, handle, placement, loads_only, evaluation):
        with _lent(Map(handle), Evaluation(evaluation)) as (traced, told):
            self._problem.trace(nparts, traced, _rows(placement, self._at_home, _placement_dtype), loads_only, told)

    def _call_advance(self, message):
        self._problem.advance()

    def _advised(self, *arguments):
        advice = s.eqp_advice()
        yield *arguments, advice, s.eqp_message()
        return SimpleNamespace(action=advice.action, changed=advice.changed, bytes=advice.bytes,
                               placement=_rows(advice.placement, advice.nplacements, _placement_dtype))

    @collective("eqp_balancer_advise", DIFFER, meets=False)
    def advise(self, left):
        """Advises before a step with `left` steps to come. Returns `action`, `changed`, `bytes` and `placement`, an
        array with the `tag` and `home` of the local owners. Collective: a small allreduce if nothing is due."""
        return self._advised(left)

    @collective("eqp_balancer_renew", DIFFER)
    def renew(self, left):
        """Makes a new map, due or not. Collective."""
        return self._advised(left)

    @collective("eqp_balancer_begin", "an owner that cannot be")
    def begin(self):
        """Makes a first map before any step has been measured. Collective."""
        return self._advised()

    @collective("eqp_balancer_record", "the ranks differ in evaluations, moved, or in how many of last, sum and low are given")
    def record(self, count, load, *, last=None, evaluations=0, moved=False, code=0, sum=None, low=None, **row):
        """Records a step: work of each kind, CPU seconds in forces, and further members of eqp_rank_row
        (busy_seconds=...). sum, low: float64 arrays that become the sums and minima over all ranks. Returns the members
        of eqp_step and this rank's `row`. Collective."""
        rank_row = fill(s.eqp_rank_row(), "a row", {"load": load, **row})
        if not 0.0 <= rank_row.load < float("inf"):
            raise ValueError(f"load: {load} is negative or not finite")
        work, step = s.eqp_work(row=ctypes.addressof(rank_row), code=number("code", code, c_int, most=0)), s.eqp_step()
        work.evaluations = number("evaluations", evaluations, c_int64, least=0)
        fill(work, "a step", {"moved": moved})
        kept = []
        for name, values in (("count", count), ("last", last)):
            if values is not None or name == "count":
                kept.append(numpy.atleast_1d(tested(name, values, numpy.int64, least=0)))
                if kept[-1].shape != (self._nkinds,):
                    raise ValueError(f"{name}: numbers of {self._nkinds} kinds of work are wanted")
                kept[-1] = numpy.ascontiguousarray(kept[-1])
                setattr(work, name, address(kept[-1]))
        for name, values, most in (("sum", sum, s.EQP_MEET_SUMS), ("low", low, s.EQP_MEET_LOWS)):
            if values is not None:
                if not isinstance(values, numpy.ndarray) or values.dtype != numpy.float64 or \
                        values.ndim != 1 or not values.flags.carray:
                    raise TypeError(f"{name}: an array of float64 is wanted")
                if len(values) > most or name == "low" and numpy.isnan(values).any():
                    raise ValueError(f"{name}: at most {most} numbers are wanted, no NaN among minima")
                setattr(work, "n" + name + "s", len(values))
                setattr(work, name, address(values))
        yield work, step
        found = _plain(step)
        found.row = _plain(rank_row)
        return found

    @collective("eqp_balancer_compare", "the ranks differ in methods or parts, or a part is no int")
    def compare(self, methods, parts):
        """Compares methods ("sfc,rcb", "all") at several numbers of parts. Returns rows with the members of
        eqp_compared, ordered by parts, then by method. Collective."""
        parts = numpy.atleast_1d(numbers("parts", parts, numpy.int64, least=1))
        n, choices, rows, message = c_int(), c_void_p(), c_void_p(), s.eqp_message()
        check(lib.eqp_choices_parse(None, None, text("methods", methods), n, choices, message), message)
        try:
            wanted = s.eqp_comparison(nchoices=n.value, choice=choices, ncounts=parts.size, parts=address(parts))
            yield wanted, rows, message
            table = (s.eqp_compared * (n.value * len(parts))).from_address(rows.value)
            return [_plain(row) for row in table]
        finally:
            free(rows)
            free(choices)

    @property
    def due(self):
        """True if the next advise() will do more than keep the map."""
        return lib.eqp_balancer_due(self._open())

    @property
    def map(self):
        """The present map."""
        self._open()
        return Map(None, self)

    def predict(self, count):
        """CPU seconds predicted for work by the present costs; count: [kinds]."""
        count = numpy.atleast_1d(numbers("count", count, numpy.int64))
        if count.shape != (self._nkinds,):
            raise ValueError(f"count: numbers of {self._nkinds} kinds of work are wanted")
        return lib.eqp_cost_fit_predict(lib.eqp_balancer_costs(self._open()), count)

    def pack(self):
        """The state of the balancer as bytes, for a restart file."""
        size, data = c_size_t(), c_void_p()
        check(lib.eqp_balancer_pack(self._open(), size, data))
        try:
            return (ctypes.c_char * size.value).from_address(data.value).raw
        finally:
            free(data)

    def unpack(self, data):
        """Restores the state from the bytes of pack(), which must be the same on every rank."""
        if not isinstance(data, bytes):
            raise TypeError(f"data: bytes are wanted, not {type(data).__name__}")
        check(lib.eqp_balancer_unpack(self._open(), len(data), data))
