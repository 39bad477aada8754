"""The memory behind an array, whoever made it: NumPy, torch, CuPy, the buffer protocol, DLPack. Never a copy.

GPU memory goes to the library as it is, with the stream on which the program works now: stream_of().
"""

import ctypes
import sys
from typing import NamedTuple

from slipway import _driver, _library
from slipway.errors import ArgumentError, DeviceMemoryError

DTYPES = {"float32": 0, "float64": 1, "int32": 2, "int64": 3, "float16": 4, "bfloat16": 5, "uint8": 6}
ITEM_BYTES = {0: 4, 1: 8, 2: 4, 3: 8, 4: 2, 5: 2, 6: 1}
UINT8 = DTYPES["uint8"]


def name_of(code):
    return next(name for name, known in DTYPES.items() if known == code)


class Memory(NamedTuple):
    """A dense row-major array: where it lies and what it holds. `owner` keeps the memory alive."""

    address: int
    shape: tuple
    dtype: int
    owner: object
    stream: int = 0  # of a GPU: where the program makes the array; 0 is the default stream
    names_no_stream: bool = False  # of a GPU: its library may read a result on any stream, once a call has returned

    @property
    def count(self):
        return elements(self.shape)


def elements(shape):
    count = 1
    for length in shape:
        count *= length
    return count


def is_torch(array):
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "Tensor") and isinstance(array, torch.Tensor)


def is_numpy(array):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(array, numpy.ndarray)


def memory_of(array, writable=True, bytes_too=False):
    """The memory of `array`. With `bytes_too`, a dtype that cannot be reduced is taken as bytes: it can be moved."""
    if is_torch(array):
        return _of_torch(array, bytes_too)
    if is_numpy(array):
        return _of_numpy(array, writable, bytes_too)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_cuda(array.__cuda_array_interface__, array, writable, bytes_too)
    try:
        view = memoryview(array)
    except TypeError:
        view = None
    if view is not None:
        return _of_buffer(view, writable, bytes_too)
    if hasattr(array, "__dlpack__"):
        return _of_dlpack(array, bytes_too)
    raise ArgumentError(f"{type(array).__name__} is no array: neither NumPy nor torch, no buffer protocol, no DLPack")


def tensor_list(named, writable=True):
    """`named` (pairs of name and array) as an array of slipway_tensor, and what must outlive it. Waits for GPUs."""
    tensors, kept = tensors_of(named, writable)
    for memory, _, _ in kept:
        settled(memory)
    return tensors, kept


def tensors_of(named, writable=True):
    """As tensor_list(), without a wait. Each entry of what is kept begins with the memory."""
    tensors = (_library.Tensor * len(named))()
    kept = []
    for tensor, (name, array) in zip(tensors, named):
        memory = memory_of(array, writable, bytes_too=True)
        shape = (ctypes.c_int64 * max(1, len(memory.shape)))(*memory.shape)
        text = str(name).encode()
        tensor.name, tensor.dtype, tensor.ndim = text, memory.dtype, len(memory.shape)
        tensor.shape, tensor.data = shape, memory.address
        kept.append((memory, shape, text))
    return tensors, kept


def new_like(array, shape):
    """An array of the kind and dtype of `array`, not filled."""
    if is_torch(array):
        return array.new_empty(shape)
    if hasattr(array, "__cuda_array_interface__"):
        from slipway.memory import alloc_like
        return alloc_like(array, shape)
    import numpy
    if is_numpy(array):
        return numpy.empty(shape, array.dtype)
    return numpy.empty(shape, numpy.asarray(array).dtype)


def _refuse_strides(kind, shape):
    copy = "tensor.contiguous()" if kind == "torch" else "numpy.ascontiguousarray(array)"
    raise ArgumentError(f"the array of shape {tuple(shape)} is not contiguous in row-major order; hand over {copy}")


def _code_of(name, item_bytes, shape, bytes_too):
    """The dtype code, and the shape in elements of it."""
    code = DTYPES.get(name)
    if code is not None and (code != UINT8 or bytes_too):
        return code, tuple(shape)
    if bytes_too:
        return UINT8, tuple(shape) + (item_bytes,)
    raise ArgumentError(f"dtype {name} cannot be reduced; there are float32, float64, float16, bfloat16, int32, int64")


def _of_torch(tensor, bytes_too):
    if tensor.is_sparse:
        raise ArgumentError("the tensor is sparse; hand over tensor.to_dense()")
    if tensor.device.type not in ("cpu", "cuda"):
        raise DeviceMemoryError(f"the tensor is on {tensor.device}; hand over tensor.cpu()")
    if not tensor.is_contiguous():
        _refuse_strides("torch", tensor.shape)
    if tensor.is_conj() or tensor.is_neg():
        raise ArgumentError("the tensor is a view that torch conjugates or negates when it is read; hand over "
                            "tensor.resolve_conj().resolve_neg()")
    code, shape = _code_of(str(tensor.dtype)[len("torch."):], tensor.element_size(), tensor.shape, bytes_too)
    return Memory(tensor.data_ptr(), shape, code, tensor, stream_of(tensor))


def stream_of(array):
    """The stream on which this thread works with an array on a GPU; 0 for one in CPU memory."""
    if is_torch(array):
        return stream_on(array.device)
    return _stream_in(getattr(array, "__cuda_array_interface__", {}))


def stream_on(device):
    """The stream on which this thread works on a device of torch; 0 for the CPU."""
    if device.type != "cuda":
        return 0
    torch = sys.modules["torch"]
    # torch's public way makes an object, which takes longer than all else for a small gradient.
    handle_on = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if handle_on is None or device.index is None:
        return torch.cuda.current_stream(device).cuda_stream
    return handle_on(device.index)


