"""Operations on tensors of a GPU: carried out after what the caller's stream was given, without stopping the GPU.

The thread of the group works on a stream of its own. It waits, by an event, for the stream that was current at the
call; the stream that is current at wait() waits, by an event, for the result.
"""

import torch

from slipway.torch_backend.works import Work


def device_of(tensors):
    """The GPU of the first tensor in a nested list, or None: all lie in CPU memory."""
    for tensor in tensors:
        if isinstance(tensor, (list, tuple)):
            found = device_of(tensor)
            if found is not None:
                return found
        elif tensor.device.type == "cuda":
            return tensor.device
    return None


def _flattened(tensors):
    for tensor in tensors:
        if isinstance(tensor, (list, tuple)):
            yield from _flattened(tensor)
        else:
            yield tensor


class DeviceStreams:
    """One stream for each device that a group works with."""

    def __init__(self):
        self._streams = {}

    def of(self, device):
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device)
        return self._streams[device]


class DeviceWork(Work):
    """`used`: all tensors of the operation."""

    def __init__(self, result, what, used, stream, limit=None):
        super().__init__(result, what, limit)
        self._stream = stream
        self._made = torch.cuda.Event()
        self._made.record(torch.cuda.current_stream(stream.device))
        self._ready = torch.cuda.Event()
        for tensor in _flattened(used):
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

    def wait(self, timeout=None):
        super().wait(timeout)
        torch.cuda.current_stream(self._stream.device).wait_event(self._ready)
        return True

    def _new_future(self):
        return torch.futures.Future(devices=[self._stream.device])

    def _fulfil(self, promise):
        """With the tensors: torch notes how far the stream is only for the devices of what the future holds."""
        with torch.cuda.stream(self._stream):
            promise.set_result(self._result)
