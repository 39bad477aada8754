"""The driver of a GPU that this process has loaded, for arrays of libraries that give an address and a stream only."""

import ctypes
import os

from slipway.errors import DeviceMemoryError

_SUCCESS = 0
_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL; HIP has the same number since ROCm 6
_FUNCTIONS = {"libcuda.so.1": ("cuPointerGetAttribute", "cuStreamSynchronize"),
              "libamdhip64.so.7": ("hipPointerGetAttribute", "hipStreamSynchronize"),
              "libamdhip64.so.6": ("hipPointerGetAttribute", "hipStreamSynchronize")}


def _functions():
    for name, (attribute, synchronize) in _FUNCTIONS.items():
        try:
            library = ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        except OSError:
            continue
        return getattr(library, attribute), getattr(library, synchronize)
    raise DeviceMemoryError("the array is in the memory of a GPU, and this process has loaded no driver of one")


def device_of(address):
    """The number of the GPU that the address lies on."""
    attribute, _ = _functions()
    ordinal = ctypes.c_int()
    code = attribute(ctypes.byref(ordinal), _ORDINAL, ctypes.c_void_p(address))
    if code != _SUCCESS:
        raise DeviceMemoryError(f"the driver of the GPU does not know the array's memory (error {code})")
    return ordinal.value


def synchronize(stream):
    """Returns when the stream has done what it was given."""
    _, wait = _functions()
    code = wait(ctypes.c_void_p(stream))
    if code != _SUCCESS:
        raise DeviceMemoryError(f"the GPU does not get to the end of a stream (error {code}); end the process")
