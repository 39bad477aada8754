"""Files that hold pickles: read only if no other user can have written them."""

import pathlib

from slipway._files import why_not_own, write
from slipway.launch import errors

__all__ = ["require_own", "write"]


def require_own(path):
    """ResultError when another user could have written a file, or replaced it: a pickle runs code when it is read."""
    path = pathlib.Path(path)
    for each in (path, path.parent):
        why = why_not_own(each)
        if why:
            raise errors.ResultError(f"'{path}' is not read, because reading a pickle runs code: of '{each}', {why}",
                                     "copy the file to a folder of your own if you trust it")
