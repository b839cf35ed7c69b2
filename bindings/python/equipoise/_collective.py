# SPDX-License-Identifier: BSD-3-Clause
"""Collective calls: a mistake on one rank raises an exception on all ranks, without deadlock."""
import functools
import signal
import threading
import traceback
from ctypes import c_char_p, c_void_p

from . import _structs as s
from ._library import Error, check, communicator, lib

#: All collective calls of the package by qualified name.
collective_calls = {}


class Handle:
    """An object of the library. After free(), or after the callback that it was lent to, every use raises an Error."""

    _handle, _raised, _called = None, None, False  # the last two are left by callbacks

    def _open(self):
        if self._handle is None:
            raise Error(s.EQP_ERR_STATE, f"{type(self).__name__}: freed, or used after the callback that it was lent to")
        return self._handle

    def __reduce__(self):
        raise TypeError(f"{type(self).__name__}: a copy would be freed twice")


class Shared(Handle):
    """An object that all ranks create and free together."""

    _comm, _calling, _interrupts = None, False, None

    def _meet(self):
        """The handle, for a collective call."""
        handle = self._open()
        communicator(self._comm)  # MPI may be finalized
        if self._calling:
            raise Error(s.EQP_ERR_STATE, f"{type(self).__name__}: a callback cannot make a collective call of it")
        return handle

    def free(self):
        """Frees the object; a second call does nothing. Collective, so the garbage collector, which runs at different
        times on different ranks, does not call it."""
        if self._handle is not None:
            handle, self._handle = self._meet(), None
            self._free(handle)
            self._comm.Free()

    def _made(self, handle, comm):
        """Stores the handle and a duplicate of the communicator; the caller may free the original."""
        self._handle, self._comm = handle, comm.Dup()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:  # after an exception the other ranks may not get here
            self.free()


class _Interrupts:
    """Holds back an interrupt while C runs. Raised on entry to a callback, its exception would be lost; raised after a
    failed call, it would leave the other ranks waiting."""

    def __enter__(self):
        self._given, self._old = None, signal.getsignal(signal.SIGINT)
        self._keeps = callable(self._old) and threading.current_thread() is threading.main_thread()
        if self._keeps:
            signal.signal(signal.SIGINT, self._keep)
        return self

    def _keep(self, *given):
        self._given = given

    def let(self):
        """Passes a held interrupt to its original handler."""
        given, self._given = self._given, None
        if given is not None:
            self._old(*given)

    def __exit__(self, kind, value, trace):
        if self._keeps:
            signal.signal(signal.SIGINT, self._old)
        self.let()


def error_code(raised, other):
    """The code that tells the other ranks of an exception."""
    if isinstance(raised, MemoryError):
        return s.EQP_ERR_MEMORY
    return raised.code if isinstance(raised, Error) and raised.code < 0 else other


def _agree(comm, code, raised, message=None):
    """Ends a call in the same way on all ranks. A rank that raised an exception raises it again; other ranks raise an
    Error with its text. code: the result of the call, the same on all ranks."""
    line = s.eqp_message()
    if raised is not None:
        said = " ".join("".join(traceback.format_exception_only(type(raised), raised)).split())
        line.text = f"rank {comm.Get_rank()}: {said}".encode(errors="replace")[:500]
        mine = error_code(raised, code or s.EQP_ERR_INTERNAL)
    else:
        line.text = message.text if message is not None else b""
        mine = s.EQP_ERR_REMOTE if code else s.EQP_OK
    agreed = lib.eqp_agree(communicator(comm), mine, line)
    if raised is not None:
        raise raised
    check(code if agreed == s.EQP_ERR_REMOTE else agreed, line)


def _message_of(arguments):
    """The message among the arguments, or the one that an argument points to."""
    for argument in arguments:
        if isinstance(argument, s.eqp_message):
            return argument
        if getattr(argument, "message", None):
            return s.eqp_message.from_address(argument.message)
    return None


def collective(name, alike="", meets=True):
    """Turns a generator into a collective call. The generator yields all arguments of the C function except the first,
    resumes when the function has succeeded, and returns the result.

    After an exception in the generator, this rank still makes the call that the other ranks are in, with zeros and
    NULL, so that it fails on all ranks. The other ranks then get the text of the exception.

    alike: the text for EQP_ERR_ARGUMENT if the C function gives none. meets: True if the C function always synchronizes
    the ranks; otherwise the ranks agree before the call."""
    function = getattr(lib, name)

    def decorate(generator):
        creates = generator.__name__ == "__init__"

        @functools.wraps(generator)
        def call(*given, **named):
            where = next(iter(given[creates:]), named.get("comm"))
            if isinstance(where, Shared):
                owner, first, comm = where, where._meet(), where._comm
                first = communicator(comm) if function.arguments[0][0] == "comm" else first
            else:
                owner, first, comm = given[0] if creates else None, communicator(where), where
            steps = message = raised = None
            arguments = [first] + [None if kind in (c_void_p, c_char_p) else 0 for _, kind in function.arguments[1:]]
            try:
                steps = generator(*given, **named)
                wanted = next(steps)
                arguments, message = function.convert((first, *wanted)), _message_of(wanted)
            except BaseException as e:
                raised = e
            try:
                if not meets:
                    _agree(comm, s.EQP_ERR_ARGUMENT if raised is not None else s.EQP_OK, raised)
                with _Interrupts() as interrupts:
                    called = False
                    if owner is not None:
                        owner._interrupts = interrupts
                    code = function.raw(*arguments)
                    if owner is not None:
                        raised = owner._raised if raised is None else raised
                        called, owner._raised, owner._called = owner._called, None, False
                    if code == s.EQP_ERR_MPI:
                        check(code)
                    if code == s.EQP_ERR_ARGUMENT and (message is None or not message.text):
                        message = s.eqp_message(text=f"{generator.__name__}: {alike}".encode())
                    if code != s.EQP_OK or called:  # the same on all ranks
                        _agree(comm, code, raised, message)
                return _result(steps)
            finally:
                if steps is not None:
                    steps.close()

        collective_calls[generator.__qualname__] = call
        return call

    return decorate


def _result(steps):
    try:
        next(steps)
    except StopIteration as end:
        return end.value