def common_stream(memories):
    """The stream on which the program works with all of these, or None: there are several, or one names none.

    None stands for a call that orders its work with the default stream and returns with the result. The arrays are then
    as their streams leave them now.
    """
    streams = {memory.stream for memory in memories}
    if len(streams) == 1 and not any(memory.names_no_stream for memory in memories):
        return streams.pop()
    for memory in memories:
        settled(memory)
    return None


def finished(memory, stream):
    """What `stream` was given is done, where the library of the array would not wait for it."""
    if memory.names_no_stream and memory.address:
        _driver.synchronize_at(memory.address, stream)


def _stream_in(interface):
    """1 is a name for the legacy default stream."""
    stream = interface.get("stream") or 0
    return 0 if stream == 1 else stream


def settled(memory):
    """`memory`, with what its stream was given done: for calls that only know the default stream."""
    if memory.stream:
        if is_torch(memory.owner):
            sys.modules["torch"].cuda.current_stream(memory.owner.device).synchronize()
        else:
            _driver.synchronize(memory.stream)
    return memory


def _of_cuda(interface, owner, writable, bytes_too):
    """CuPy, Numba and others. Source: CUDA Array Interface, versions 2 and 3."""
    address, read_only = interface["data"]
    if writable and read_only:
        raise ArgumentError("the array is read-only, and the call works in place; hand over a copy")
    shape, kind = tuple(interface["shape"]), interface["typestr"]
    item_bytes = int(kind[2:])
    strides = interface.get("strides")
    if strides is not None and not _dense(shape, [stride / item_bytes for stride in strides]):
        _refuse_strides("numpy", shape)
    name = {"f": "float", "i": "int", "u": "uint"}.get(kind[1], kind[1]) + str(8 * item_bytes)
    code, shape = _code_of(name if kind[0] in "<|=" else kind, item_bytes, shape, bytes_too)
    return Memory(address, shape, code, owner, _stream_in(interface), interface.get("stream") is None)


def _of_numpy(array, writable, bytes_too):
    if not array.flags.c_contiguous:
        _refuse_strides("numpy", array.shape)
    if writable and not array.flags.writeable:
        raise ArgumentError("the array is read-only, and the call works in place; hand over array.copy()")
    if array.dtype.hasobject:
        raise ArgumentError("the array holds Python objects; use broadcast_object or allgather_object")
    if not array.dtype.isnative:
        raise ArgumentError(f"the bytes of dtype {array.dtype.str} are swapped; hand over "
                            "array.astype(array.dtype.newbyteorder('='))")
    code, shape = _code_of(array.dtype.name, array.dtype.itemsize, array.shape, bytes_too)
    return Memory(array.__array_interface__["data"][0], shape, code, array)


def _name_of_format(view):
    letter = view.format.lstrip("@=")
    if letter in ("f", "d", "e"):
        return {"f": "float32", "d": "float64", "e": "float16"}[letter]
    if letter in ("i", "l", "q"):
        return f"int{8 * view.itemsize}"
    return "uint8" if letter in ("B", "c") else f"'{view.format}'"


def _of_buffer(view, writable, bytes_too):
    if not view.c_contiguous:
        _refuse_strides("buffer", view.shape)
    if writable and view.readonly:
        raise ArgumentError("the buffer is read-only, and the call works in place; hand over a bytearray or an array")
    code, shape = _code_of(_name_of_format(view), view.itemsize, view.shape, bytes_too)
    return Memory(_address_of(view), shape, code, view)


class _PyBuffer(ctypes.Structure):
    """The start of Py_buffer, with room for the rest."""

    _fields_ = [("address", ctypes.c_void_p), ("rest", ctypes.c_byte * 120)]


def _address_of(view):
    """The address of a memoryview, also of a read-only or an empty one. `view` itself keeps the memory in place."""
    buffer = _PyBuffer()
    if ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), 0) != 0:
        raise ArgumentError("the buffer has no address")
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return buffer.address or 0


class _DlTensor(ctypes.Structure):
    """DLTensor, the first member of DLManagedTensor (dlpack.h)."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_DL_IN_CPU = (1, 3, 11)  # kDLCPU, and pinned memory: kDLCUDAHost, kDLROCMHost
_DL_ON_GPU = (2, 10, 13)  # kDLCUDA, kDLROCM, kDLCUDAManaged
_DL_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _of_dlpack(array, bytes_too):
    capsule = array.__dlpack__()
    tensor = _DlTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    if tensor.device_type not in _DL_IN_CPU + _DL_ON_GPU:
        raise DeviceMemoryError(f"the tensor is on a device of DLPack's type {tensor.device_type}; "
                                "only memory of the CPU and of CUDA and ROCm devices is exchanged")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides and not _dense(shape, [tensor.strides[i] for i in range(tensor.ndim)]):
        _refuse_strides("dlpack", shape)
    name = f"{_DL_KINDS.get(tensor.code, 'kind ' + str(tensor.code) + ' of ')}{tensor.bits}"
    code, shape = _code_of(name, tensor.bits * tensor.lanes // 8, shape, bytes_too)
    return Memory((tensor.data or 0) + tensor.byte_offset, shape, code, capsule,
                  names_no_stream=tensor.device_type in _DL_ON_GPU)


def _dense(shape, strides):
    expected = 1
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length > 1 and stride != expected:
            return 0 in shape
        expected *= length
    return True
