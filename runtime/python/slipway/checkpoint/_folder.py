"""Folders of checkpoints, as core/checkpoint.h describes them: prepared under another name, published by one rename."""

import ctypes
import json
import math
import os
import pathlib
import shutil

from slipway import _crc32c, _files
from slipway.errors import ArgumentError, FileError

SCHEMA = "slipway.checkpoint/1"
MANIFEST = "manifest.json"
_UNFINISHED = ".tmp-"
_AT_WORKING_DIRECTORY = -100
_EXCHANGE = 2


def name_of(step):
    return f"step-{step:012}"


def step_of(name):
    """The step of "step-000000001234", or None."""
    number = name[len("step-"):]
    return int(number) if name.startswith("step-") and number.isdigit() else None


def prepared_of(checkpoints, step, token):
    """Where the ranks write before a checkpoint is published. `token`: no other attempt has the same."""
    return pathlib.Path(checkpoints) / f"{_UNFINISHED}{name_of(step)}-{token}"


def entry_of(path):
    """A file of a checkpoint as its manifest names it."""
    size, crc = _crc32c.of_file(path)
    return {"path": path.name, "bytes": size, "crc32c": crc}


def _require_own_version(folder):
    """Errors: FileError when another version of Slipway wrote the manifest. None for damage."""
    try:
        schema = json.loads((pathlib.Path(folder) / MANIFEST).read_text())["schema"]
        other = schema != SCHEMA and schema.startswith(SCHEMA[:SCHEMA.index("/") + 1])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    if other:
        raise FileError(f"the checkpoint '{folder}' is of another version of Slipway: its schema is '{schema}', expected "
                        f"'{SCHEMA}'\n  next: use the version of Slipway that wrote it")


def manifest_of(folder):
    """The manifest, or None when it is missing or torn."""
    try:
        manifest = json.loads((pathlib.Path(folder) / MANIFEST).read_text())
        whole = manifest["schema"] == SCHEMA and all({"path", "bytes", "crc32c"} <= set(file) for file in manifest["files"])
        return manifest if whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def published(checkpoints):
    """All folders that bear a checkpoint's name, oldest first, valid or not."""
    try:
        found = [each for each in pathlib.Path(checkpoints).iterdir() if step_of(each.name) is not None]
    except FileNotFoundError:
        return []
    return sorted(found, key=lambda each: step_of(each.name))


def damage_of(folder):
    """The reason why a checkpoint cannot be used; empty for a valid one. Reads all of its files."""
    manifest = manifest_of(folder)
    if manifest is None:
        return f"'{MANIFEST}' is missing or damaged"
    for file in manifest["files"]:
        try:
            if _crc32c.of_file(pathlib.Path(folder) / file["path"]) != (file["bytes"], file["crc32c"]):
                return f"'{file['path']}' is not as it was written"
        except OSError as error:
            return f"'{file['path']}' cannot be read: {error.strerror}"
    return ""


def newest(checkpoints, warn):
    """The newest valid checkpoint, or None. `warn` is called with a text for each newer one that is damaged.

    Errors: FileError for a newer one of another version of Slipway."""
    for folder in reversed(published(checkpoints)):
        _require_own_version(folder)
        damage = damage_of(folder)
        if not damage:
            return folder
        warn(f"the checkpoint '{folder}' is damaged: {damage}; an older one is taken")
    return None


def require_valid(folder):
    _require_own_version(folder)
    damage = damage_of(folder)
    if damage:
        raise FileError(f"the checkpoint '{folder}' is damaged: {damage}\n  next: move it away and start again; an older "
                        "one is continued from")
    return pathlib.Path(folder)


def _exchange(prepared, place):
    """In one step, so that a sudden end leaves one of the two. False where the file system or the C library cannot."""
    function = getattr(ctypes.CDLL(None), "renameat2", None)
    return function is not None and function(_AT_WORKING_DIRECTORY, os.fsencode(prepared), _AT_WORKING_DIRECTORY,
                                             os.fsencode(place), _EXCHANGE) == 0


