"""The folder of a call, beside the run folders: `.call-NAME-*` with the function, its arguments and a spec.

A job reads it each time that it starts. It is not needed for the result, which lies in the run folder. The manager
removes it when the job has succeeded.
"""

import contextlib
import json
import os
import pathlib
import platform
import shutil
import struct
import sys
import tempfile

from slipway.launch import _files, _pickles

_OFFSET = struct.Struct("<Q")


def runs_folder(runs):
    """Where run folders are, as `slipway` has it."""
    return pathlib.Path(runs if runs is not None else os.environ.get("SLIPWAY_RUNS") or "runs").absolute()


@contextlib.contextmanager
def new_folder(name, runs):
    """A new folder that only its owner can read; it goes again when an exception comes. After Ctrl-C it stays: the run
    may have been submitted."""
    place = runs_folder(runs)
    place.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f".call-{name}-", dir=place))
    try:
        yield folder
    except Exception:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _search_path():
    """Where this process imports from: a job imports from the same places."""
    return [os.path.abspath(each or ".") for each in sys.path]


def write(folder, function, calls):
    """Writes a function and the arguments of its calls, each a tuple. Errors: NotPicklableError."""
    _files.write(folder / "function.pickle", _pickles.dump(function, "the function"))
    offsets, parts, end = [0], [], 0
    for number, arguments in enumerate(calls):
        parts.append(_pickles.dump(arguments, f"the arguments of call {number}" if len(calls) > 1 else "the arguments"))
        end += len(parts[-1])
        offsets.append(end)
    _files.write(folder / "arguments.pickle", *parts)
    _files.write(folder / "arguments.index", *(_OFFSET.pack(offset) for offset in offsets))
    document = {"schema": "slipway.call/1", "function": name_of(function), "calls": len(calls),
                "python": platform.python_version(), "pickled_by": _pickles.pickler().__name__,
                "main": _pickles.main_program() if _pickles.pickler().__name__ == "pickle" else None,
                "path": _search_path()}
    _files.write(folder / "call.json", json.dumps(document, indent=2).encode())


def name_of(function):
    """The name of a function, or of the class of another callable."""
    inner = getattr(function, "func", function)  # of functools.partial
    return getattr(inner, "__name__", None) or type(inner).__name__


def prepare(folder):
    """Lets this process import what the caller could import. To be called before `read`."""
    _files.require_own(folder / "call.json")
    document = json.loads((folder / "call.json").read_text())
    known = set(document["path"])
    sys.path[:] = document["path"] + [each for each in sys.path if each not in known]
    if document["main"] is not None:
        _pickles.import_main(document["main"])


def read(folder, number):
    """The function, and the arguments of one call."""
    for name in ("function.pickle", "arguments.pickle", "arguments.index"):
        _files.require_own(folder / name)
    with open(folder / "arguments.index", "rb") as index:
        index.seek(_OFFSET.size * number)
        begin, end = (_OFFSET.unpack(index.read(_OFFSET.size))[0] for _ in range(2))
    with open(folder / "arguments.pickle", "rb") as file:
        file.seek(begin)
        arguments = _pickles.load(file.read(end - begin))
    return _pickles.load((folder / "function.pickle").read_bytes()), arguments
