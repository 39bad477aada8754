"""What can go wrong: one exception for each slipway_status, all of them SlipwayError."""


class SlipwayError(RuntimeError):
    """A call failed. `status` is the slipway_status, or None for what slipway.h has no status for."""

    status = None


class ArgumentError(SlipwayError, ValueError):
    """Something handed over is not what the call can take; the message says what and why."""

    status = 1


class StateError(SlipwayError):
    """Before init, after finalize, an unknown team, one registered twice, gradients touched while in flight."""

    status = 2


class MpiError(SlipwayError):
    """MPI reported an error. End the process."""

    status = 3


class MismatchError(SlipwayError):
    """Ranks disagree about tensors, sizes, replicas or the order of calls; the message names them."""

    status = 4


class FileError(SlipwayError):
    """A file of the run folder cannot be read or written."""

    status = 5


class DeviceMemoryError(SlipwayError):
    """GPU memory where it cannot be: a parameter server, arrays of several devices in one call."""

    status = 6


class OutOfMemoryError(SlipwayError, MemoryError):
    status = 7


class InternalError(SlipwayError):
    status = 8


class StalledError(SlipwayError):
    """A rank is dead or did not come in time; the message names rank and host. End the process."""

    status = 9


class NotFiniteError(SlipwayError):
    """A gradient holds NaN or infinity; the message names tensor and rank."""

    status = 10


class DeviceError(SlipwayError):
    """The driver of a GPU reported an error; the message has its name. End the process."""

    status = 11


class LibraryError(SlipwayError, ImportError):
    """libslipway.so cannot be found or does not fit this package; the message lists what was tried."""


class NotSupportedError(SlipwayError, NotImplementedError):
    """Something that another library has and this one does not; the message says what to use instead."""


class NotSupportedModuleError(NotSupportedError, ImportError):
    """The same, for a module: code that tries one import after the other goes on."""


BY_STATUS = {kind.status: kind for kind in (
    ArgumentError, StateError, MpiError, MismatchError, FileError, DeviceMemoryError, OutOfMemoryError, InternalError,
    StalledError, NotFiniteError, DeviceError)}


def of_status(status, message):
    """The exception for what a function of the library returned."""
    error = BY_STATUS.get(status, SlipwayError)(message)
    error.status = status
    return error
