"""Which reductions there are for which dtype, and how each is done.

The library reduces floats and the integers of 32 and 64 bits. The rest is composed of an exchange of slices, in which
each rank combines one slice of all ranks in rank order, and an allgather of the slices: as many bytes as an allreduce
by reduce-scatter and allgather, but the combining is torch's. All ranks get the same bits.
"""

import functools

import torch
from torch.distributed import ReduceOp

from slipway.collectives import even_split
from slipway.errors import ArgumentError, NotSupportedError
from slipway.torch_backend.exchange import DTYPES, dense, is_dense

_NAMES = ("SUM", "AVG", "MIN", "MAX", "PRODUCT", "BAND", "BOR", "BXOR", "PREMUL_SUM")
_LIBRARY_OPS = {"SUM": 0, "AVG": 1, "MIN": 2, "MAX": 3, "PRODUCT": 4}
_BITWISE = {"BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}
_OF_BOOLS = {"SUM": "BOR", "MAX": "BOR", "PRODUCT": "BAND", "MIN": "BAND", "BAND": "BAND", "BOR": "BOR", "BXOR": "BXOR"}
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def name_of(op):
    """"SUM" of a ReduceOp, in all forms that torch has for one."""
    for name in _NAMES:
        if hasattr(ReduceOp, name) and op == getattr(ReduceOp, name):
            return name
    raise ArgumentError(f"there is no reduction {op}; there are {', '.join(_NAMES)}")


def _factor_of(op):
    """The factor of a PREMUL_SUM, where this torch shows it to Python."""
    state = op.__getstate__() if hasattr(op, "__getstate__") else None
    if isinstance(state, tuple) and len(state) == 2 and state[1] is not None:
        return state[1]
    raise NotSupportedError("this version of torch does not show the factor of PREMUL_SUM; multiply the tensor by it, "
                            "and reduce with SUM")


class Reduction:
    """A reduction of tensors of one dtype. Errors of making one: ArgumentError, NotSupportedError."""

    def __init__(self, op, dtype):
        name = name_of(op)
        self._factor = _factor_of(op) if name == "PREMUL_SUM" else None
        name = "SUM" if name == "PREMUL_SUM" else name
        self._require(name, dtype)
        self._name = _OF_BOOLS[name] if dtype == torch.bool else name
        self._real = _REAL.get(dtype) if name in ("SUM", "AVG") else None
        self._op = _LIBRARY_OPS.get(name) if (self._real or dtype) in DTYPES else None

    @staticmethod
    def _require(name, dtype):
        if dtype == torch.bool and name not in _OF_BOOLS:
            raise ArgumentError(f"{name} of {dtype} means nothing; use SUM (or), PRODUCT (and), BXOR")
        if name in _BITWISE and (dtype.is_floating_point or dtype.is_complex):
            raise ArgumentError(f"{name} is for integers and bool, not for {dtype}; use view(torch.int32) and the like")
        if dtype.is_complex and (name in ("MIN", "MAX") or dtype not in _REAL):
            raise ArgumentError(f"{name} of {dtype} means nothing; use SUM, AVG or PRODUCT, or torch.view_as_real")
        if dtype.is_floating_point and dtype not in DTYPES:
            raise NotSupportedError(f"{dtype} is moved, never reduced; convert it to bfloat16 or float32")

    def _prepared(self, flat):
        return flat if self._factor is None else flat * self._factor

    def _raw(self, flat):
        """What the library combines: a complex number is two floats."""
        return torch.view_as_real(flat).view(-1) if self._real else flat

    def all(self, exchange, tensor):
        """Combines `tensor` over all ranks, in place."""
        flat = dense(tensor).view(-1)
        if self._factor is not None:
            flat = self._prepared(flat)
        if self._op is not None:
            exchange.allreduce(self._raw(flat), self._op)
        else:
            flat = self._all_by_slices(exchange, flat)
        if not is_dense(tensor) or flat.data_ptr() != tensor.data_ptr():
            tensor.copy_(flat.view(tensor.shape))

    def scatter(self, exchange, sent, received, counts):
        """`received` gets this rank's piece of the combination of `sent`; both dense, `counts` elements for each."""
        sent = self._prepared(sent)
        if self._op is None:
            received.copy_(self._slice(exchange, sent, counts).view(received.shape))
            return
        width = 2 if self._real else 1
        exchange.reduce_scatter(self._raw(sent), self._raw(received.view(-1)), [n * width for n in counts], self._op)

    def _all_by_slices(self, exchange, flat):
        counts = even_split(flat.numel(), exchange.size)
        own = self._slice(exchange, flat, counts)
        result = torch.empty_like(flat)
        exchange.allgather(own, result, counts)
        return result

    def _slice(self, exchange, flat, counts):
        own = counts[exchange.rank]
        received = torch.empty(own * exchange.size, dtype=flat.dtype, device=flat.device)
        exchange.alltoall(flat, counts, received, [own] * exchange.size)
        return self._combine(received.view(exchange.size, own))

    def _combine(self, rows):
        """One slice of each rank, combined. Sums and products wrap around; a mean is exact, then rounded to zero."""
        if self._name in _BITWISE:
            return functools.reduce(_BITWISE[self._name], rows).contiguous()
        if self._name in ("MIN", "MAX"):
            return (rows.amin(0) if self._name == "MIN" else rows.amax(0)).contiguous()
        wide = rows.dtype if rows.dtype.is_complex else torch.int64
        if self._name == "PRODUCT":
            return rows.prod(0, dtype=wide).to(rows.dtype)
        total = rows.sum(0, dtype=wide)
        return (torch.div(total, len(rows), rounding_mode="trunc") if self._name == "AVG" else total).to(rows.dtype)
