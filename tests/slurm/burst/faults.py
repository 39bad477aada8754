"""Faults on order: STORE/faults holds one a line, `WHAT PATTERN`, for files whose name the pattern fits.

    tear       the second half of the copy is zeros, as after a lost write
    cut        the copy ends in its middle
    drop       there is no copy
    refuse     the copying fails, in either direction"""

import fnmatch

from store import StoreError


class Faults:
    def __init__(self, folder):
        path = folder / "faults"
        self._lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def _ordered(self, what, path):
        return any(fault == what and fnmatch.fnmatch(path.name, pattern) for fault, pattern in self._lines)

    def check(self, source):
        """Before a file is copied; throws when that is to fail."""
        if self._ordered("refuse", source):
            raise StoreError(f"{source}: the mover gave up")

    def spoil(self, copy):
        """After it was copied."""
        half = copy.stat().st_size // 2
        if self._ordered("tear", copy):
            with open(copy, "r+b") as file:
                file.seek(half)
                file.write(bytes(copy.stat().st_size - half))
        if self._ordered("cut", copy):
            with open(copy, "r+b") as file:
                file.truncate(half)
        if self._ordered("drop", copy):
            copy.unlink()
