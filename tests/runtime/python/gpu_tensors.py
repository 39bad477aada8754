"""Tensors that torch takes for those of a GPU, in memory of the fake driver: the torch of the tests knows no GPU.

What torch computes is done at once, after what the current stream was given. Copies that torch would leave to the GPU
are left to the driver, which runs them when something waits for them: an order that no stream and no event makes shows.
"""

import contextlib
import ctypes
import os
import threading

import torch

DRIVER = ctypes.CDLL(os.environ["SLIPWAY_FAKE_DRIVER"], mode=ctypes.RTLD_GLOBAL)
DRIVER.fake_gpu_shadow.restype = ctypes.c_void_p
GPU = torch.device("cuda", 0)

_NON_BLOCKING = 1  # a stream that does not wait for the default one
_WRITE = 1
# These compute nothing.
_AT_ONCE = {"__get__", "__getitem__", "as_strided", "as_subclass", "detach", "dim", "element_size", "expand",
            "is_complex", "is_conj", "is_contiguous", "is_floating_point", "is_neg", "numel", "size", "storage",
            "stride", "t", "unbind", "view", "view_as_real"}
_TO_CPU = {"cpu", "item", "tolist", "equal", "__bool__", "__repr__"}

_thread = threading.local()
_places = []  # of each block: address for the host, bytes, address on the GPU
lent = []  # addresses and streams that record_stream() was called with


