"""The hook of functions that can be continued: on a signal their state becomes a checkpoint, and the process ends with
status 75, which means "saved, start me again".

Several ranks write into one folder. When each rank has written its state, or has returned, the lowest one that has not
returned publishes the folder. A rank that has returned does not run again: its result is part of the checkpoint.
"""

import datetime
import inspect
import json
import os
import pathlib
import shutil
import signal
import sys
import time
import traceback

from slipway.checkpoint import _folder
from slipway.launch import _files, _pickles, _results

SIGNAL = "USR1"
SAVED = 75
_PATIENCE_S = 8.0
_FOR_THE_END_S = 1.0
_PAUSE_S = 0.05


def can_checkpoint(function):
    return callable(getattr(function, "checkpoint", None))


def _state_of(function, arguments, keywords):
    """What continues the call. `checkpoint` may return None (the object itself), another callable, or what submitit
    calls a delayed submission: something with `function`, `args` and `kwargs`."""
    takes_arguments = bool(inspect.signature(function.checkpoint).parameters)
    answer = function.checkpoint(*arguments, **keywords) if takes_arguments else function.checkpoint()
    if answer is None:
        return function, tuple(arguments), keywords
    if hasattr(answer, "function") and hasattr(answer, "args"):
        return answer.function, tuple(answer.args), dict(getattr(answer, "kwargs", {}))
    return answer, tuple(arguments), keywords


def _file_of(folder, rank):
    return pathlib.Path(folder) / f"call-{rank:05}.pickle"


def load(place):
    """Function, arguments and keyword arguments to continue with; nothing at a first start."""
    if not place["resume_from"]:
        return None
    path = _file_of(place["resume_from"], place["rank"])
    if not path.exists():
        return None
    _files.require_own(path)
    return _pickles.load(path.read_bytes())


def has_returned(place):
    """Whether this rank has returned in an earlier attempt; its result is then that of this attempt, too."""
    if not place["resume_from"]:
        return False
    return _results.copy(place["resume_from"], place["outputs"], place)


def _deadline(place):
    """When this process must have ended, on the clock of time.time(): as the stop file says."""
    try:
        told = json.loads(pathlib.Path(place["stop_file"]).read_text())["deadline"]
        until = datetime.datetime.strptime(told, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
        return until.timestamp() - _FOR_THE_END_S
    except (OSError, ValueError, KeyError, TypeError):
        return time.time() + _PATIENCE_S


def _wait_for(is_there, deadline):
    while not is_there():
        if time.time() >= deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


def _step_after(place):
    before = _folder.step_of(pathlib.Path(place["resume_from"]).name) if place["resume_from"] else None
    return 0 if before is None else before + 1


def _returned(place):
    """The ranks whose function has returned in this attempt."""
    return [rank for rank in range(place["world_size"])
            if (result := _results.read(place["outputs"], rank, place["attempt"])) and result.outcome == "value"]


def _missing(prepared, place):
    """The ranks that have neither stored their state nor returned."""
    without = [rank for rank in range(place["world_size"]) if not _file_of(prepared, rank).exists()]
    return sorted(set(without) - set(_returned(place))) if without else []


def _files_of_manifest(folder):
    manifest = _folder.manifest_of(folder) if folder else None
    return manifest["files"] if manifest else None


def _publish(prepared, place, step, begun):
    """Adds the manifest and renames. A state that is the one of the start is no progress, so nothing is published:
    the launcher then ends a job that would otherwise be continued for ever."""
    for rank in _returned(place):
        _results.copy(place["outputs"], prepared, {**place, "rank": rank})
    files = [_folder.entry_of(path) for path in sorted(prepared.glob("*.pickle"))]
    if files == _files_of_manifest(place["resume_from"]):
        print("slipway: the state is the one that this attempt began with: no checkpoint is written", file=sys.stderr)
        shutil.rmtree(prepared)
        return
    _folder.publish(prepared, {"step": step, "epoch": 0.0, "world_size": place["world_size"],
                               "spec_hash": place["spec_hash"], "seconds": time.monotonic() - begun, "files": files})
    _folder.prune(prepared.parent, _folder.Keep.of(place["keep"]))


def save(place, call):
    """Stores the state of this rank; one rank publishes the states of all. `call`: function, arguments, keywords.

    Errors: NotPicklableError, OSError, and what `checkpoint` raises.
    """
    begun, step, deadline = time.monotonic(), _step_after(place), _deadline(place)
    checkpoints = pathlib.Path(place["checkpoints"])
    prepared = _folder.prepared_of(checkpoints, step, f"attempt-{place['attempt']}")
    state = _pickles.dump(_state_of(*call), "the state of the function")
    prepared.mkdir(parents=True, exist_ok=True)
    _files.write(_file_of(prepared, place["rank"]), state)
    is_complete = _wait_for(lambda: not prepared.exists() or not _missing(prepared, place), deadline)
    if not prepared.exists():
        return  # another rank has published it
    if not is_complete:
        print(f"slipway: no checkpoint: ranks {_missing(prepared, place)} have not stored their state in time",
              file=sys.stderr)
    elif place["rank"] == min(set(range(place["world_size"])) - set(_returned(place))):
        _publish(prepared, place, step, begun)
    else:
        _wait_for(lambda: not prepared.exists(), deadline)


def save_on_signal(place, call, failed):
    """From now on the signal saves and ends this process. `failed(error)` records an exception of `checkpoint`."""
    def handle(*unused):
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        status = SAVED
        try:
            save(place, call)
        except Exception as error:  # of the user's checkpoint, of pickle, of the disk
            traceback.print_exc()
            failed(error)
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)  # a function may catch SystemExit

    signal.signal(signal.SIGUSR1, handle)
