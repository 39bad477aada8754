"""Sum of sparse tensors: what DistributedDataParallel asks for with embeddings of sparse=True."""

import torch

from slipway.errors import ArgumentError
from slipway.torch_backend.exchange import dense
from slipway.torch_backend.reductions import name_of


def allreduce(exchange, tensor, op):
    """An operation that leaves the coalesced sum in `tensor`. Three allgathers: each rank gets all elements of all."""
    if name_of(op) != "SUM":
        raise ArgumentError(f"allreduce: sparse tensors are added up only, and not combined by {name_of(op)}; use "
                            "to_dense()")

    def carry_out():
        own = tensor.coalesce()
        counts = torch.empty(exchange.size, dtype=torch.int64)
        exchange.allgather(torch.tensor([own._nnz()]), counts, [1] * exchange.size)
        counts = counts.tolist()
        indices = _gathered(exchange, own.indices().t(), counts).t()
        values = _gathered(exchange, own.values(), counts)
        total = torch.sparse_coo_tensor(indices, values, tensor.shape).coalesce()
        tensor.copy_(total)
    return carry_out


def _gathered(exchange, rows, counts):
    """The rows of all ranks, in rank order."""
    rows = dense(rows)
    width = rows[0].numel() if len(rows) else torch.Size(rows.shape[1:]).numel()
    result = torch.empty((sum(counts), *rows.shape[1:]), dtype=rows.dtype, device=rows.device)
    exchange.allgather(rows, result, [count * width for count in counts])
    return result
