"""Calls into the library: one thread at a time, statuses become exceptions."""

import collections
import ctypes
import threading

from slipway import _library
from slipway.errors import ArgumentError, StateError, of_status

NOT_IN_JOB = "this process is not in the job; call slipway.init() first, and this not after slipway.finalize()"

# The library wants one thread at a time, except for slipway_submit and its like.
_inside = threading.RLock()
# Blocks of slipway_alloc whose arrays are gone. A garbage collector may run at any moment, in any thread, so it only
# leaves a note; the next call frees them.
_unused = collections.deque()
# Called after finalize by whoever remembers things of the job.
at_finalize = []
# Called at the end of a program when all ranks have begun the same steps: completes them. Returns the names of teams.
complete_steps = []


class Ending:
    """Whether the program is about to end because something failed: then nobody waits for the other ranks."""

    crashed = False  # an exception that nobody caught
    exiting = None  # sys.exit of the main thread with a failure, which may still be caught: its mark, by id()

    @classmethod
    def failed(cls):
        return cls.crashed or cls.exiting is not None


def checked(library, name, *arguments):
    """Calls, and raises what the status says."""
    try:
        status = getattr(library, name)(*arguments)
    except ctypes.ArgumentError as error:  # of another type than in C
        raise ArgumentError(f"{name}: {error}") from error
    if status == StateError.status and name != "slipway_init" and library.slipway_rank() < 0:
        raise StateError(f"{name}: {NOT_IN_JOB}")  # the library's own message names slipway_init
    if status != 0:
        raise of_status(status, library.slipway_error_message().decode(errors="replace"))


def call(name, *arguments):
    """Calls a function that returns a slipway_status."""
    library = _library.library()
    with _inside:
        while _unused:
            library.slipway_free(_unused.popleft())
        checked(library, name, *arguments)
    if Ending.exiting is not None and threading.current_thread() is threading.main_thread():
        Ending.exiting = None  # it was caught: the program goes on


def call_beside(name, *arguments):
    """As call(), for functions that any thread may call at any time."""
    checked(_library.library(), name, *arguments)


def free_later(address):
    _unused.append(address)


def ask(name, *arguments):
    """Calls a function that returns a number and cannot fail."""
    return getattr(_library.library(), name)(*arguments)


def int_from(name, *arguments, by=call):
    """Calls a function whose last argument is an int to fill."""
    result = ctypes.c_int()
    by(name, *arguments, ctypes.byref(result))
    return result.value
