"""What a run leaves behind and listens to: metrics, checkpoints, the wish to stop."""

import contextlib
import ctypes
import json
import operator

from slipway import _calls
from slipway.errors import ArgumentError

PATH_BYTES = 4096


def report(step, metrics=None, value=None, epoch=None, **more):
    """Records metrics of a step: report(step, "loss", 0.5), report(step, {"loss": 0.5}), report(step, loss=0.5). Local;
    written by rank 0 only.

    Errors: ArgumentError: a step that is no integer, or a metric that is no number; nothing is recorded then.
    """
    if isinstance(metrics, str):
        if value is None:
            raise ArgumentError(f"the metric '{metrics}' has no value")
        more[metrics] = value
    elif hasattr(metrics, "items"):
        more = {**{str(name): number for name, number in metrics.items()}, **more}
    elif metrics is not None:
        raise ArgumentError(f"metrics is {metrics!r}: give a name and a value, or a dict")
    step, numbers = _integer("step", step), {name: _number(f"the metric '{name}'", each) for name, each in more.items()}
    epoch = None if epoch is None else _number("epoch", epoch)
    for name, number in numbers.items():
        if epoch is None:
            _calls.call("slipway_report", step, name.encode(), number)
        else:
            _calls.call("slipway_report_epoch", step, epoch, name.encode(), number)


def _integer(what, value):
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentError(f"{what} is {value!r}, not an integer") from None


def _number(what, value):
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):  # the last is torch's, of several numbers
        raise ArgumentError(f"{what} is {value!r}, not a number") from None


_EVENTS = {"point": 0, "start": 1, "stop": 2}


def mllog(key, value=None, event="point", **metadata):
    """Adds a line to the run's MLPerf log, where the spec asks for one: mllog("epoch_start", event="start", epoch_num=1).
    `event` is "point", "start" or "stop". Local; written by rank 0 only."""
    if event not in _EVENTS:
        raise ArgumentError(f"the event '{event}' is none of {', '.join(_EVENTS)}")
    _calls.call("slipway_mllog", _EVENTS[event], key.encode(), json.dumps(value).encode(), json.dumps(metadata).encode())


def stop_requested():
    """True, on all ranks at the same call, when the launcher asks to checkpoint and end. Collective; once a step."""
    return bool(_calls.int_from("slipway_stop_requested"))


@contextlib.contextmanager
def waiting_for_input():
    """While the program waits for data; shown by the trace. Local."""
    _calls.call("slipway_input_begin")
    try:
        yield
    finally:
        _calls.call("slipway_input_end")


def _path_from(name, *arguments):
    path = ctypes.create_string_buffer(PATH_BYTES)
    _calls.call(name, *arguments, path, PATH_BYTES)
    return path.value.decode()


def checkpoint_begin(step):
    """The private folder that the ranks write this step's checkpoint into. Collective."""
    return _path_from("slipway_checkpoint_begin", step)


def checkpoint_commit(step, epoch):
    """Adds sizes and checksums to what was written, and publishes it. Collective."""
    _calls.call("slipway_checkpoint_commit", step, float(epoch))


@contextlib.contextmanager
def checkpoint(step, epoch):
    """`with checkpoint(step, epoch) as folder:` write, and it is published unless an exception came. Collective."""
    yield checkpoint_begin(step)
    checkpoint_commit(step, epoch)


def resume_from():
    """The verified folder to continue from, or None to start fresh; the same on every rank. Collective."""
    return _path_from("slipway_resume_from") or None
