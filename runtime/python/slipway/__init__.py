"""Gradient exchange of Slipway for Python, over ctypes: with NumPy alone, with torch, with neither compiled in.

    import slipway
    slipway.init()
    slipway.broadcast(weights)
    for step in range(steps):
        gradients = ...
        if slipway.gradients(gradients): apply them
        slipway.report(step, loss=slipway.average(loss))

For batches of data see slipway.data, for PyTorch slipway.torch; for the trials of an ensemble in a loop of one's own
slipway.study; to start jobs and experiments from Python slipway.launch; for scripts written for Cray's plugin or
Horovod slipway.compat.
"""

import importlib

from slipway import checkpoint
from slipway._job import finalize, init, initialized, local_rank, rank, size
from slipway._library import VERSION as __version__
from slipway.collectives import (ALL, Group, allgather, allreduce, alltoall, average, barrier, broadcast, check_match,
                                 group_create, reduce_scatter)
from slipway.errors import (ArgumentError, DeviceError, DeviceMemoryError, FileError, InternalError, LibraryError,
                            MismatchError, MpiError, NotFiniteError, NotSupportedError, NotSupportedModuleError,
                            OutOfMemoryError, SlipwayError, StalledError, StateError)
from slipway.memory import alloc, alloc_like
from slipway.objects import allgather_object, broadcast_object
from slipway.records import (checkpoint_begin, checkpoint_commit, mllog, report, resume_from, stop_requested,
                             waiting_for_input)
from slipway.servers import ParameterServer
from slipway.study import Study
from slipway.teams import Team, gradients

__all__ = [
    "ALL", "ArgumentError", "DeviceError", "DeviceMemoryError", "FileError", "Group", "InternalError", "LibraryError",
    "MismatchError", "MpiError", "NotFiniteError", "NotSupportedError", "NotSupportedModuleError", "OutOfMemoryError",
    "ParameterServer", "SlipwayError", "StalledError", "StateError", "Study", "Team", "allgather", "allgather_object",
    "alloc", "alloc_like", "allreduce", "alltoall", "average", "barrier", "broadcast", "broadcast_object",
    "check_match", "checkpoint", "checkpoint_begin", "checkpoint_commit", "finalize", "gradients", "group_create",
    "init", "initialized", "local_rank", "mllog", "rank", "reduce_scatter", "report", "resume_from", "size",
    "stop_requested", "waiting_for_input"]


def __getattr__(name):
    """These are imported when they are asked for: a program may have no torch, and no data to read."""
    if name in ("compat", "data", "launch", "torch"):
        return importlib.import_module(f"slipway.{name}")
    raise AttributeError(f"module 'slipway' has no attribute {name!r}")
