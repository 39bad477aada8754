"""The life of a program in the job: init, and an end that never waits for other ranks after a failure."""

import atexit
import builtins
import json
import os
import sys
import threading

from slipway import _calls, _library
from slipway.errors import SlipwayError, StateError


class _Place:
    """The process that joined, and with which configuration: a fork of it is not part of the job."""

    process = None
    config = None
    by_backend = False  # the backend of torch.distributed joined, and not the program


def init(config=None):
    """Joins the job. `config` is a dict or JSON like SLIPWAY_CONFIG, or None to read that variable. Collective.

    The program leaves the job by itself when it ends, unless an exception or exit(not 0) ended it: then the process
    ends at once, and the launcher ends the others. A bare `raise SystemExit(n)` is not noticed: call sys.exit(n).

    Where init_process_group("slipway") has joined, init() without a `config` does nothing.
    Errors: StateError: called twice, or with a `config` after the backend has joined.
    """
    if _Place.by_backend and initialized():
        if config is None:
            return
        raise StateError('init_process_group("slipway") has joined the job with settings of its own; call '
                         "slipway.init(config) before it")
    join(config)


def join(config, by_backend=False):
    """init(), by whoever joins first. Collective."""
    text = json.dumps(config) if isinstance(config, dict) else config
    _calls.call("slipway_init", None if text is None else text.encode())
    _Place.config, _Place.by_backend = text, by_backend
    if _Place.process is None:
        _watch_for_failure()
        atexit.register(_leave)
    _Place.process = os.getpid()
    _library.require_whole_job(size())


def configuration():
    """What init() was given, else what the launcher says in SLIPWAY_CONFIG. Empty where neither is JSON."""
    try:
        found = json.loads(_Place.config or os.environ.get("SLIPWAY_CONFIG") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def finalize():
    """Waits for what is in flight and leaves the job. Collective."""
    _calls.call("slipway_finalize")
    for forget in _calls.at_finalize:
        forget()


def initialized():
    return _calls.ask("slipway_rank") >= 0


def rank():
    """This rank in the job, 0-based. Errors: StateError: this process is not in the job. Local."""
    return require_in_job(_calls.ask("slipway_rank"))


def size():
    """Ranks in the job. Errors: as rank(). Local."""
    return require_in_job(_calls.ask("slipway_size"))


def local_rank():
    """This rank among those on the same node, 0-based. Errors: as rank(). Local."""
    return require_in_job(_calls.ask("slipway_local_rank"))


def in_job():
    """initialized(), but it does not load the library."""
    return _library.loaded() and initialized()


def require_in_job(answer):
    """`answer` of the library, which says -1 outside of the job: then a StateError."""
    if answer < 0 and not initialized():
        raise StateError(_calls.NOT_IN_JOB)
    return answer


def joined_here():
    """Whether this process has joined the job by itself: not one that fork() made. Local."""
    return _Place.process == os.getpid() and initialized()


def ends_well():
    """At the end of the program: whether this process is in the job, and shall leave it together with the others."""
    return joined_here() and not _calls.Ending.failed()


def _leave():
    if ends_well():
        try:
            _finalize_after_steps()
        except SlipwayError as error:  # an exception would only be shown here, with a trace of this file
            print(f"slipway: warning: at the end of the program: {error}", file=sys.stderr)


def _finalize_after_steps():
    """finalize(), also where the program ended between backward() and step(): such a step is completed first."""
    speaks = rank() == 0
    try:
        return finalize()
    except StateError:  # on all ranks, and all have begun the same step; where they differ it is a MismatchError
        names = [name for complete in _calls.complete_steps for name in complete()]
    finalize()
    if speaks:
        print(f"slipway: warning: the program ended with a step in flight of team {', '.join(map(repr, names))}: its "
              "gradients were exchanged, and nothing used them; call optimizer.step() or synchronize() after each "
              "backward()", file=sys.stderr)


def _outermost_frame(frames=sys._current_frames, main=threading.main_thread().ident):
    """Of the main thread: that of the program, until it has ended."""
    frame = frames().get(main)
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
    return frame


class _Exit:
    """Part of a SystemExit with a status of failure, and gone with it.

    One that is gone while the program runs was caught. An uncaught one is gone later: after the last frame of the
    program, or while other threads and functions of atexit still run. One that the program keeps counts as uncaught
    until the next call into the library.
    """

    def __init__(self):
        self._program = _outermost_frame()

    def __del__(self, ending=_calls.Ending, outermost_frame=_outermost_frame):
        if ending.exiting == id(self) and outermost_frame() is self._program:
            ending.exiting = None


class _Noting:
    """A function that ends the program by SystemExit, which notes whether the status says that something failed."""

    def __init__(self, leave):
        self._leave = leave

    def __call__(self, *arguments, **named):
        try:
            self._leave(*arguments, **named)
        except SystemExit as error:
            if threading.current_thread() is threading.main_thread():
                self._note(error)
            raise

    @staticmethod
    def _note(error):
        _calls.Ending.exiting = None
        if error.code not in (None, 0):
            error.slipway_exit = _Exit()
            _calls.Ending.exiting = id(error.slipway_exit)

    def __repr__(self):
        return repr(self._leave)  # exit without parentheses shows how to use it


def _watch_for_failure():
    """An uncaught exception comes by sys.excepthook. SystemExit does not, so what raises it is listened to as well."""
    hook = sys.excepthook

    def remembering_hook(kind, error, traceback):
        _calls.Ending.crashed = not hasattr(sys, "ps1")  # a program typed in goes on
        hook(kind, error, traceback)

    sys.excepthook, sys.exit = remembering_hook, _Noting(sys.exit)
    for name in ("exit", "quit"):
        if hasattr(builtins, name):  # not with python3 -S
            setattr(builtins, name, _Noting(getattr(builtins, name)))
