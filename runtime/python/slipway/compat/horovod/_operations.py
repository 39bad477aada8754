"""The operations of horovod.torch on tensors. Each is carried out by the queue, in the order of the calls.

None of them has a gradient; those of _differentiable do.
"""

import enum

import torch

import slipway
from slipway import collectives
from slipway.compat.horovod import _order
from slipway.compat.horovod._job import global_process_set, members, operations
from slipway.compat.horovod._streams import AskersStreams
from slipway.errors import ArgumentError, NotSupportedError, StalledError
from slipway.torch import broadcast_tensors


class ReduceOp(enum.IntEnum):
    Average = 0
    Sum = 1
    Min = 3
    Max = 4
    Product = 5


Average, Sum, Min, Max, Product = ReduceOp
_NAMES = {Average: "mean", Sum: "sum", Min: "min", Max: "max", Product: "product"}
_WIDER = {torch.uint8: torch.int32, torch.int8: torch.int32, torch.int16: torch.int32, torch.bool: torch.int32}
_streams = {}  # by handle
_SCALED_IN = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float32}


class NoneCompressor:
    """Leaves tensors as they are."""

    setting = "none"

    @staticmethod
    def compress(tensor):
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        return tensor


class FP16Compressor:
    """Sends floats as 16-bit floats."""

    setting = "fp16"

    @staticmethod
    def compress(tensor):
        return (tensor.half(), tensor.dtype) if tensor.dtype.is_floating_point else (tensor, None)

    @staticmethod
    def decompress(tensor, ctx):
        return tensor if ctx is None else tensor.to(ctx)


class Compression:
    none = NoneCompressor
    fp16 = FP16Compressor


def chosen_op(op, average=None):
    if average is not None and op is not None:
        raise ArgumentError("give op or average, not both")
    if op is None:
        return Sum if average is False else Average
    if op not in _NAMES:
        raise ArgumentError(f"op {op!r} is none of Average, Sum, Min, Max, Product")
    return ReduceOp(op)


def described(tensor):
    return f"{str(tensor.dtype)[len('torch.'):]}{list(tensor.shape)}"


def named(operation, name, rest=""):
    """What an operation is called in errors; the same on every rank."""
    return " ".join(part for part in (operation, f"'{name}'" if name else "", rest) if part)


def ask(text, work, process_set=global_process_set, zeros=None, name=None, tensors=()):
    """Puts an operation on the ranks of `process_set` into the queue. `work` gets their group. Returns a handle.

    `name`: what no other operation in flight may be called. `tensors`: those that it works with.
    """
    group = members(process_set)
    streams = AskersStreams(tensors)

    def checked():
        try:
            _order.agree(_order.Call(text, zeros), process_set.rank(), group)
        except StalledError as error:
            if process_set is global_process_set:
                raise
            # A rank in join() listens to all ranks, and cannot hear what some of them do among themselves.
            raise StalledError(f"{text} on {process_set}: {error}. A rank that has called join cannot take part, "
                               "nor be asked") from error
        return streams.carry_out(work, group)

    handle = operations().ask(checked, name)
    _streams[handle] = streams
    return handle


def ask_named(operation, name, rest, work, process_set=global_process_set, zeros=None, tensors=()):
    """ask() for an operation that the program may have given a name."""
    _require_dense(tensors)
    unique = None
    if name:
        unique = f"{operation} '{name}'" + ("" if process_set is global_process_set else f" on {process_set}")
    return ask(named(operation, name, rest), work, process_set, zeros, unique, tensors)


def _require_dense(tensors):
    if any(tensor.is_sparse for tensor in tensors):
        raise NotSupportedError("sparse tensors are not exchanged; hand over tensor.to_dense()")


def _require_rows(operation, tensors):
    """Errors: ArgumentError: a tensor without dimensions."""
    if any(tensor.dim() == 0 for tensor in tensors):
        raise ArgumentError(f"{operation}: a tensor without dimensions has no rows; hand over tensor.reshape(1)")


