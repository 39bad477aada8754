"""Operations on tensors of a GPU: carried out after what the caller's stream was given, without stopping the GPU.

The thread of the group works on a stream of its own. It waits, by an event, for the stream that was current at the
call; the stream that is current at wait() waits, by an event, for the result.

wait() blocks the CPU until that thread has given the GPU all work, not until the GPU has done it. On the way the thread
itself waits for the GPU where the CPUs combine. Where the GPUs do, it waits for them, or with SLIPWAY_GPU_WAIT=events
for the other ranks' threads only: then what follows wait() is queued while the GPU still computes.
"""

import contextlib

import torch

from slipway.errors import DeviceMemoryError
from slipway.torch_backend.exchange import dense
from slipway.torch_backend.works import Together, Work


def memories_of(tensors):
    """The strided tensors of a nested list. torch lends a stream the memory of no other layout."""
    for tensor in tensors:
        if isinstance(tensor, (list, tuple)):
            yield from memories_of(tensor)
        elif tensor.layout == torch.sparse_coo:
            yield from (tensor._indices(), tensor._values())
        else:
            yield tensor


def device_of(call, tensors):
    """The GPU of the tensors in a nested list, or None: all lie in CPU memory. Errors: DeviceMemoryError: two GPUs."""
    devices = list(dict.fromkeys(tensor.device for tensor in memories_of(tensors) if tensor.device.type == "cuda"))
    if len(devices) > 1:
        raise DeviceMemoryError(f"{call}: one tensor is on {devices[0]} and another one on {devices[1]}; a call takes "
                                "tensors of one GPU, move them with .to(device)")
    return devices[0] if devices else None


class DeviceStreams:
    """One stream for each device that a group works with."""

    def __init__(self):
        self._streams = {}

    def of(self, device):
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)
        return self._streams[device]


class DeviceWork(Work):
    """`used`: all tensors of the operation. The events know all that the GPU had to do at the call, and for it."""

    def __init__(self, result, what, used, stream, limit=None):
        super().__init__(result, what, limit)
        self._stream = stream
        self._made = torch.cuda.Event()
        self._made.record(torch.cuda.current_stream(stream.device))
        self._ready = torch.cuda.Event()
        for tensor in memories_of(used):
            if tensor.device.type == "cuda":
                tensor.record_stream(stream)  # its memory is not given away before the stream is done with it

    def carried_out_on_stream(self, carry_out):
        """What the group's thread does: `carry_out` on the group's stream."""
        def on_stream():
            with torch.cuda.device(self._stream.device), torch.cuda.stream(self._stream):
                self._stream.wait_event(self._made)
                carry_out()
                self._ready.record(self._stream)
        return on_stream

    @property
    def device(self):
        return self._stream.device

    def await_gpu(self):
        """Returns when the GPU has done what carry_out gave it."""
        self._ready.synchronize()

    def precede(self, stream):
        """The stream waits for the result."""
        stream.wait_event(self._ready)

    def wait(self, timeout=None):
        """Returns when the GPU has been given all work; later work of the current stream finds the result."""
        super().wait(timeout)
        current = torch.cuda.current_stream(self._stream.device)
        self.precede(current)
        for tensor in self._result:
            if getattr(tensor, "layout", None) == torch.sparse_coo:  # what it holds now was made on the other stream
                for memory in memories_of([tensor]):
                    memory.record_stream(current)
        return True

    def _new_future(self):
        return torch.futures.Future(devices=[self._stream.device])

    def _fulfil(self, promise):
        """With the tensors: torch notes how far the stream is only for the devices of what the future holds."""
        with torch.cuda.stream(self._stream):
            promise.set_result(self._result)


_joining = DeviceStreams()  # they wait for messages, so that futures know when all have come


class _DeviceTogether(Together):
    """Operations of which some are on GPUs. A stream that waits for the future waits for all of them."""

    def __init__(self, works, what):
        super().__init__(works, what)
        self._on_gpus = [work for work in works if isinstance(work, DeviceWork)]

    def _new_future(self):
        return torch.futures.Future(devices=list(dict.fromkeys(work.device for work in self._on_gpus)))

    def _fulfil(self, promise):
        """torch notes how far the current stream of each device is: one that has waited for every operation there."""
        with contextlib.ExitStack() as streams:
            for work in self._on_gpus:
                stream = _joining.of(work.device)
                streams.enter_context(torch.cuda.stream(stream))
                work.precede(stream)
            promise.set_result(self._result)


def together(works, what):
    """One work for several, each of which is carried out by itself."""
    on_gpu = any(isinstance(work, DeviceWork) for work in works)
    return _DeviceTogether(works, what) if on_gpu else Together(works, what)


def _pinned_like(tensor):
    """Dense memory of the CPU. Copies between it and a GPU stop neither the GPU nor the program."""
    return torch.empty(tensor.shape, dtype=tensor.dtype, device=torch.device("cpu"), pin_memory=True)


class Departure:
    """A tensor of a GPU on its way to the CPU, on the stream of `work`."""

    def __init__(self, tensor, work):
        self._work = work
        self._copy = _pinned_like(tensor)

        def copy():
            with torch.no_grad():
                self._copy.copy_(dense(tensor), non_blocking=True)
        work.carried_out_on_stream(copy)()

    def arrived(self):
        """Waits for the copy; returns it. Any thread."""
        self._work.await_gpu()
        return self._copy


def store(tensor, fill):
    """Copies what `fill` writes to memory of the CPU to a tensor of a GPU, on the current stream. Does not wait."""
    came = _pinned_like(tensor)
    fill(came)
    with torch.no_grad():
        tensor.copy_(came, non_blocking=True)
