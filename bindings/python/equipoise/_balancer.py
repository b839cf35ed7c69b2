# SPDX-License-Identifier: BSD-3-Clause
"""One object that keeps an N-body code balanced: <equipoise/balancer.h>, problem.h and survey.h."""
import ctypes
from ctypes import CFUNCTYPE, POINTER, byref, c_bool, c_double, c_int, c_int64, c_size_t, c_void_p
from types import SimpleNamespace

import numpy

from . import _structs as s
from ._library import Error, address, check, communicator, free, lib

#: The type of the rows that Survey.add_owners() takes; its fields are those of eqp_owner.
owner_dtype = numpy.dtype(s.eqp_owner)
_placement_dtype = numpy.dtype(s.eqp_placement)


def _plain(struct):
    """A struct's members as attributes of Python's types; structs within it likewise."""
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


def _view(pointer, n, dtype):
    """Borrowed memory as an array that cannot be written."""
    if not pointer or n == 0:
        return numpy.empty(0, dtype)
    array = numpy.frombuffer((ctypes.c_char * (n * dtype.itemsize)).from_address(pointer), dtype=dtype)
    array.flags.writeable = False
    return array


class Survey:
    """A survey to be filled, as long as the callback lasts that it was given to."""

    def __init__(self, handle, rank):
        self._handle, self._rank = handle, rank
        self.at_home = 0  # owners so far that live on this rank

    def _open(self):
        if self._handle is None:
            raise Error(s.EQP_ERR_STATE, "the survey is over")
        return self._handle

    @property
    def heavy(self):
        """Nanoseconds from which an owner's tiles are wanted."""
        return lib.eqp_survey_heavy(self._open())

    def weigh(self, count):
        """Nanoseconds of so much work, [kinds]."""
        count = numpy.ascontiguousarray(count, dtype=numpy.int64)
        return lib.eqp_survey_weigh(self._open(), address(count))

    def add_pin(self, pin):
        check(lib.eqp_survey_add_pin(self._open(), pin))

    def add_tile(self, centroid, weight, pins=()):
        pins = (*pins, *[-1] * s.EQP_TILE_PINS)[:s.EQP_TILE_PINS]
        tile = s.eqp_tile(centroid=tuple(centroid), weight=weight, pin=pins)
        check(lib.eqp_survey_add_tile(self._open(), byref(tile)))

    def add_owner(self, *, centre=(0.0, 0.0, 0.0), count=(), **members):
        """Adds an owner with the pins and tiles since the last one; members are those of eqp_owner."""
        owner = s.eqp_owner(pin=-1, home=self._rank, tag=self._rank, centre=tuple(centre), count=tuple(count))
        for name, value in members.items():
            if not hasattr(owner, name):
                raise TypeError(f"an owner has no '{name}'")
            setattr(owner, name, value)
        check(lib.eqp_survey_add_owner(self._open(), byref(owner)))
        self.at_home += owner.home == self._rank

    def add_owners(self, owners, first=None, pin=None):
        """Adds many: rows of owner_dtype; pins of row i are pin[first[i]:first[i + 1]]."""
        handle = self._open()
        owners = numpy.ascontiguousarray(owners, dtype=owner_dtype)
        if (first is None) != (pin is None):
            raise TypeError("first and pin go together")
        if first is not None:
            first = numpy.ascontiguousarray(first, dtype=numpy.int64)
            pin = numpy.ascontiguousarray(pin, dtype=numpy.int64)
            if first.shape != (len(owners) + 1,) or len(owners) and (
                    first[0] < 0 or first[-1] > len(pin) or (first[1:] < first[:-1]).any()):
                raise ValueError("first: ascending places in pin are wanted, one more than owners")
            first = first.tolist()
        check(lib.eqp_survey_reserve(handle, len(owners)))
        room, place = c_void_p(), owners.ctypes.data
        for i in range(len(owners)):
            if first is not None:
                n = first[i + 1] - first[i]
                check(lib.eqp_survey_room_for_pins(handle, n, byref(room)))
                if n > 0:
                    ctypes.memmove(room, pin.ctypes.data + 8 * first[i], 8 * n)
                check(lib.eqp_survey_took_pins(handle, n))
            check(lib.eqp_survey_add_owner(handle, place + i * owner_dtype.itemsize))
        self.at_home += int((owners["home"] == self._rank).sum())


