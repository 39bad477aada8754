"""Operations over all ranks of a group. All are collective.

They take NumPy arrays, torch tensors, or anything with the buffer protocol, __cuda_array_interface__ or DLPack, without
a copy. Arrays on a GPU are taken as the program's current stream leaves them, and that stream goes on with the result.
"""

import array as buffers
import ctypes

from slipway import _calls, _job
from slipway._arrays import (DTYPES, UINT8, common_stream, elements, finished, memory_of, new_like, tensor_list,
                             tensors_of)
from slipway.errors import ArgumentError, MismatchError

OPERATIONS = {"sum": 0, "mean": 1, "min": 2, "max": 3, "product": 4}
MAX_DIMENSIONS = 8
_INTEGERS = (DTYPES["int32"], DTYPES["int64"])


class Group:
    """Some ranks of the job, in an order. Made by group_create."""

    def __init__(self, number, ranks):
        self.number = number
        self.ranks = ranks

    def rank(self):
        """This rank in the group, or -1 outside of it. Errors: StateError: this process is not in the job. Local."""
        return _job.require_in_job(_calls.ask("slipway_group_rank", self.number))

    def size(self):
        """Ranks in the group. Errors: as rank(). Local."""
        return _job.require_in_job(_calls.ask("slipway_group_size", self.number))

    def free(self):
        """Collective over all ranks of the job."""
        _calls.call("slipway_group_free", self.number)

    def __repr__(self):
        return f"Group({self.number}, ranks={self.ranks})"


ALL = Group(0, None)


def group_create(ranks):
    """A group of different ranks, in this order. Collective over all ranks of the job, also those outside."""
    ranks = [int(rank) for rank in ranks]
    numbers = (ctypes.c_int * max(1, len(ranks)))(*ranks)
    return Group(_calls.int_from("slipway_group_create", numbers, len(ranks)), ranks)


def _number(group):
    return 0 if group is None else group.number


def _operation(op):
    if op not in OPERATIONS:
        raise ArgumentError(f"there is no operation {op!r}; there are {', '.join(OPERATIONS)}")
    return OPERATIONS[op]


def _counts(values):
    return (ctypes.c_int64 * max(1, len(values)))(*values)


def named(arrays):
    """Pairs of name and array, of one array, a list, pairs already, or a dict."""
    if hasattr(arrays, "items"):
        return list(arrays.items())
    if not isinstance(arrays, (list, tuple)):
        return [("array", arrays)]
    if all(isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) for entry in arrays):
        return list(arrays)
    return [(f"array {index}", array) for index, array in enumerate(arrays)]


def _call_in_order(name, memories, *arguments):
    """A call on `memories`: on their stream, which finds the result, or with the result when it returns."""
    stream = common_stream(memories)
    if stream is None:
        _calls.call(name, *arguments)
    else:
        _calls.call(f"{name}_on_stream", *arguments, stream)


def allreduce(array, op="sum", group=None):
    """Combines the array over all ranks, in place, with the same bits on every rank; returns it."""
    return _allreduce(array, memory_of(array), op, group)


def _allreduce(array, memory, op, group=None):
    _calls.call("slipway_allreduce_on_stream", memory.address, memory.count, memory.dtype, _operation(op),
                _number(group), memory.stream)
    finished(memory, memory.stream)
    return array


def broadcast(arrays, root=0, group=None):
    """Copies arrays (one, a list, or a dict by name) of rank `root` of the group to all, in place; returns them."""
    tensors, kept = tensors_of(named(arrays), writable=rank_in(group) != root)
    _call_in_order("slipway_broadcast", [memory for memory, _, _ in kept], tensors, len(kept), root, _number(group))
    return arrays


def check_match(arrays):
    """MismatchError, naming the first array and the lowest rank that differ, unless all ranks hold the same bits."""
    tensors, kept = tensor_list(named(arrays), writable=False)
    _calls.call("slipway_check_match", tensors, len(kept))


def barrier(group=None):
    """Returns when every rank of the group has called it."""
    _calls.call("slipway_barrier", _number(group))


def rank_in(group):
    return (ALL if group is None else group).rank()


def size_of(group):
    return (ALL if group is None else group).size()


