"""Collectives of one group on the memory of torch tensors, by the library. All are collective.

A call returns with the result in CPU memory. On a GPU it takes the tensors as the current stream leaves them, and that
stream finds the result.

Unlike slipway.collectives these may run in several threads at once, one for each group.
"""

import ctypes

import torch

from slipway import _calls, _library
from slipway._arrays import stream_of
from slipway.errors import OutOfMemoryError
from slipway.memory import Block
from slipway.torch_backend import buckets

DTYPES = {torch.float32: 0, torch.float64: 1, torch.int32: 2, torch.int64: 3, torch.float16: 4, torch.bfloat16: 5}
BYTES = 6

# Ordinary memory goes through the library in small pieces, with a wait for each. Copied to memory that all ranks of the
# node reach, a part of this size takes two waits, and stays in the caches until it is copied back.
_PART_BYTES = 4 << 20
_COPIED_FROM_BYTES = 64 << 10

# The library chooses how it adds up memory of GPUs at the first allreduce of more than 4 KiB, or of more than 64 KiB
# where the way is named.
_SAMPLE_ELEMENTS = 32 << 10
# Large broadcasts of a group at which its ranks vote on that choice. A program may broadcast memory of the CPU first.
_MOST_VOTES = 4
_SUM, _MIN = 0, 2


def is_dense(tensor):
    """Whether the bytes at data_ptr() are the elements, in order."""
    return tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()


def dense(tensor):
    """`tensor` if it is dense, otherwise a dense copy."""
    return tensor if is_dense(tensor) else tensor.resolve_conj().resolve_neg().contiguous()


def _counts(values):
    return (ctypes.c_int64 * max(1, len(values)))(*values)


class Exchange:
    """The calls. Tensors are dense; counts are elements, one for each rank."""

    def __init__(self, number, rank, size):
        self._number, self.rank, self.size = number, rank, size
        self._votes_left = _MOST_VOTES if size > 1 else 0
        try:
            self._shared = Block(_PART_BYTES) if size > 1 else None
        except OutOfMemoryError:
            self._shared = None  # slower, and all ranks still exchange the same parts

    def _call(self, name, *arguments):
        library = _library.library()
        _calls.checked(library, name, *arguments, self._number)

    def _call_on_stream(self, name, tensors, *arguments):
        """In the order of the stream that is current for the operation's tensors. Some may be in CPU memory."""
        library = _library.library()
        on_gpu = next((tensor for tensor in tensors if tensor.device.type != "cpu"), tensors[0])
        _calls.checked(library, name, *arguments, self._number, stream_of(on_gpu))

    def place(self, tensor):
        """The program exchanges this dense tensor of the CPU again and again: it pays to move it once. Local."""
        if self._shared is not None and tensor.numel() * tensor.element_size() > _COPIED_FROM_BYTES:
            buckets.shared.place(tensor)

    def allreduce(self, tensor, op):
        if tensor.device.type != "cpu":
            self._call_on_stream("slipway_allreduce_on_stream", (tensor,), tensor.data_ptr(), tensor.numel(),
                                 DTYPES[tensor.dtype], op)
            return
        width, dtype = tensor.element_size(), DTYPES[tensor.dtype]
        if tensor.numel() * width <= _COPIED_FROM_BYTES:
            self._call("slipway_allreduce", tensor.data_ptr(), tensor.numel(), dtype, op)
            return
        # In the same parts wherever a rank has its data: the calls of all ranks must be alike.
        most, placed = _PART_BYTES // width, buckets.shared.holds(tensor)
        for first in range(0, tensor.numel(), most):
            address, count = tensor.data_ptr() + first * width, min(most, tensor.numel() - first)
            if placed:
                self._call("slipway_allreduce", address, count, dtype, op)
            else:
                self._allreduce_part(address, count, width, dtype, op)

    def _allreduce_part(self, address, count, width, dtype, op):
        if self._shared is None:
            self._call("slipway_allreduce", address, count, dtype, op)
            return
        ctypes.memmove(self._shared.address, address, count * width)
        self._call("slipway_allreduce", self._shared.address, count, dtype, op)
        ctypes.memmove(address, self._shared.address, count * width)

    def reduce_scatter(self, sent, received, counts, op):
        self._call_on_stream("slipway_reduce_scatter_on_stream", (sent, received), sent.data_ptr(),
                             received.data_ptr(), _counts(counts), DTYPES[sent.dtype], op)

    def allgather(self, sent, received, counts):
        width = sent.element_size()
        self._call_on_stream("slipway_allgather_on_stream", (sent, received), sent.data_ptr(),
                             received.data_ptr(), _counts([n * width for n in counts]), BYTES)

    def alltoall(self, sent, sent_counts, received, received_counts):
        width = sent.element_size()
        self._call_on_stream("slipway_alltoall_on_stream", (sent, received), sent.data_ptr(),
                             _counts([n * width for n in sent_counts]), received.data_ptr(),
                             _counts([n * width for n in received_counts]), BYTES)

    def broadcast(self, tensor, root):
        if tensor.numel() * tensor.element_size() <= _COPIED_FROM_BYTES:
            self._broadcast_small(tensor, root)
        else:
            self._broadcast_large(tensor, root)

    def _broadcast_small(self, tensor, root):
        """The root sends to each rank: one round, without the comparison of calls that the library makes."""
        count, others = tensor.numel(), [rank != self.rank for rank in range(self.size)]
        none = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        if self.rank == root:
            self.alltoall(tensor.view(-1).repeat(self.size - 1), [count * other for other in others], none,
                          [0] * self.size)
        else:
            self.alltoall(none, [0] * self.size, tensor, [count * (rank == root) for rank in range(self.size)])

    def _broadcast_large(self, tensor, root):
        shape = (ctypes.c_int64 * 1)(tensor.numel() * tensor.element_size())
        one = (_library.Tensor * 1)()
        one[0].name, one[0].dtype, one[0].ndim = b"tensor", BYTES, 1
        one[0].shape, one[0].data = shape, tensor.data_ptr()
        self._call_on_stream("slipway_broadcast_on_stream", (tensor,), one, 1, root)
        if self._votes_left > 0:
            self._votes_left -= 1
            self._choose_ways(tensor.device)

    def _choose_ways(self, device):
        """DistributedDataParallel broadcasts its parameters before it trains. So the library times its ways while the
        GPU has nothing else to do, and not beside the first backward pass. Not where a rank has CPU memory, or no
        memory left on its GPU: the next large broadcast asks again."""
        sample = self._sample(device)
        vote = ctypes.c_int64(sample is not None)  # no tensor: the program may have set another default device
        self._call("slipway_allreduce", ctypes.addressof(vote), 1, DTYPES[torch.int64], _MIN)
        if vote.value:
            self._votes_left = 0
            self.allreduce(sample, _SUM)

    @staticmethod
    def _sample(device):
        """None: not on a GPU, or there is no memory for it."""
        try:
            return torch.empty(_SAMPLE_ELEMENTS, dtype=torch.float32, device=device) if device.type == "cuda" else None
        except torch.cuda.OutOfMemoryError:
            return None

    def barrier(self):
        self._call("slipway_barrier")