def call(entry, *arguments):
    """Any thread, as with torch, which gives each thread a context."""
    if not getattr(_thread, "has_context", False):
        _thread.has_context = True
        context = ctypes.c_void_p()
        for first, *rest in (("cuInit", 0), ("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0),
                             ("cuCtxSetCurrent", context)):
            assert getattr(DRIVER, first)(*rest) == 0, first
    assert getattr(DRIVER, entry)(*arguments) == 0, entry


def violations():
    text = ctypes.create_string_buffer(1 << 16)
    DRIVER.fake_gpu_violations(text, ctypes.c_size_t(len(text)))
    return text.value.decode()


class Stream:
    def __init__(self, device=GPU, default=False):
        self.device = device
        handle = ctypes.c_void_p()
        if not default:
            call("cuStreamCreate", ctypes.byref(handle), _NON_BLOCKING)
        self.cuda_stream = handle.value or 0

    @property
    def handle(self):
        return ctypes.c_void_p(self.cuda_stream)

    def wait_event(self, event):
        call("cuStreamWaitEvent", self.handle, event.handle, 0)

    def wait_stream(self, stream):
        event = Event()
        event.record(stream)
        self.wait_event(event)

    def synchronize(self):
        call("cuStreamSynchronize", self.handle)


class Event:
    def __init__(self):
        self.handle = ctypes.c_void_p()
        call("cuEventCreate", ctypes.byref(self.handle), 2)  # without time

    def record(self, stream):
        call("cuEventRecord", self.handle, stream.handle)

    def synchronize(self):
        call("cuEventSynchronize", self.handle)


_default = Stream(default=True)


def current_stream(_=None):
    return getattr(_thread, "stream", _default)


@contextlib.contextmanager
def stream(chosen):
    before, _thread.stream = current_stream(), chosen
    try:
        yield
    finally:
        _thread.stream = before


class Future(torch.futures.Future):
    """As torch's with devices, of which its build for CPUs has none. It notes how far the current stream is when a
    result comes that holds tensors of a GPU; the streams of its waiters and of its callbacks wait for that."""

    def __class_getitem__(cls, _):
        return cls

    def __init__(self, *, devices=None):
        super().__init__()
        self._devices, self._made = devices, None

    def set_result(self, result):
        if _holds_gpu_tensor(result):
            if not self._devices:
                raise ValueError("Expected all data ptrs to be on a device of type cpu, got one on device cuda:0")
            self._made = Event()
            self._made.record(current_stream())
        super().set_result(result)

    def _order(self):
        if self._made is not None:
            current_stream().wait_event(self._made)

    def wait(self):
        result = super().wait()
        self._order()
        return result

    def then(self, callback):
        after = Future(devices=self._devices)

        def call(_):
            with stream(Stream()):
                self._order()
                try:
                    after.set_result(callback(self))
                except Exception as error:
                    after.set_exception(error)
        super().add_done_callback(call)
        return after


def _holds_gpu_tensor(result):
    if isinstance(result, (list, tuple)):
        return any(_holds_gpu_tensor(each) for each in result)
    return isinstance(result, GpuTensor)


def _host_address(tensor):
    with torch._C.DisableTorchFunction():
        return torch.Tensor.data_ptr(tensor)


def _on_gpu_at(address):
    """The GPU's address for the host's one, or None: it is memory of the CPU."""
    return next((there + address - here for here, size, there in _places if here <= address < here + size), None)


class GpuTensor(torch.Tensor):
    """Lies in a host's view of the GPU's memory. torch knows no more than that."""

    device = property(lambda self: GPU)
    is_cuda = property(lambda self: True)

    def data_ptr(self):
        return _on_gpu_at(_host_address(self)) or 0

    def record_stream(self, stream):
        lent.append((self.data_ptr(), stream))

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        name = function.__name__
        if name == "copy_" and (options or {}).get("non_blocking") and _copied_later(*arguments[:2]):
            return arguments[0]
        if name not in _AT_ONCE:
            current_stream().synchronize()
        with torch._C.DisableTorchFunction():
            return _taken(function(*arguments, **(options or {})), name in _TO_CPU)


def _taken(result, to_cpu):
    if isinstance(result, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in result):
        return type(result)(_taken(each, to_cpu) for each in result)
    if not isinstance(result, torch.Tensor) or to_cpu or isinstance(result, GpuTensor):
        return result
    known = result.numel() == 0 or _on_gpu_at(_host_address(result)) is not None
    return result.as_subclass(GpuTensor) if known else on_gpu(result)


def _copied_later(target, source):
    """Whether the driver copies between CPU and GPU when something waits for it."""
    to_gpu, from_gpu = isinstance(target, GpuTensor), isinstance(source, GpuTensor)
    with torch._C.DisableTorchFunction():
        alike = target.dtype == source.dtype and target.is_contiguous() and source.is_contiguous()
        size = target.numel() * target.element_size()
    if to_gpu == from_gpu or not alike or size == 0:
        return False
    entry = "cuMemcpyHtoDAsync_v2" if to_gpu else "cuMemcpyDtoHAsync_v2"
    call(entry, ctypes.c_void_p(target.data_ptr()), ctypes.c_void_p(source.data_ptr()), ctypes.c_size_t(size),
         current_stream().handle)
    return True


class Arena:
    """Memory in large blocks, as torch takes it. A tensor's part is its own until reset()."""

    BLOCK = 64 << 20
    PART = 512

    def __init__(self, allocate):
        self._allocate = allocate  # (bytes) -> the host's address of a new block
        self._blocks = []
        self.reset()

    def reset(self):
        """All tensors are gone, and the GPU is done with them."""
        self._block, self._used = 0, 0

    def __call__(self, size):
        assert size <= self.BLOCK
        if self._used + size > self.BLOCK:
            self._block, self._used = self._block + 1, 0
        if self._block == len(self._blocks):
            self._blocks.append(self._allocate(self.BLOCK))
        begin = self._blocks[self._block] + self._used
        self._used += -(-size // self.PART) * self.PART
        return (ctypes.c_uint8 * size).from_address(begin)


def _allocated_on_gpu(size):
    pointer = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
    seen = DRIVER.fake_gpu_shadow(pointer, ctypes.c_size_t(size), _WRITE)
    _places.append((seen, size, pointer.value))
    return seen


def _allocated_pinned(size):
    pointer = ctypes.c_void_p()
    call("cuMemAllocHost_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
    return pointer.value


_memory, _pinned = Arena(_allocated_on_gpu), Arena(_allocated_pinned)


def _like(tensor, allocate):
    """A dense tensor in other memory."""
    size = tensor.numel() * tensor.element_size()
    if size == 0:
        return tensor.clone()
    return torch.frombuffer(allocate(size), dtype=tensor.dtype).view(tensor.shape)


def on_gpu(tensor):
    """As tensor.cuda(), with the strides that it has."""
    with torch._C.DisableTorchFunction():
        if tensor.is_contiguous():
            return _like(tensor, _memory).copy_(tensor).as_subclass(GpuTensor)
        order = sorted(range(tensor.dim()), key=lambda dimension: -tensor.stride(dimension))
        there = _like(tensor.permute(order).contiguous(), _memory).copy_(tensor.permute(order))
        return there.permute([order.index(dimension) for dimension in range(tensor.dim())]).as_subclass(GpuTensor)


def pinned(tensor):
    """As tensor.pin_memory()."""
    return _like(tensor, _pinned).copy_(tensor)


def install(monkeypatch):
    """Shows torch a GPU, of which no memory is taken."""
    call("cuCtxSynchronize")
    _memory.reset()
    _pinned.reset()
    empty = torch.empty

    def empty_anywhere(*shape, device=None, pin_memory=False, **options):
        made = empty(*shape, **options) if device is None or device.type != "meta" else empty(
            *shape, device=device, **options)
        if device is not None and device.type == "cuda":
            return on_gpu(made)
        return _like(made, _pinned) if pin_memory else made

    monkeypatch.setattr(torch, "empty", empty_anywhere)
    monkeypatch.setattr(torch.futures, "Future", Future)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", current_stream)
    monkeypatch.setattr(torch.cuda, "stream", stream)
    monkeypatch.setattr(torch.cuda, "device", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
