"""The driver of a GPU that this process has loaded, for arrays of libraries that give an address and a stream only."""

import ctypes
import os

from slipway.errors import DeviceMemoryError

# CU_POINTER_ATTRIBUTE_...; HIP has the same numbers
_CONTEXT, _ORDINAL = 1, 9
_CUDA = "libcuda.so.1"
_HIP = ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so")
_contexts = {}  # of CUDA, by the number of the GPU: they are never released


def _loaded(name):
    try:
        return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def _has_gpu(library, is_hip):
    """False of CUDA before the process has started it, and of HIP that a package has brought along: the process has no
    array of this maker then."""
    count = ctypes.c_int()
    if not is_hip:
        return library.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    without_error = library.hipPeekAtLastError() == 0
    code = library.hipGetDeviceCount(ctypes.byref(count))
    if code != 0 and without_error:
        library.hipGetLastError()  # the program may ask for one of its own
    return code == 0 and count.value > 0


def _driver():
    """The library, and whether it is that of HIP."""
    for name in (_CUDA, *_HIP):
        library, is_hip = _loaded(name), name != _CUDA
        if library is not None and _has_gpu(library, is_hip):
            return library, is_hip
    raise DeviceMemoryError("the array is in the memory of a GPU, and this process has loaded no driver of one")


def _call(library, name, *arguments):
    code = getattr(library, name)(*arguments)
    if code != 0:
        raise DeviceMemoryError(f"the GPU's driver refuses {name} (error {code})")


def _attribute_of(address, attribute, value):
    """Fills `value`; returns the driver's error, or 0."""
    library, is_hip = _driver()
    ask = library.hipPointerGetAttribute if is_hip else library.cuPointerGetAttribute
    return ask(ctypes.byref(value), attribute, ctypes.c_void_p(address))


def device_of(address):
    """The number of the GPU that the address lies on."""
    ordinal = ctypes.c_int()
    code = _attribute_of(address, _ORDINAL, ordinal)
    if code != 0:
        raise DeviceMemoryError(f"the driver of the GPU does not know the array's memory (error {code})")
    return ordinal.value


def _context_of(library, address):
    """That of the memory; memory of a pool has none, and belongs to the primary context of its GPU."""
    context = ctypes.c_void_p()
    if _attribute_of(address, _CONTEXT, context) == 0 and context.value:
        return context
    device = device_of(address)
    if device not in _contexts:
        _call(library, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        _contexts[device] = context
    return _contexts[device]


def synchronize(stream):
    """Returns when the stream has done what it was given."""
    library, is_hip = _driver()
    code = (library.hipStreamSynchronize if is_hip else library.cuStreamSynchronize)(ctypes.c_void_p(stream))
    if code != 0:
        raise DeviceMemoryError(f"the GPU does not get to the end of a stream (error {code}); end the process")


def synchronize_at(address, stream):
    """The same, of a stream of the GPU that the address lies on; 0 is its default stream.

    This thread may work on another GPU, or on none.
    """
    library, is_hip = _driver()
    before = ctypes.c_int() if is_hip else ctypes.c_void_p()
    if is_hip:
        _call(library, "hipGetDevice", ctypes.byref(before))
        _call(library, "hipSetDevice", device_of(address))
    else:
        _call(library, "cuCtxPushCurrent_v2", _context_of(library, address))
    try:
        synchronize(stream)
    finally:
        if is_hip:
            library.hipSetDevice(before)
        else:
            library.cuCtxPopCurrent_v2(ctypes.byref(before))
