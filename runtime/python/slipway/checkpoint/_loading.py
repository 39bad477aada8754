"""slipway.checkpoint.load: finds the checkpoint, on rank 0, and puts its state in place, on all ranks."""

import os
import pathlib
import pickle
import sys

from slipway import _files
from slipway.checkpoint import _folder, _ranks, _saving, _shares, _state
from slipway.errors import FileError


class Loaded:
    """Where a training continues."""

    def __init__(self, folder, manifest, extra):
        self.folder, self.extra = folder, extra
        self.step, self.epoch, self.world_size = manifest["step"], manifest["epoch"], manifest["world_size"]
        self.metrics = manifest.get("metrics", {})

    def __repr__(self):
        return f"Loaded(step={self.step}, epoch={self.epoch}, folder={str(self.folder)!r})"


def _warn(text):
    print(f"slipway: warning: {text}", file=sys.stderr)


def _say_that_there_is_none(folder):
    """The program starts fresh: as it should at its first start, but not where the folder is mistyped."""
    print(f"slipway: there is no checkpoint in '{folder}': the program starts fresh", file=sys.stderr)


def _find_in(folder):
    """Of a folder that the program names: that of all checkpoints, or one of them."""
    folder = pathlib.Path(folder)
    if (folder / _folder.MANIFEST).exists():
        return _folder.require_valid(folder)
    found = _folder.newest(folder, _warn)
    if found is None and _folder.step_of(folder.name) is not None:
        raise FileError(f"'{folder}' is no checkpoint: it has no '{_folder.MANIFEST}'\n  next: name one that is in "
                        f"'{folder.parent}', or that folder for the newest one")
    if found is None:
        _say_that_there_is_none(folder)
    return found


def _find(folder):
    """The checkpoint to continue from, verified, or None. Reads all of it."""
    named = os.environ.get("SLIPWAY_RESUME_FROM")
    if folder is None and named is not None:
        return _folder.require_valid(named) if named else None
    if folder:
        return _find_in(folder)
    folder = os.environ.get("SLIPWAY_CHECKPOINT_DIR")
    return _folder.newest(folder, _warn) if folder else None


def _found_by_first_rank(folder):
    """The same on all ranks, also its error. Collective."""
    found = error = None
    if _ranks.rank() == 0:
        try:
            found = _find(folder)
        except (FileError, OSError) as reason:
            error = str(reason)
    found, error = _ranks.exchange((found, error))[0]
    if error:
        raise FileError(error)
    return found


def _unpickled(path):
    """Errors: FileError: another user could have written it, and reading a pickle runs code."""
    for each in (path, path.parent):
        why = _files.why_not_own(each)
        if why:
            raise FileError(f"'{path}' is not read, because reading a pickle runs code: of '{each}', {why}\n  next: copy the "
                            "checkpoint to a folder of your own if you trust it")
    return pickle.loads(path.read_bytes())


def _own_state(folder, manifest):
    """What this rank stored. A rank that was not there before has none of its own."""
    path = folder / _saving.own_file(_ranks.rank())
    return _unpickled(path) if _ranks.rank() < manifest["world_size"] else None


def load(parts, folder):
    _saving.settle()
    _saving.load_library()
    found = _found_by_first_rank(folder)
    if found is None:
        return None
    if not (found / _saving.SHARED).exists():
        raise FileError(f"the checkpoint '{found}' is another program's: it has no '{_saving.SHARED}'\n  next: read it with "
                        "slipway.resume_from(), or start a new run")
    manifest = _folder.manifest_of(pathlib.Path(found))
    stream = _shares.Stream(found, manifest["world_size"])
    try:
        shared = _state.fill(_unpickled(found / _saving.SHARED), stream)
    finally:
        stream.close()
    _state.restore(parts, shared, _own_state(found, manifest), found)
    return Loaded(found, manifest, shared["extra"])
