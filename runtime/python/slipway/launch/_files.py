"""Files that hold pickles: written whole or not at all, and read only if no other user can have written them."""

import contextlib
import os
import pathlib
import stat

from slipway.launch import errors


def _write_new(path, parts):
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        for part in parts:
            out.write(part)
        out.flush()
        os.fsync(out.fileno())


def write(path, *parts):
    """Durably, by one rename; mode 0600. Errors: OSError; then the file is as it was."""
    path = pathlib.Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write_new(temporary, parts)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _why_not_own(path):
    found = os.stat(path)
    if found.st_uid not in (os.geteuid(), 0):
        return f"it belongs to user {found.st_uid}"
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
        return "other users can write to it"
    return ""


def require_own(path):
    """ResultError when another user could have written a file, or replaced it: a pickle runs code when it is read."""
    path = pathlib.Path(path)
    for each in (path, path.parent):
        why = _why_not_own(each)
        if why:
            raise errors.ResultError(f"'{path}' is not read, because reading a pickle runs code: of '{each}', {why}",
                                     "copy the file to a folder of your own if you trust it")
