"""Finds and loads libslipway.so, and knows the prototype of each of its functions.

libslipway is built once for each MPI. The one for the MPI that started this process must be taken: with another, every
rank would believe to be alone.
"""

import ctypes
import os
import pathlib

from slipway.errors import LibraryError

VERSION = "0.1.0"
SONAME = "libslipway.so.0.1"


class Tensor(ctypes.Structure):
    """slipway_tensor"""

    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("ndim", ctypes.c_int),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p)]


_INT, _INT64, _DOUBLE, _SIZE = ctypes.c_int, ctypes.c_int64, ctypes.c_double, ctypes.c_size_t
_TEXT, _MEMORY = ctypes.c_char_p, ctypes.c_void_p
_TENSORS, _COUNTS = ctypes.POINTER(Tensor), ctypes.POINTER(ctypes.c_int64)
_INTS, _DOUBLES = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_double)

# Name -> what it returns, what it takes; in the order of slipway.h.
PROTOTYPES = {
    "slipway_error_message": (_TEXT, []),
    "slipway_version": (_TEXT, []),
    "slipway_init": (_INT, [_TEXT]),
    "slipway_finalize": (_INT, []),
    "slipway_rank": (_INT, []),
    "slipway_size": (_INT, []),
    "slipway_local_rank": (_INT, []),
    "slipway_local_size": (_INT, []),
    "slipway_group_create": (_INT, [_INTS, _INT, _INTS]),
    "slipway_group_create_by_members": (_INT, [_INTS, _INT, _INT, _INTS]),
    "slipway_group_free": (_INT, [_INT]),
    "slipway_group_rank": (_INT, [_INT]),
    "slipway_group_size": (_INT, [_INT]),
    "slipway_alloc": (_INT, [_INT64, ctypes.POINTER(_MEMORY)]),
    "slipway_alloc_on_device": (_INT, [_INT64, _INT, ctypes.POINTER(_MEMORY)]),
    "slipway_adopt": (_INT, [_MEMORY, _INT64, _INT]),
    "slipway_free": (_INT, [_MEMORY]),
    "slipway_torch_lend": (_INT, [_MEMORY, _INT64, _INTS]),
    "slipway_torch_take_back": (_INT, [_MEMORY, _INTS]),
    "slipway_torch_lending": (None, [_INT]),
    "slipway_broadcast": (_INT, [_TENSORS, _INT, _INT, _INT]),
    "slipway_broadcast_on_stream": (_INT, [_TENSORS, _INT, _INT, _INT, _MEMORY]),
    "slipway_allreduce": (_INT, [_MEMORY, _INT64, _INT, _INT, _INT]),
    "slipway_allreduce_on_stream": (_INT, [_MEMORY, _INT64, _INT, _INT, _INT, _MEMORY]),
    "slipway_reduce_scatter": (_INT, [_MEMORY, _MEMORY, _COUNTS, _INT, _INT, _INT]),
    "slipway_reduce_scatter_on_stream": (_INT, [_MEMORY, _MEMORY, _COUNTS, _INT, _INT, _INT, _MEMORY]),
    "slipway_allgather": (_INT, [_MEMORY, _MEMORY, _COUNTS, _INT, _INT]),
    "slipway_allgather_on_stream": (_INT, [_MEMORY, _MEMORY, _COUNTS, _INT, _INT, _MEMORY]),
    "slipway_alltoall": (_INT, [_MEMORY, _COUNTS, _MEMORY, _COUNTS, _INT, _INT]),
    "slipway_alltoall_on_stream": (_INT, [_MEMORY, _COUNTS, _MEMORY, _COUNTS, _INT, _INT, _MEMORY]),
    "slipway_barrier": (_INT, [_INT]),
    "slipway_register": (_INT, [_TEXT, _TENSORS, _INT, _INT64]),
    "slipway_configure_team": (_INT, [_TEXT, _TEXT]),
    "slipway_unregister": (_INT, [_TEXT]),
    "slipway_submit": (_INT, [_TEXT, _INT]),
    "slipway_submit_on_stream": (_INT, [_TEXT, _INT, _MEMORY]),
    "slipway_submit_many_on_stream": (_INT, [_TEXT, _INTS, _INT, _MEMORY]),
    "slipway_submit_from": (_INT, [_TEXT, _INT, _MEMORY]),
    "slipway_submit_at": (_INT, [_TEXT, _INT, _MEMORY]),
    "slipway_wait": (_INT, [_TEXT]),
    "slipway_wait_on_stream": (_INT, [_TEXT, _MEMORY]),
    "slipway_gradients": (_INT, [_TEXT]),
    "slipway_delivered": (_INT, [_TEXT, _INTS]),
    "slipway_gradient_norm": (_INT, [_TEXT, _DOUBLES]),
    "slipway_state_save": (_INT, [_TEXT, _MEMORY, ctypes.POINTER(_SIZE)]),
    "slipway_state_load": (_INT, [_TEXT, _MEMORY, _SIZE]),
    "slipway_server_create": (_INT, [_TEXT, _TENSORS, _INT, _DOUBLE, _INT64]),
    "slipway_server_push": (_INT, [_TEXT, _TENSORS, _INT]),
    "slipway_server_pull": (_INT, [_TEXT]),
    "slipway_server_set_rate": (_INT, [_TEXT, _DOUBLE]),
    "slipway_server_lead": (_INT, [_TEXT, _COUNTS]),
    "slipway_server_free": (_INT, [_TEXT]),
    "slipway_average": (_INT, [_DOUBLES, _INT64]),
    "slipway_check_match": (_INT, [_TENSORS, _INT]),
    "slipway_report": (_INT, [_INT64, _TEXT, _DOUBLE]),
    "slipway_report_epoch": (_INT, [_INT64, _DOUBLE, _TEXT, _DOUBLE]),
    "slipway_mllog": (_INT, [_INT, _TEXT, _TEXT, _TEXT]),
    "slipway_stop_requested": (_INT, [_INTS]),
    "slipway_input_begin": (_INT, []),
    "slipway_input_end": (_INT, []),
    "slipway_checkpoint_begin": (_INT, [_INT64, _TEXT, _SIZE]),
    "slipway_checkpoint_commit": (_INT, [_INT64, _DOUBLE]),
    "slipway_resume_from": (_INT, [_TEXT, _SIZE]),
    "slipway_crc32c": (ctypes.c_uint32, [_MEMORY, _SIZE, ctypes.c_uint32]),
}


