"""For tests of the backend "slipway" of torch.distributed: the same ranks once more as a group of gloo, and inputs that
every rank knows of all others."""

import functools

import torch
import torch.distributed as dist

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16,
          torch.int32, torch.int64, torch.bool, torch.complex64, torch.complex128)
# Of one addition, times the ranks; comparisons allow for it at most.
BOUNDS = {torch.float32: 1e-6, torch.float64: 1e-14, torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.complex64: 1e-6,
          torch.complex128: 1e-14}


@functools.lru_cache(maxsize=None)
def input_of(rank, dtype, shape, salt=0):
    """What one rank hands over: small numbers, so that sums fit in every dtype."""
    generator = torch.Generator().manual_seed(1000 * rank + salt)
    if dtype.is_complex:
        real = torch.float32 if dtype == torch.complex64 else torch.float64
        return torch.complex(*(torch.randn(shape, generator=generator).to(real) for _ in range(2)))
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 7, shape, generator=generator).to(dtype)


def mine(dtype, shape, salt=0):
    return input_of(dist.get_rank(), dtype, shape, salt).clone()


def inputs(dtype, shape, salt=0):
    """Of all ranks, one row for each."""
    return torch.stack([input_of(rank, dtype, shape, salt) for rank in range(dist.get_world_size())])


def near(got, wanted):
    """Equal, or for floats within the bound of the dtype."""
    if got.dtype in BOUNDS:
        bound = BOUNDS[got.dtype] * dist.get_world_size()
        torch.testing.assert_close(got, wanted, rtol=bound, atol=bound)
    else:
        assert got.dtype == wanted.dtype and torch.equal(got, wanted)


def or_none(call):
    """What gloo gives; None where it cannot do that."""
    try:
        return call()
    except (RuntimeError, ValueError, TypeError):
        return None
