"""Finds the program `slipway` for the parts of this package that start it."""

import os
import pathlib
import shutil

NEXT_STEP = "put it on the PATH, or name it in SLIPWAY_PROGRAM"


def find():
    """Where `slipway` is: as $SLIPWAY_PROGRAM says, in the installation of this package, or on the PATH; else None."""
    chosen = os.environ.get("SLIPWAY_PROGRAM")
    if chosen:
        return chosen
    beside = pathlib.Path(__file__).absolute().parents[4] / "bin" / "slipway"  # of lib/slipway/python/slipway
    return str(beside) if beside.exists() else shutil.which("slipway")