def poll(handle):
    """Whether the operation is done."""
    return operations().poll(handle)


def synchronize(handle):
    """Waits for an operation; returns its result or raises its error."""
    try:
        return operations().synchronize(handle)
    finally:
        if handle in _streams:
            _streams.pop(handle).join()


def _scale(tensor, factor):
    """In place. 16-bit floats are multiplied in float32 and integers in float64, by the whole factor, as in Horovod."""
    if factor != 1.0:
        tensor.copy_(tensor.to(_SCALED_IN.get(tensor.dtype, torch.float64)).mul_(factor))


def _widened(tensor):
    """Of a dtype that can be reduced; the tensor itself if it is."""
    return tensor.to(_WIDER.get(tensor.dtype, tensor.dtype))


def _reduce_in_place(tensor, op, prescale_factor, postscale_factor, group):
    dense = _widened(tensor).contiguous()
    _scale(dense, prescale_factor)
    collectives.allreduce(dense, _NAMES[op], group)
    _scale(dense, postscale_factor)
    if dense is not tensor:
        tensor.copy_(dense)


def _ask_reduction(tensors, finish, name, op, prescale_factor, postscale_factor, process_set):
    """Reduces `tensors` in place; the handle's result is finish()."""
    tensors = [tensor.detach() for tensor in tensors]
    what = [(str(tensor.dtype), tuple(tensor.shape), tensor.device.type) for tensor in tensors]
    rest = f"{op.name} of {', '.join(map(described, tensors))}, scaled by {prescale_factor} and {postscale_factor}"

    def work(group):
        for tensor in tensors:
            _reduce_in_place(tensor, op, prescale_factor, postscale_factor, group)
        return finish()

    return ask_named("allreduce", name, rest, work, process_set, ("allreduce", what, int(op)), tensors)


def _zeros_for_allreduce(what, op):
    """On the kind of device that the others' tensors are on: ranks with GPUs combine in another way."""
    for dtype, shape, device in what:
        zeros = torch.zeros(shape, dtype=getattr(torch, dtype[len("torch."):]), device=device)
        _reduce_in_place(zeros, ReduceOp(op), 1.0, 1.0, None)


def grouped_allreduce_async_(tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                             process_set=global_process_set):
    tensors = list(tensors)
    return _ask_reduction(tensors, lambda: tensors, name, chosen_op(op, average), prescale_factor, postscale_factor,
                          process_set)


def grouped_allreduce_(tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                       process_set=global_process_set):
    return synchronize(grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor,
                                                process_set))


def allreduce_async_(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                     process_set=global_process_set):
    return _ask_reduction([tensor], lambda: tensor, name, chosen_op(op, average), prescale_factor, postscale_factor,
                          process_set)


def allreduce_(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
               process_set=global_process_set):
    return synchronize(allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor, process_set))


def _copy(tensor):
    _require_dense([tensor])
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def allreduce_async(tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                    process_set=global_process_set):
    return allreduce_async_(_copy(tensor), average, name, op, prescale_factor, postscale_factor, process_set)


def grouped_allreduce_async(tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0,
                            process_set=global_process_set):
    return grouped_allreduce_async_([_copy(tensor) for tensor in tensors], average, name, op, prescale_factor,
                                    postscale_factor, process_set)


def allgather_async(tensor, name=None, process_set=global_process_set):
    return grouped_allgather_async([tensor], name, process_set, single=True)


def grouped_allgather_async(tensors, name=None, process_set=global_process_set, single=False):
    mine = [_copy(tensor) for tensor in tensors]
    _require_rows("allgather", mine)

    def work(group):
        results = [collectives.allgather(tensor, group) for tensor in mine]
        return results[0] if single else results

    return ask_named("allgather", name, f"of {len(mine)} tensors" if len(mine) > 1 else "", work, process_set,
                     tensors=mine)


