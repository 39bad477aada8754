"""The folder of a bed: everything it writes is in there."""

import os
import pathlib
import shutil
import tempfile

from bed import plan as plans
from bed.errors import UsageError


def make(wanted):
    """Makes the folder, which must be empty or not there; None: a new temporary one. Slurm knows no quotes, and sockets
    have short paths: throws UsageError when the path does not suit them."""
    state = wanted or pathlib.Path(tempfile.gettempdir()).absolute() / "slurm-bed-12345678"
    if len(os.fsencode(state)) > plans.MAX_STATE_PATH:
        raise UsageError(f"{state} is longer than {plans.MAX_STATE_PATH} bytes, too long for the sockets inside")
    if not all(c.isalnum() or c in "/._-+" for c in str(state)):
        raise UsageError(f"{state}: Slurm needs a path of letters, digits and / . _ - +")
    if wanted is None:
        state = pathlib.Path(tempfile.mkdtemp(prefix="slurm-bed-"))
        state.chmod(0o755)
        return state
    if state.exists() and (not state.is_dir() or any(state.iterdir())):
        raise UsageError(f"{state} is there and not empty; next: testbed down --state {state}, or choose another")
    state.mkdir(mode=0o755, parents=True, exist_ok=True)
    return state


def remove_dead(state):
    """Removes the folder that a killed supervisor left behind; False when it is no bed's folder."""
    if not (state / "control").is_socket():
        return False
    shutil.rmtree(state)
    return True
