"""The result of one rank: `result-00000.pickle` in the outputs of its run or trial.

A line of JSON, then the pickled value or exception. What cannot be unpickled still has its traceback as text.
"""

import hashlib
import json
import os
import pathlib
import time
import traceback

from slipway.launch import _files, _pickles, errors

# How long a file may take to appear on a shared file system after Slipway knows that the job has ended.
_PATIENCE_S = 10
_PAUSE_S = 0.2


def path_in(outputs, rank):
    return pathlib.Path(outputs) / f"result-{rank:05}.pickle"


def _write(outputs, place, outcome, payload=b"", **more):
    header = {"schema": "slipway.result/1", "attempt": place["attempt"], "rank": place["rank"], "outcome": outcome,
              "bytes": len(payload), "sha256": hashlib.sha256(payload).hexdigest(), **more}
    pathlib.Path(outputs).mkdir(parents=True, exist_ok=True)
    _files.write(path_in(outputs, place["rank"]), json.dumps(header).encode() + b"\n", payload)


def write_value(outputs, place, value):
    """Errors: NotPicklableError."""
    _write(outputs, place, "value", _pickles.dump(value, "the result"))


def _dumped(error):
    """An exception that comes back as what it is; nothing when it does not."""
    try:
        data = _pickles.dump(error, "the exception")
        return data if type(_pickles.load(data)) is type(error) else b""
    except Exception:  # its class decides what is raised
        return b""


def _without_own_frames(trace):
    """The traceback from the first frame that is not of this package."""
    own = os.path.dirname(os.path.abspath(__file__))
    while trace is not None and os.path.dirname(os.path.abspath(trace.tb_frame.f_code.co_filename)) == own:
        trace = trace.tb_next
    return trace


def write_exception(outputs, place, error):
    """SystemExit and the like would end the caller, so they travel as text."""
    trace = _without_own_frames(error.__traceback__)
    text = "".join(traceback.format_exception(type(error), error, trace))
    data = _dumped(error) if isinstance(error, Exception) else b""
    _write(outputs, place, "exception", data, type=type(error).__qualname__, message=str(error), traceback=text)


def write_cancelled(outputs, place):
    _write(outputs, place, "cancelled")


class Result:
    """The result of a rank, as it was written."""

    def __init__(self, path, header, payload):
        self.path, self.header, self.payload = path, header, payload
        self.outcome = header["outcome"]

    def _rebuild(self):
        try:
            return _pickles.load(self.payload)
        except Exception as error:  # a class of the value decides what is raised
            raise errors.ResultError(
                f"the result '{self.path}' cannot be rebuilt here: {type(error).__name__}: {error}",
                "import here what the job imports, then ask again") from error

    def exception(self):
        """The exception with its remote traceback as cause; nothing for a value."""
        if self.outcome != "exception":
            return None
        error = self._rebuild() if self.payload else errors.RemoteError(
            f"{self.header['type']}: {self.header['message']}", "read the traceback above, or job.logs()",
            self.header["type"])
        error.__cause__ = errors.RemoteTraceback(self.header["traceback"])
        return error

    def value(self):
        return self._rebuild()


def _read(path):
    _files.require_own(path)
    with open(path, "rb") as file:
        line, payload = file.readline(), file.read()
    try:
        header = json.loads(line)
        is_whole = header["bytes"] == len(payload) and header["sha256"] == hashlib.sha256(payload).hexdigest()
    except (ValueError, KeyError, TypeError):
        is_whole = False
    if not is_whole:
        raise errors.ResultError(f"the result '{path}' is damaged", "copy it again, or run the job again")
    return Result(path, header, payload)


def read(outputs, rank, attempt=None, patience_s=0.0):
    """The result of a rank, of this attempt where one is named; nothing when there is none. Errors: ResultError."""
    path, deadline = path_in(outputs, rank), time.monotonic() + patience_s
    while not path.exists():
        if time.monotonic() >= deadline:
            return None
        time.sleep(_PAUSE_S)
    result = _read(path)
    return result if attempt in (None, result.header["attempt"]) else None


def copy(source, target, place):
    """Writes a rank's result, if there is one, into another folder, as that of this attempt. Returns whether it did."""
    result = read(source, place["rank"])
    if result is None or result.outcome != "value":
        return False
    _write(target, place, "value", result.payload)
    return True


def read_expected(outputs, rank, attempt):
    """The same of a job that has succeeded, so there must be one."""
    result = read(outputs, rank, attempt, _PATIENCE_S)
    if result is None:
        raise errors.ResultError(f"rank {rank} has no result '{path_in(outputs, rank)}'",
                                 "look for the outputs of the run with: slipway stage out RUN --dry-run")
    return result
