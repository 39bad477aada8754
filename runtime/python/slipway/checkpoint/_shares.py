"""The bytes of many tensors as one stream, of which each rank stores an equal part."""

import ctypes

import torch

from slipway.errors import NotSupportedError


def name_of(rank):
    return f"rank-{rank:05}.tensors"


def bounds(total, rank, size):
    """First and last byte (excluded) of a rank's part."""
    return total * rank // size, total * (rank + 1) // size


def _in_one_piece(tensor):
    """The tensor, or a copy of it, whose elements lie one after the other in the memory of the processor."""
    if tensor.layout is not torch.strided:
        raise NotSupportedError(f"a tensor of the state has the layout {tensor.layout}: only dense ones can be saved")
    here = tensor.device.type == "cpu" and tensor.is_contiguous()
    return tensor if here else tensor.detach().cpu().contiguous()


def sizes_of(tensors):
    return [tensor.numel() * tensor.element_size() for tensor in tensors]


def copy_part(tensors, begin, end, memory):
    """Bytes [begin, end) of the stream into `memory`, a tensor of uint8."""
    offset, target = 0, memory.data_ptr() - begin
    for tensor, size in zip(tensors, sizes_of(tensors)):
        first, last = max(begin, offset), min(end, offset + size)
        if first < last:
            whole = _in_one_piece(tensor)
            ctypes.memmove(target + first, whole.data_ptr() + first - offset, last - first)
        offset += size


class Stream:
    """The stream again, from the files of all ranks."""

    def __init__(self, folder, world_size):
        self._files = [folder / name_of(rank) for rank in range(world_size)]
        self._open = None

    def _next_piece(self, view):
        while True:
            if self._open is None:
                self._open = self._files.pop(0).open("rb", buffering=0)
            count = self._open.readinto(view)
            if count:
                return count
            self.close()

    def close(self):
        if self._open is not None:
            self._open.close()
            self._open = None

    def tensor(self, shape, dtype):
        """The next tensor. Errors: OSError; IndexError: there are no more bytes."""
        tensor = torch.empty(shape, dtype=dtype)
        view = memoryview(tensor.reshape(-1).view(torch.uint8).numpy()) if tensor.numel() else b""
        while len(view):
            view = view[self._next_piece(view):]
        return tensor