class Map:
    """Who computes what: eqp_map. Borrowed until the balancer's next map."""

    def __init__(self, handle):
        self._handle = handle

    @property
    def shared(self):
        """Entries of the table: owners that several ranks share, and ways through phases."""
        return lib.eqp_map_shared(self._handle)

    def rank(self, tag, centroid):
        centroid = numpy.ascontiguousarray(centroid, dtype=numpy.float64)
        if centroid.shape != (3,):
            raise ValueError("centroid: three numbers are wanted")
        return lib.eqp_map_rank(self._handle, tag, address(centroid))

    def own_rank(self, tag):
        return lib.eqp_map_own_rank(self._handle, tag)

    def tag_in(self, tag, phase):
        """The tag by which an owner is computed in a phase of a cycle, where each has a map of its own."""
        return lib.eqp_map_tag_in(self._handle, tag, phase)


class Evaluation:
    """What a map comes to, told by a problem's `trace`: eqp_evaluation."""

    def __init__(self, handle):
        self._handle = handle

    def load(self, part, seconds):
        check(lib.eqp_evaluation_load(self._handle, part, seconds))

    def block(self, phase, block, nbytes, elements, home):
        check(lib.eqp_evaluation_block(self._handle, phase, block, nbytes, elements, home))

    def need(self, phase, block, part):
        check(lib.eqp_evaluation_need(self._handle, phase, block, part))

    def held(self, part, elements):
        check(lib.eqp_evaluation_held(self._handle, part, elements))

    def common(self, part, nbytes):
        check(lib.eqp_evaluation_common(self._handle, part, nbytes))

    def meanwhile(self, phase, part, seconds):
        check(lib.eqp_evaluation_meanwhile(self._handle, phase, part, seconds))


# The callbacks of eqp_problem, `user` left out of what Python's functions get.
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


