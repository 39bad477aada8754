"""Arrays in memory that all ranks of a node can reach: they are exchanged without a copy."""

import ctypes
import operator
import sys
import weakref

from slipway import _calls
from slipway._arrays import elements, is_torch
from slipway._driver import device_of
from slipway.errors import ArgumentError


# First address -> the bytes of each block that lives.
_blocks = weakref.WeakValueDictionary()


def block_of(address):
    """What keeps the block of slipway_alloc alive that an address lies in; None where it lies in none."""
    return next((kept for first, kept in list(_blocks.items()) if first <= address < first + len(kept)), None)


class Block:
    """Memory of slipway_alloc, zeroed. It lives as long as an array refers to it."""

    def __init__(self, size):
        self.size = max(1, size)
        address = ctypes.c_void_p()
        _calls.call("slipway_alloc", self.size, ctypes.byref(address))
        self.address = address.value
        self.bytes = (ctypes.c_uint8 * self.size).from_address(self.address)
        weakref.finalize(self.bytes, _calls.free_later, self.address).atexit = False
        _blocks[self.address] = self.bytes

    def numpy(self, shape, dtype, offset=0):
        import numpy
        return numpy.frombuffer(self.bytes, dtype, elements(shape), offset).reshape(shape)

    def torch(self, shape, dtype, offset=0):
        import torch
        if elements(shape) == 0:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(self.bytes, dtype=dtype, count=elements(shape), offset=offset).reshape(shape)


class DeviceBlock:
    """Memory of slipway_alloc_on_device, zeroed, for all that takes __cuda_array_interface__. It lives as long as this."""

    def __init__(self, shape, typestr, size, device):
        self.shape = shape
        address = ctypes.c_void_p()
        _calls.call("slipway_alloc_on_device", size, device, ctypes.byref(address))
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (address.value, False),
                                         "version": 3}
        weakref.finalize(self, _calls.free_later, address.value).atexit = False


def _is_torch_dtype(dtype):
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "dtype") and isinstance(dtype, torch.dtype)


def _gpu_of(device):
    """The number of a GPU, or None for the CPU. Errors: ArgumentError: `device` names neither."""
    kind, colon, number = str(device).partition(":")
    if device is None or kind == "cpu":
        return None
    if kind == "cuda" and (number.isdecimal() or not colon):
        return int(number) if colon else _current_gpu()
    try:
        return operator.index(device)
    except TypeError:
        raise ArgumentError(f"device is {device!r}: give the number of a GPU, 'cuda:0', a torch.device, or "
                            "'cpu'") from None


def _current_gpu():
    torch = sys.modules.get("torch")
    return torch.cuda.current_device() if torch is not None and torch.cuda.is_available() else 0


def alloc(shape, dtype="float32", device=None):
    """A zeroed array in memory of slipway_alloc: a torch tensor if `dtype` is torch's, otherwise NumPy's. Local.

    `device`: the number of a GPU, "cuda:0" or a torch.device, for memory there; "cuda" is the current one of torch,
    else GPU 0; "cpu" is as None. On a GPU and without torch's dtype it is an object for cupy.asarray and its like.
    Errors: ArgumentError: a negative length, or another device. OutOfMemoryError.
    """
    device = _gpu_of(device)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(length < 0 for length in shape):
        raise ArgumentError(f"the shape {shape} has a negative length")
    if _is_torch_dtype(dtype):
        import torch
        if device is not None:
            size = elements(shape) * torch.empty(0, dtype=dtype).element_size()
            block = DeviceBlock((size,), "|u1", size, device)
            return torch.as_tensor(block, device=f"cuda:{device}").view(dtype).view(shape)
        return Block(elements(shape) * torch.empty(0, dtype=dtype).element_size()).torch(shape, dtype)
    import numpy
    dtype = numpy.dtype(dtype)
    if device is not None:
        return DeviceBlock(shape, dtype.str, elements(shape) * dtype.itemsize, device)
    return Block(elements(shape) * dtype.itemsize).numpy(shape, dtype)


def _on_gpu_like(array, shape):
    """Memory of the array's own library, as of a torch tensor: blocks of slipway_alloc_on_device are large."""
    interface = array.__cuda_array_interface__
    library = type(array).__module__.partition(".")[0]
    if library == "cupy":
        with array.device:
            return sys.modules["cupy"].zeros(shape, array.dtype)
    if library == "numba":
        import numpy
        return sys.modules["numba"].cuda.to_device(numpy.zeros(shape, array.dtype))
    return alloc(shape, interface["typestr"], device_of(interface["data"][0]) if interface["data"][0] else 0)


def alloc_like(array, shape=None):
    """alloc() of the shape, the dtype and the kind of `array`; for one on a GPU, memory of the GPU. Zeroed.

    Arrays on a GPU are of torch, CuPy or Numba; else they are as of alloc() with a device.
    """
    shape = tuple(array.shape if shape is None else shape)
    if is_torch(array):
        if array.device.type == "cuda":
            return array.detach().new_zeros(shape)
    elif hasattr(array, "__cuda_array_interface__"):
        return _on_gpu_like(array, shape)
    return alloc(shape, array.dtype)
