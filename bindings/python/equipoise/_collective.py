# SPDX-License-Identifier: BSD-3-Clause
"""Collective calls: a mistake on one rank is an exception on all ranks, and none waits for another."""
import functools
import signal
import threading
import traceback
from ctypes import c_char_p, c_void_p

from . import _structs as s
from ._library import Error, check, communicator, lib

#: All collective calls of the package by their qualified names.
collective_calls = {}


class Handle:
    """An object of the library. After free(), or after the callback that it was lent to, every use raises an Error."""

    _handle, _raised, _called = None, None, False  # and what callbacks have left behind

    def _open(self):
        if self._handle is None:
            raise Error(s.EQP_ERR_STATE, f"{type(self).__name__}: freed, or used after the callback that it was lent to")
        return self._handle

    def __reduce__(self):
        raise TypeError(f"{type(self).__name__}: a copy would be freed twice")


class Shared(Handle):
    """An object that all ranks make and free together."""

    _comm, _calling, _interrupts = None, False, None

    def _meet(self):
        """The handle, for a call that is collective."""
        handle = self._open()
        communicator(self._comm)  # MPI may be finalized
        if self._calling:
            raise Error(s.EQP_ERR_STATE, f"{type(self).__name__}: a callback cannot make a collective call of it")
        return handle

    def free(self):
        """Frees it; a second time does nothing. Collective; the collector of garbage does not do it, since its times
        differ between ranks."""
        if self._handle is not None:
            handle, self._handle = self._meet(), None
            self._free(handle)
            self._comm.Free()

    def _made(self, handle, comm):
        """The communicator is a copy: the caller may free its own."""
        self._handle, self._comm = handle, comm.Dup()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:  # after an exception other ranks may be elsewhere
            self.free()


class _Interrupts:
    """Keeps an interrupt while C runs: at the entry of a callback its exception would be lost, and behind a call that
    failed the other ranks would wait."""

    def __enter__(self):
        self._given, self._old = None, signal.getsignal(signal.SIGINT)
        self._keeps = callable(self._old) and threading.current_thread() is threading.main_thread()
        if self._keeps:
            signal.signal(signal.SIGINT, self._keep)
        return self

    def _keep(self, *given):
        self._given = given

    def let(self):
        """Handles what has come as it would have been."""
        given, self._given = self._given, None
        if given is not None:
            self._old(*given)

    def __exit__(self, kind, value, trace):
        if self._keeps:
            signal.signal(signal.SIGINT, self._old)
        self.let()


def error_code(raised, other):
    """The code by which the other ranks hear of an exception."""
    if isinstance(raised, MemoryError):
        return s.EQP_ERR_MEMORY
    return raised.code if isinstance(raised, Error) and raised.code < 0 else other


def _agree(comm, code, raised, message=None):
    """Ends a call on all ranks alike: an exception goes on where it was raised, the other ranks raise an Error with its
    line. code: the result of the call, the same on all ranks."""
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
    """The message among them, or in one of them."""
    for argument in arguments:
        if isinstance(argument, s.eqp_message):
            return argument
        if getattr(argument, "message", None):
            return s.eqp_message.from_address(argument.message)
    return None


def collective(name, alike="", meets=True):
    """Makes a collective call of a generator, which yields all arguments of the C function but the first, goes on when
    the function has succeeded, and returns the result.

    After an exception in the generator the C function gets zeros and NULL: the other ranks are in the call, so this rank
    makes it, and it fails on all of them. They then hear the line of the exception.

    alike: a line for EQP_ERR_ARGUMENT of a C function that has none. meets: the ranks always meet in the C function; else
    they meet before it."""
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