class Balancer:
    """Keeps a code balanced. Making, freeing and all that is said to be so is collective.

    problem: an object with a method survey(kind, survey), and as it likes open(traced), close(), aspect(), base(nparts),
    trace(nparts, map, placement, loads_only, evaluation), advance(), label(first) and grain(grain); and with the members
    `nominal`, `once`, `back`, `ghosts`, `overhead` (a dict), `branch`, `estimates` and `ngrains` of eqp_problem. What these raise ends the call
    on all ranks and comes out of it where it was raised; what `close` and `base` raise comes out on their rank alone.

    method: a word such as "interaction:pins=2". rebalance: "auto", "never", "repair", "gain" or a number of steps.
    share: "equal", "measured" or a list of speeds. plan: a name of eqp_exchange_plan_parse(). Others are members of
    eqp_balancer_options: imbalance_tol, seed, calibrate, fixed_costs..."""

    def __init__(self, comm, problem, method="auto", *, rebalance=None, share=None, plan=None, **options):
        self._handle = c_void_p()
        self._problem, self._raised = problem, None
        self._rank, self._at_home = comm.Get_rank(), 0
        wanted = self._options(method, rebalance, share, plan, options)
        code = self._code()
        message = s.eqp_message()
        self._end(lib.eqp_balancer_create(communicator(comm), byref(code), byref(wanted), byref(self._handle),
                                          byref(message)), message)

    def _options(self, method, rebalance, share, plan, options):
        wanted, message = s.eqp_balancer_options(), s.eqp_message()
        check(lib.eqp_balancer_options_init(byref(wanted), ctypes.sizeof(wanted)))
        check(lib.eqp_choice_parse(None, None, method.encode(), byref(wanted.method), byref(message)), message)
        if rebalance is not None:
            code = lib.eqp_policy_options_parse(str(rebalance).encode(), byref(wanted.policy))
            if code != s.EQP_OK:
                raise Error(code, f"rebalance: '{rebalance}' is none of auto, never, repair, gain and a number of steps")
        if plan is not None:
            check(lib.eqp_exchange_plan_parse(plan.encode(), byref(wanted.plan)))
        if isinstance(share, str):
            kinds = {"equal": s.EQP_SHARE_EQUAL, "measured": s.EQP_SHARE_MEASURED}
            if share not in kinds:
                raise ValueError(f"share: '{share}' is none of equal, measured and a list of speeds")
            wanted.share.kind = kinds[share]
        elif share is not None:
            self._speeds = numpy.ascontiguousarray(share, dtype=numpy.float64)
            wanted.share.kind, wanted.share.nspeeds = s.EQP_SHARE_SPEEDS, len(self._speeds)
            wanted.share.speed = address(self._speeds)
        plain = {name for name, kind in wanted._fields_ if not issubclass(kind, (ctypes.Structure, c_void_p, c_size_t))}
        plain |= {"seed"}
        for name, value in options.items():
            if name not in plain:
                raise TypeError(f"a balancer has no option '{name}'")
            setattr(wanted, name, value)
        return wanted

    def _code(self):
        """The problem as C calls it; everything that it points to lives as long as this object."""
        problem, code = self._problem, s.eqp_problem()
        nominal = numpy.ascontiguousarray(getattr(problem, "nominal", []), dtype=numpy.float64)
        back, ghosts = (numpy.ascontiguousarray(getattr(problem, name, []), dtype=numpy.intc)
                        for name in ("back", "ghosts"))
        if back.shape != ghosts.shape:
            raise ValueError("problem: 'back' and 'ghosts' are of different lengths")
        self._kept = [nominal, back, ghosts]
        self._nkinds = code.nkinds = max(1, len(nominal))
        code.nominal = address(nominal) if len(nominal) else None
        code.nphases = len(back)
        code.back, code.ghosts = (address(a) if len(a) else None for a in (back, ghosts))
        code.once = getattr(problem, "once", 0)
        code.branch = getattr(problem, "branch", 0.0)
        code.estimates = getattr(problem, "estimates", False)
        code.ngrains = getattr(problem, "ngrains", 0)
        overhead = getattr(problem, "overhead", None)
        if overhead is not None:
            self._kept.append(s.eqp_overhead(**overhead))
            code.overhead = ctypes.addressof(self._kept[-1])
        for name, kind in _CALLBACKS.items():
            if callable(getattr(problem, name, None)):
                function = kind(self._guarded(getattr(self, "_call_" + name), kind._restype_ is not None))
                self._kept.append(function)
                setattr(code, name, ctypes.cast(function, c_void_p))
        return code

    def _guarded(self, call, returns):
        """No exception may run into C: its code goes there, and the exception waits for the end of the call."""
        def guarded(user, *arguments):
            code = s.EQP_OK
            try:
                call(*arguments)
            except BaseException as e:
                self._raised = self._raised or e
                code = e.code if isinstance(e, Error) else \
                    s.EQP_ERR_MEMORY if isinstance(e, MemoryError) else s.EQP_ERR_INTERNAL
            return code if returns else None
        return guarded

    def _end(self, code, message=None):
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        check(code, message)

    def _call_survey(self, kind, handle):
        survey = Survey(handle, self._rank)
        try:
            self._problem.survey(kind, survey)
        finally:
            survey._handle = None
        self._at_home = survey.at_home

    def _call_open(self, traced):
        self._problem.open(traced)

    def _call_close(self):
        self._problem.close()

    def _call_aspect(self, aspect):
        aspect[0] = self._problem.aspect()

    def _call_base(self, nparts, seconds):
        more = numpy.ascontiguousarray(self._problem.base(nparts), dtype=numpy.float64)
        if more.shape != (nparts,):
            raise ValueError(f"base: seconds of {nparts} parts are wanted")
        numpy.ctypeslib.as_array(seconds, (nparts,))[:] += more

    def _call_trace(self, nparts, handle, placement, loads_only, evaluation):
        self._problem.trace(nparts, Map(handle), _view(placement, self._at_home, _placement_dtype), loads_only,
                            Evaluation(evaluation))

    def _call_advance(self, message):
        try:
            self._problem.advance()
        except Exception as e:
            if message:
                text = s.eqp_message.from_address(message)
                text.text = " ".join(str(e).split()).encode()[:500]
            raise

    def _call_label(self, first):
        self._problem.label(first)

    def _call_grain(self, grain):
        self._problem.grain(grain)

    def _advised(self, function, *arguments):
        advice, message = s.eqp_advice(), s.eqp_message()
        self._end(function(self._handle, *arguments, byref(advice), byref(message)), message)
        return SimpleNamespace(action=advice.action, changed=advice.changed, bytes=advice.bytes,
                               placement=_view(advice.placement, advice.nplacements, _placement_dtype))

    def advise(self, left):
        """What to do before a step, `left` being the steps to come: `action`, `changed`, `bytes` and `placement`, an array
        of owners that live here with `tag` and `home`, borrowed until the next call. Collective."""
        return self._advised(lib.eqp_balancer_advise, left)

    def renew(self, left):
        """A new map, due or not. Collective."""
        return self._advised(lib.eqp_balancer_renew, left)

    def begin(self):
        """A first map before anything is known. Collective."""
        return self._advised(lib.eqp_balancer_begin)

    def record(self, count, load, *, last=None, evaluations=0, moved=False, code=0, sum=None, low=None, **row):
        """Takes a step in: work of each kind, CPU seconds in forces, and what else an eqp_rank_row holds
        (busy_seconds=...). sum, low: arrays of float64 that become sums and minima of all ranks. Returns what
        eqp_step says, and this rank's `row`. Collective."""
        rank_row = s.eqp_rank_row(load=load)
        for name, value in row.items():
            if not hasattr(rank_row, name):
                raise TypeError(f"a row has no '{name}'")
            setattr(rank_row, name, value)
        work, wrong = s.eqp_work(row=ctypes.addressof(rank_row), evaluations=evaluations, moved=moved, code=code), None
        kept = []
        for name, values in (("count", count), ("last", last)):
            if values is not None:
                kept.append(numpy.atleast_1d(numpy.ascontiguousarray(values, dtype=numpy.int64)))
                setattr(work, name, address(kept[-1]))
                if kept[-1].shape != (self._nkinds,):
                    wrong = ValueError(f"{name}: numbers of {self._nkinds} kinds of work are wanted")
        for name, values in (("sum", sum), ("low", low)):
            if values is not None:
                if not isinstance(values, numpy.ndarray) or values.dtype != numpy.float64 or \
                        values.ndim != 1 or not values.flags.carray:
                    wrong = TypeError(f"{name}: an array of float64 is wanted")
                else:
                    setattr(work, "n" + name + "s", len(values))
                    setattr(work, name, address(values))
        work.code = s.EQP_ERR_ARGUMENT if wrong else work.code
        step = s.eqp_step()
        code = lib.eqp_balancer_record(self._handle, byref(work), byref(step))
        if wrong is not None:
            raise wrong
        self._end(code)
        found = _plain(step)
        found.row = _plain(rank_row)
        return found

    def compare(self, methods, parts):
        """What methods ("sfc,rcb", "all") would make of numbers of parts: rows by parts, then by method, as eqp_compared
        has them. Collective."""
        parts = numpy.atleast_1d(numpy.ascontiguousarray(parts, dtype=numpy.int64))
        n, choices, rows, message = c_int(), c_void_p(), c_void_p(), s.eqp_message()
        check(lib.eqp_choices_parse(None, None, methods.encode(), byref(n), byref(choices), byref(message)), message)
        try:
            wanted = s.eqp_comparison(nchoices=n.value, choice=choices, ncounts=len(parts), parts=address(parts))
            self._end(lib.eqp_balancer_compare(self._handle, byref(wanted), byref(rows), byref(message)), message)
            table = (s.eqp_compared * (n.value * len(parts))).from_address(rows.value)
            return [_plain(row) for row in table]
        finally:
            free(rows)
            free(choices)

    @property
    def due(self):
        """Whether the next advise() will do more than keep the map."""
        return lib.eqp_balancer_due(self._handle)

    @property
    def map(self):
        return Map(lib.eqp_balancer_map(self._handle))

    def predict(self, count):
        """CPU seconds of so much work, [kinds], by the costs as they are now."""
        count = numpy.atleast_1d(numpy.ascontiguousarray(count, dtype=numpy.int64))
        if count.shape != (self._nkinds,):
            raise ValueError(f"count: numbers of {self._nkinds} kinds of work are wanted")
        return lib.eqp_cost_fit_predict(lib.eqp_balancer_costs(self._handle), address(count))

    def pack(self):
        """What the balancer knows, for a restart file."""
        size, data = c_size_t(), c_void_p()
        check(lib.eqp_balancer_pack(self._handle, byref(size), byref(data)))
        try:
            return ctypes.string_at(data, size.value)
        finally:
            free(data)

    def unpack(self, data):
        check(lib.eqp_balancer_unpack(self._handle, len(data), data))

    def free(self):
        """Collective; not done by the collector of garbage, whose times differ between ranks."""
        lib.eqp_balancer_free(self._handle)
        self._handle = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:  # after an exception other ranks may be elsewhere
            self.free()