def _put_in_place(prepared, place):
    """Errors: OSError."""
    if not place.exists():
        os.rename(prepared, place)
    elif _exchange(prepared, place):
        shutil.rmtree(prepared, ignore_errors=True)
    else:
        old = place.with_name(f"{_UNFINISHED}old-{place.name}")
        shutil.rmtree(old, ignore_errors=True)
        os.rename(place, old)
        os.rename(prepared, place)
        shutil.rmtree(old, ignore_errors=True)


def publish(prepared, manifest):
    """Adds the manifest and renames; returns the folder. A checkpoint of the same step is replaced. Errors: OSError."""
    _files.write(prepared / MANIFEST, json.dumps({"schema": SCHEMA, **manifest}, indent=2).encode() + b"\n")
    place = prepared.parent / name_of(manifest["step"])
    _put_in_place(prepared, place)
    _files.sync_folder(place.parent)
    return place


def remove_unfinished(checkpoints):
    for each in pathlib.Path(checkpoints).glob(_UNFINISHED + "*"):
        shutil.rmtree(each, ignore_errors=True)


class Keep:
    """Which checkpoints stay: the `last` newest, and with `metric` the one with its best value."""

    def __init__(self, last=2, metric=None, goal="minimize"):
        self.last, self.metric, self.goal = last, metric, goal

    @classmethod
    def of(cls, wanted):
        """Of 2, {"last": 2} or {"last": 2, "best": {"metric": "val_loss", "goal": "minimize"}}."""
        wanted = {"last": wanted} if isinstance(wanted, int) else wanted
        if not isinstance(wanted, dict) or set(wanted) - {"last", "best"}:
            raise ArgumentError(f"keep is {wanted!r}; give a number, or {{'last': 2, 'best': {{'metric': NAME, 'goal': "
                                "'minimize'}}")
        last = wanted.get("last", 2)
        if not isinstance(last, int) or isinstance(last, bool) or last < 1:
            raise ArgumentError(f"keep.last is {last!r}, not a number from 1")
        return cls(last, *_best_of(wanted.get("best")))

    def best(self, manifests):
        """The folder with the best value of the metric; of equal ones the newest. None: no folder has a value."""
        sign = 1 if self.goal == "minimize" else -1
        values = [(manifest.get("metrics", {}).get(self.metric), folder) for folder, manifest in manifests]
        numbers = [(sign * value, folder) for value, folder in values
                   if isinstance(value, (int, float)) and not math.isnan(value)]
        return min(reversed(numbers), key=lambda each: each[0], default=(None, None))[1]


def _best_of(best):
    """Metric and goal of `keep.best`."""
    if best is None:
        return None, "minimize"
    if not isinstance(best, dict) or not isinstance(best.get("metric"), str) or set(best) - {"metric", "goal"}:
        raise ArgumentError(f"keep.best is {best!r}; give {{'metric': NAME, 'goal': 'minimize'}}")
    goal = best.get("goal", "minimize")
    if goal not in ("minimize", "maximize"):
        raise ArgumentError(f"keep.best.goal is {goal!r}; use 'minimize' or 'maximize'")
    return best["metric"], goal


def _is_whole(folder, manifest):
    """By the sizes of its files: their checksums would cost a reading of all."""
    try:
        return all((folder / file["path"]).stat().st_size == file["bytes"] for file in manifest["files"])
    except OSError:
        return False


def prune(checkpoints, keep):
    """Removes what `keep` does not name. What is not whole among the newest stays, and counts for nothing."""
    manifests = [(folder, manifest) for folder in published(checkpoints)
                 if (manifest := manifest_of(folder)) and _is_whole(folder, manifest)]
    newest_ones = [folder for folder, _ in manifests[-keep.last:]]
    stay = {*newest_ones, keep.best(manifests)}
    for folder in published(checkpoints):
        if folder not in stay and newest_ones and step_of(folder.name) < step_of(newest_ones[0].name):
            shutil.rmtree(folder, ignore_errors=True)