def mpi_in_process(maps):
    """The MPI that a program has loaded already, as /proc/self/maps shows it: mpi4py for example."""
    if "/libmpich.so" in maps:
        return "mpich"
    return "openmpi" if "/libmpi.so" in maps else None


def mpi_of_launcher(environment):
    """The MPI whose launcher started this process, or None: nothing says so."""
    if "OMPI_COMM_WORLD_SIZE" in environment:
        return "openmpi"
    if "PMI_SIZE" in environment or "PMI_RANK" in environment:
        return "mpich"
    return "openmpi" if "PMIX_RANK" in environment else None


def ranks_of_launcher(environment):
    """How many ranks the launcher started, or 1: nothing says so."""
    told = environment.get("OMPI_COMM_WORLD_SIZE") or environment.get("PMI_SIZE") or "1"
    return int(told) if told.isdigit() else 1


def require_whole_job(size, environment=os.environ):
    """LibraryError when this rank believes to be alone and is not: its MPI is not the launcher's."""
    started = ranks_of_launcher(environment)
    if size == 1 and started > 1:
        raise LibraryError(f"the launcher started {started} ranks, but the MPI of {library()._name} sees one: it is "
                           "not the launcher's; set SLIPWAY_LIBRARY to the library that was built for that")


def candidates(environment, package, flavour):
    """Where the library may be, most wanted first; a bare name is looked up by the dynamic loader."""
    chosen = environment.get("SLIPWAY_LIBRARY")
    if chosen:
        return [chosen]
    installed = package.parent.parent  # lib/slipway of lib/slipway/python/slipway
    if flavour is not None:
        beside = [installed / flavour / "libslipway.so"]
    else:
        beside = [installed.parent / "libslipway.so", installed / "openmpi" / "libslipway.so",
                  installed / "mpich" / "libslipway.so"]
    return [str(path) for path in beside if path.exists()] + [SONAME, "libslipway.so"]


def _open(path):
    """Global, because Open MPI's plugins look for the symbols of libmpi among those that everybody sees."""
    if "/" in path and not os.path.exists(path):
        raise OSError("no such file")
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def _declare(library, path):
    for name, (returned, taken) in PROTOTYPES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryError(f"{path} has no function {name}: it is older than this Python package ({VERSION}); "
                               "take both from one installation") from None
        function.restype, function.argtypes = returned, taken
    version = library.slipway_version().decode()
    if version.split(".")[:2] != VERSION.split(".")[:2]:
        raise LibraryError(f"{path} is version {version}, and this Python package is {VERSION}; "
                           "take both from one installation")
    return library


def load(environment=os.environ, package=pathlib.Path(__file__).absolute().parent):
    """The library with all its prototypes. LibraryError names every place that was tried."""
    flavour = mpi_in_process(_maps()) or mpi_of_launcher(environment)
    tried = []
    for path in candidates(environment, package, flavour):
        try:
            library = _open(path)
        except OSError as error:
            tried.append(f"  {path}: {error}")
            continue
        return _declare(library, path)
    raise LibraryError("libslipway.so cannot be loaded" + (f" for {flavour}" if flavour else "") + ". Tried:\n" +
                       "\n".join(tried) + "\n  next: set SLIPWAY_LIBRARY to the file, or LD_LIBRARY_PATH to its folder")


def _maps():
    try:
        return pathlib.Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return ""


_library = None


def library():
    """The library, loaded at its first use: a program may import this package where there is none."""
    global _library
    if _library is None:
        _library = load()
    return _library


def loaded():
    """Whether something has needed the library yet."""
    return _library is not None
