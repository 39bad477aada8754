"""The life of a program in the job: init, and an end that never waits for other ranks after a failure."""

import atexit
import json
import sys

from slipway import _calls


class _Watchers:
    """What must hear of a failure is put in place once."""

    placed = False


def init(config=None):
    """Joins the job. `config` is a dict or JSON like SLIPWAY_CONFIG, or None to read that variable. Collective.

    The program leaves the job by itself when it ends, unless an exception or sys.exit(not 0) ended it: then the process
    ends at once, and the launcher ends the others.
    """
    text = json.dumps(config) if isinstance(config, dict) else config
    _calls.call("slipway_init", None if text is None else text.encode())
    if not _Watchers.placed:
        _Watchers.placed = True
        _watch_for_failure()
        atexit.register(_leave)


def finalize():
    """Waits for what is in flight and leaves the job. Collective."""
    _calls.call("slipway_finalize")
    for forget in _calls.at_finalize:
        forget()


def initialized():
    return _calls.ask("slipway_rank") >= 0


def rank():
    """This rank in the job, 0-based; -1 before init."""
    return _calls.ask("slipway_rank")


def size():
    """Ranks in the job; -1 before init."""
    return _calls.ask("slipway_size")


def local_rank():
    """This rank among those on the same node; -1 before init."""
    return _calls.ask("slipway_local_rank")


def _leave():
    if initialized() and not _calls.Ending.failed:
        finalize()


def _watch_for_failure():
    """An uncaught exception comes by sys.excepthook; sys.exit does not, so it is listened to as well."""
    hook, leave = sys.excepthook, sys.exit

    def remembering_hook(kind, error, traceback):
        _calls.Ending.failed = True
        hook(kind, error, traceback)

    def remembering_exit(status=None):
        _calls.Ending.failed = status not in (None, 0)
        leave(status)

    sys.excepthook, sys.exit = remembering_hook, remembering_exit