def root_in(process_set, root_rank):
    """Horovod counts the root in the job, the library in the group."""
    members(process_set)
    if root_rank not in process_set.ranks:
        raise ArgumentError(f"root rank {root_rank} is outside of {process_set}")
    return process_set.ranks.index(root_rank)


def broadcast_async_(tensor, root_rank, name=None, process_set=global_process_set):
    root, target = root_in(process_set, root_rank), tensor.detach()

    def work(group):
        broadcast_tensors({"tensor": target}, root, group)
        return tensor

    return ask_named("broadcast", name, f"of {described(target)} from {root_rank}", work, process_set,
                     tensors=[target])


def broadcast_(tensor, root_rank, name=None, process_set=global_process_set):
    return synchronize(broadcast_async_(tensor, root_rank, name, process_set))


def broadcast_async(tensor, root_rank, name=None, process_set=global_process_set):
    return broadcast_async_(_copy(tensor), root_rank, name, process_set)


def _reduce_and_scatter(tensor, op, prescale_factor, postscale_factor, group):
    dense = _widened(tensor)
    _scale(dense, prescale_factor)
    mine = collectives.reduce_scatter(dense, _NAMES[op], group=group)
    _scale(mine, postscale_factor)
    return mine.to(tensor.dtype)


def reducescatter_async(tensor, name=None, op=None, process_set=global_process_set, prescale_factor=1.0,
                        postscale_factor=1.0):
    return grouped_reducescatter_async([tensor], name, op, process_set, prescale_factor, postscale_factor, single=True)


def grouped_reducescatter_async(tensors, name=None, op=None, process_set=global_process_set, prescale_factor=1.0,
                                postscale_factor=1.0, single=False):
    op = chosen_op(op)
    mine = [_copy(tensor) for tensor in tensors]
    _require_rows("reducescatter", mine)

    def work(group):
        results = [_reduce_and_scatter(tensor, op, prescale_factor, postscale_factor, group) for tensor in mine]
        return results[0] if single else results

    rest = f"{op.name} of {', '.join(map(described, mine))}"
    return ask_named("reducescatter", name, rest, work, process_set, tensors=mine)


def splits_of(tensor, splits, process_set):
    """Rows for each rank; as many for each without `splits`."""
    _require_rows("alltoall", [tensor])
    if splits is not None:
        return [int(count) for count in splits]
    rows, size = tensor.shape[0], process_set.size()
    if size > 0 and rows % size != 0:
        raise ArgumentError(f"alltoall: {rows} rows do not divide by {size} ranks; give splits")
    return [rows // max(1, size)] * size


def alltoall_async(tensor, splits=None, name=None, process_set=global_process_set):
    """`splits[r]` rows go to rank r. The result is what came, and with splits also how many rows from each."""
    mine, rows = _copy(tensor), splits_of(tensor, splits, process_set)

    def work(group):
        received, received_rows = collectives.alltoall(mine, rows, group)
        return received if splits is None else (received, torch.tensor(received_rows, dtype=torch.int32))

    return ask_named("alltoall", name, "", work, process_set, tensors=[mine])


def barrier(process_set=global_process_set):
    """Returns when every rank of the set has called it."""
    synchronize(ask("barrier", collectives.barrier, process_set, ("barrier",)))


joined_actions = {"allreduce": _zeros_for_allreduce, "barrier": collectives.barrier}


def join(device=-1):
    """For a rank that has no more data: adds zeros to the allreduces of the others until all have joined.

    Returns the rank that came last. Broadcast, gather and the like cannot be done meanwhile. `device`: the GPU that the
    zeros are made on where those of the others are on GPUs; -1: the current one.
    """
    with torch.cuda.device(device if torch.cuda.is_available() else -1):  # which changes nothing
        streams = AskersStreams()
    last = operations().run(lambda: streams.carry_out(_order.join, slipway.rank(), joined_actions))
    streams.join()
    return last
