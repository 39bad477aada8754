"""The operations of horovod.torch that wait for their result. They have the gradients that Horovod gives them: those of
allreduce and alltoall fit a loss that is added up over the ranks, those of the others one that is averaged."""

from typing import NamedTuple, Optional

import torch

import slipway
from slipway.compat.horovod import _operations
from slipway.compat.horovod._job import ProcessSet, global_process_set
from slipway.compat.horovod._operations import Average, Compression, ReduceOp, Sum, chosen_op, synchronize
from slipway.errors import NotSupportedError


class _Reduction(NamedTuple):
    op: ReduceOp
    name: Optional[str]
    prescale_factor: float
    postscale_factor: float
    process_set: ProcessSet

    def require_gradient(self, operation):
        if self.op not in (Average, Sum):
            raise NotSupportedError(f"{operation} with {self.op.name} has no gradient here; hand over tensor.detach()")


def _apply(function, tensors, *options):
    """Results of an autograd function, one for each of `tensors`, as a list."""
    return list(function.apply(*options, *tensors))


def _reduced(tensors, how):
    return synchronize(_operations.grouped_allreduce_async(tensors, None, how.name, how.op, how.prescale_factor,
                                                           how.postscale_factor, how.process_set))


def _averaged(gradients, process_set):
    return _reduced(gradients, _Reduction(Average, None, 1.0, 1.0, process_set))


def _needs_gradient(tensors):
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


class _Allreduce(torch.autograd.Function):
    """The gradient of a sum over ranks is the sum of the gradients, and so for the mean."""

    @staticmethod
    def forward(ctx, how, *tensors):
        ctx.how = how
        return tuple(_reduced(tensors, how))

    @staticmethod
    def backward(ctx, *gradients):
        return (None, *_reduced(gradients, ctx.how))


class _Allgather(torch.autograd.Function):
    """A tensor's gradient is the mean over ranks of what came for its rows."""

    @staticmethod
    def forward(ctx, name, process_set, *tensors):
        ctx.process_set = process_set
        handle = _operations.grouped_allgather_async(tensors, name, process_set)  # refuses tensors without rows
        ctx.rows = torch.tensor([[tensor.shape[0] for tensor in tensors]])
        return tuple(synchronize(handle))

    @staticmethod
    def backward(ctx, *gradients):
        mine = ctx.process_set.rank()
        rows = synchronize(_operations.allgather_async(ctx.rows, None, ctx.process_set))
        before = rows[:mine].sum(0).tolist()
        averaged = _averaged(gradients, ctx.process_set)
        return (None, None, *(gradient.narrow(0, begin, count) for gradient, begin, count
                              in zip(averaged, before, rows[mine].tolist())))


class _Broadcast(torch.autograd.Function):
    """The root's gradient is the mean over ranks; nothing came of the others' tensors."""

    @staticmethod
    def forward(ctx, root_rank, name, process_set, tensor):
        ctx.root_rank, ctx.process_set = root_rank, process_set
        return (synchronize(_operations.broadcast_async(tensor, root_rank, name, process_set)),)

    @staticmethod
    def backward(ctx, gradient):
        averaged, = _averaged([gradient], ctx.process_set)
        return None, None, None, averaged if slipway.rank() == ctx.root_rank else torch.zeros_like(averaged)


class _Alltoall(torch.autograd.Function):
    """Each row's gradient goes back to where the row came from."""

    @staticmethod
    def forward(ctx, splits, name, process_set, tensor):
        ctx.process_set = process_set
        received, ctx.received_rows = synchronize(_operations.alltoall_async(tensor, splits, name, process_set))
        ctx.mark_non_differentiable(ctx.received_rows)
        return received, ctx.received_rows

    @staticmethod
    def backward(ctx, gradient, _):
        returned, _ = synchronize(_operations.alltoall_async(gradient, ctx.received_rows, None, ctx.process_set))
        return None, None, None, returned


class _Reducescatter(torch.autograd.Function):
    """The gradients of all parts, put together; for Sum times the number of ranks."""

    @staticmethod
    def forward(ctx, how, *tensors):
        ctx.how = how
        return tuple(synchronize(_operations.grouped_reducescatter_async(
            tensors, how.name, how.op, how.process_set, how.prescale_factor, how.postscale_factor)))

    @staticmethod
    def backward(ctx, *gradients):
        process_set = ctx.how.process_set
        factor = ctx.how.prescale_factor * ctx.how.postscale_factor
        if ctx.how.op == Sum:
            factor *= process_set.size()
        gathered = synchronize(_operations.grouped_allgather_async(gradients, None, process_set))
        return (None, *(gradient * factor for gradient in gathered))


def _all(function, operation, tensors, how, compression):
    pairs = [compression.compress(tensor) for tensor in tensors]
    compressed = [tensor for tensor, _ in pairs]
    if _needs_gradient(compressed):
        how.require_gradient(operation)
    results = _apply(function, compressed, how)
    return [compression.decompress(result, context) for result, (_, context) in zip(results, pairs)]


def grouped_allreduce(tensors, average=None, name=None, compression=Compression.none, op=None, prescale_factor=1.0,
                      postscale_factor=1.0, process_set=global_process_set):
    how = _Reduction(chosen_op(op, average), name, prescale_factor, postscale_factor, process_set)
    return _all(_Allreduce, "allreduce", tensors, how, compression)


def allreduce(tensor, average=None, name=None, compression=Compression.none, op=None, prescale_factor=1.0,
              postscale_factor=1.0, process_set=global_process_set):
    return grouped_allreduce([tensor], average, name, compression, op, prescale_factor, postscale_factor,
                             process_set)[0]


def grouped_allgather(tensors, name=None, process_set=global_process_set):
    return _apply(_Allgather, tensors, name, process_set)


def allgather(tensor, name=None, process_set=global_process_set):
    return grouped_allgather([tensor], name, process_set)[0]


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    return _apply(_Broadcast, [tensor], root_rank, name, process_set)[0]


def alltoall(tensor, splits=None, name=None, process_set=global_process_set):
    rows = _operations.splits_of(tensor, splits, process_set)
    received, received_rows = _apply(_Alltoall, [tensor], rows, name, process_set)
    return received if splits is None else (received, received_rows)


def grouped_reducescatter(tensors, name=None, compression=Compression.none, op=None, process_set=global_process_set,
                          prescale_factor=1.0, postscale_factor=1.0):
    how = _Reduction(chosen_op(op), name, prescale_factor, postscale_factor, process_set)
    return _all(_Reducescatter, "reducescatter", tensors, how, compression)


def reducescatter(tensor, name=None, compression=Compression.none, op=None, process_set=global_process_set,
                  prescale_factor=1.0, postscale_factor=1.0):
    return grouped_reducescatter([tensor], name, compression, op, process_set, prescale_factor, postscale_factor)[0]