def even_split(rows, parts):
    """Rows for each part: as even as can be, the first parts get one more."""
    return [rows // parts + (1 if part < rows % parts else 0) for part in range(parts)]


def _with_rows(array, memory):
    """`memory` with its rows, the first dimension, counted: (rows, elements in a row)."""
    if not memory.shape:
        raise ArgumentError("an array without dimensions has no rows to divide; hand over array.reshape(1)")
    return memory.shape[0], elements(memory.shape[1:])


def _rows_for_ranks(rows, total, group):
    """How many of `total` rows each rank gets: `rows`, or by default an even split."""
    size = size_of(group)
    rows = even_split(total, size) if rows is None else [int(count) for count in rows]
    if len(rows) != size or sum(rows) != total or min(rows) < 0:
        raise ArgumentError(f"rows {rows} are not {total} rows over {size} ranks")
    return rows


def reduce_scatter(array, op="sum", rows=None, group=None):
    """Combines the array over all ranks; rank r gets its `rows[r]` rows (by default an even split) as a new array."""
    memory = memory_of(array, writable=False)
    total, width = _with_rows(array, memory)
    rows = _rows_for_ranks(rows, total, group)
    result = new_like(array, (rows[rank_in(group)],) + memory.shape[1:])
    received = memory_of(result)
    _call_in_order("slipway_reduce_scatter", [memory, received], memory.address, received.address,
                   _counts([count * width for count in rows]), memory.dtype, _operation(op), _number(group))
    return result


def _gather_fixed(values, group):
    """Every rank's list of int64, in rank order; the lists have the same length everywhere."""
    size, length = size_of(group), len(values)
    sent, received = _counts(values), (ctypes.c_int64 * (size * length))()
    _calls.call("slipway_allgather", ctypes.addressof(sent), ctypes.addressof(received), _counts([length] * size),
                DTYPES["int64"], _number(group))
    return [list(received[rank * length:(rank + 1) * length]) for rank in range(size)]


def _describe(memory):
    if len(memory.shape) > MAX_DIMENSIONS:
        raise ArgumentError(f"the array has {len(memory.shape)} dimensions; at most {MAX_DIMENSIONS} can be gathered")
    padding = [0] * (MAX_DIMENSIONS - len(memory.shape))
    return [memory.dtype, len(memory.shape)] + list(memory.shape) + padding


def _require_same_rows(described, what):
    """Dtype, number of dimensions and all lengths but the first are the same on all ranks."""
    for rank, (dtype, dimensions, _, *lengths) in enumerate(described):
        if [dtype, dimensions] + lengths != described[0][:2] + described[0][3:]:
            def text(entry):
                return f"dtype {entry[0]}, shape {entry[2:2 + entry[1]]}"
            raise MismatchError(f"{what}: rank 0 has {text(described[0])}, rank {rank} has {text(described[rank])}; "
                                "only the first length may differ")


def allgather(array, group=None):
    """The arrays of all ranks one after the other along the first dimension, which may differ, as a new array."""
    memory = memory_of(array, writable=False, bytes_too=True)
    _, width = _with_rows(array, memory)
    described = _gather_fixed(_describe(memory), group)
    _require_same_rows(described, "allgather")
    rows = [entry[2] for entry in described]
    result = new_like(array, (sum(rows),) + tuple(array.shape[1:]) if hasattr(array, "shape") else (sum(rows),))
    received = memory_of(result, bytes_too=True)
    _call_in_order("slipway_allgather", [memory, received], memory.address, received.address,
                   _counts([count * width for count in rows]), memory.dtype, _number(group))
    return result


def alltoall(array, rows=None, group=None):
    """Sends `rows[r]` rows (by default an even split) to rank r. Returns what came, in rank order, and its rows."""
    memory = memory_of(array, writable=False, bytes_too=True)
    total, width = _with_rows(array, memory)
    rows = _rows_for_ranks(rows, total, group)
    _require_same_rows(_gather_fixed(_describe(memory), group), "alltoall")
    come = [sent[rank_in(group)] for sent in _gather_fixed(rows, group)]
    result = new_like(array, (sum(come),) + tuple(array.shape[1:]))
    received = memory_of(result, bytes_too=True)
    _call_in_order("slipway_alltoall", [memory, received], memory.address, _counts([count * width for count in rows]),
                   received.address, _counts([count * width for count in come]), memory.dtype, _number(group))
    return result, come


def average(values):
    """The mean over all ranks of a number, a list or a dict of numbers (for metrics), or of an array in place.

    An array or tensor of integers without dimensions is a number: the result is a float, and the array stays as it is.
    Errors: ArgumentError: another array of integers, which cannot hold its mean.
    """
    if isinstance(values, dict):
        means = _mean_of([float(value) for _, value in sorted(values.items())])
        return dict(zip(sorted(values), means))
    if isinstance(values, (list, tuple)):
        return _mean_of([float(value) for value in values])
    if not hasattr(values, "shape") or values.shape == () and not _can_hold_a_mean(values):
        return _mean_of([float(values)])[0]
    return average_in_place(values)


def _can_hold_a_mean(array):
    try:
        return memory_of(array).dtype not in _INTEGERS
    except ArgumentError:  # another type, or read only
        return False


def average_in_place(array):
    """The mean of an array over all ranks, in place, also of one without dimensions; returns it.

    Errors: ArgumentError: an array of integers.
    """
    memory = memory_of(array)
    if memory.dtype in _INTEGERS:
        raise ArgumentError("an array of integers cannot hold its mean; hand over array.astype(float), or "
                            "tensor.double() of torch")
    return _allreduce(array, memory, "mean")


def _mean_of(numbers):
    doubles = (ctypes.c_double * max(1, len(numbers)))(*numbers)
    _calls.call("slipway_average", doubles, len(numbers))
    return list(doubles[:len(numbers)])


def broadcast_bytes(data, root=0, group=None):
    """The bytes of rank `root`, whatever the others hand over."""
    length = buffers.array("q", [len(data)])
    broadcast(length, root, group)
    buffer = bytearray(data) if rank_in(group) == root else bytearray(length[0])
    if length[0]:
        broadcast(buffer, root, group)
    return bytes(buffer)


def allgather_bytes(data, group=None):
    """The bytes of every rank, in rank order."""
    lengths = [length for length, in _gather_fixed([len(data)], group)]
    sent = (ctypes.c_uint8 * max(1, len(data))).from_buffer_copy(data or b"\0")
    received = bytearray(max(1, sum(lengths)))
    _calls.call("slipway_allgather", ctypes.addressof(sent), memory_of(received, bytes_too=True).address,
                _counts(lengths), UINT8, _number(group))
    ends = [sum(lengths[:rank + 1]) for rank in range(len(lengths))]
    return [bytes(received[end - length:end]) for end, length in zip(ends, lengths)]
