"""Reductions of the backend "slipway": against gloo in the same processes where gloo can do them, and against the sum
that every rank computes by itself."""

import pytest
import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

from torch_groups import DTYPES, input_of, inputs, mine, near, or_none

SHAPES = [(1,), (0,), (7,), (5, 13), (3000,), (70001,)]
ARITHMETIC = {"SUM": ReduceOp.SUM, "AVG": ReduceOp.AVG, "MIN": ReduceOp.MIN, "MAX": ReduceOp.MAX,
              "PRODUCT": ReduceOp.PRODUCT}
BITWISE = {"BAND": ReduceOp.BAND, "BOR": ReduceOp.BOR, "BXOR": ReduceOp.BXOR}
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


def expected(name, dtype, shape):
    """Computed here from the inputs of all ranks."""
    rows = inputs(dtype, shape)
    if dtype == torch.bool:
        return {"SUM": rows.any(0), "MAX": rows.any(0), "MIN": rows.all(0), "PRODUCT": rows.all(0),
                "BXOR": rows.sum(0) % 2 == 1}[name]
    if name in BITWISE:
        result = rows[0].clone()
        for row in rows[1:]:
            result = {"BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}[name](result, row)
        return result
    rows = rows.to(WIDE.get(dtype, dtype))
    if name in ("MIN", "MAX"):
        return (rows.amin(0) if name == "MIN" else rows.amax(0)).to(dtype)
    if name == "PRODUCT":
        return rows.prod(0).to(dtype)
    total = rows.sum(0)
    if name == "AVG":
        total = total / len(rows) if dtype.is_floating_point or dtype.is_complex else \
            torch.div(total, len(rows), rounding_mode="trunc")
    return total.to(dtype)


def means_something(name, dtype):
    return not (dtype.is_complex and name in ("MIN", "MAX")) and not (dtype == torch.bool and name == "AVG")


def same_as_gloo(name, dtype):
    """Gloo adds bools as bytes: 1 + 1 is then a bool that is neither; and it has no AVG."""
    return name != "AVG" and not (dtype == torch.bool and name in ("SUM", "BXOR"))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_allreduce(gloo, name, dtype, shape):
    if not means_something(name, dtype):
        with pytest.raises((ValueError, RuntimeError)):
            dist.all_reduce(mine(dtype, shape), ARITHMETIC[name])
        return
    tensor = mine(dtype, shape)
    if dtype.is_complex and name == "PRODUCT":  # all_reduce refuses it for all backends
        options = dist.AllreduceOptions()
        options.reduceOp = ReduceOp.PRODUCT
        dist.distributed_c10d._get_default_group().allreduce([tensor], options).wait()
    else:
        dist.all_reduce(tensor, ARITHMETIC[name])
    near(tensor, expected(name, dtype, shape))
    if same_as_gloo(name, dtype) and shape != (0,):
        theirs = mine(dtype, shape)
        if or_none(lambda: dist.all_reduce(theirs, ARITHMETIC[name], group=gloo) or True):
            near(tensor, theirs)


@pytest.mark.parametrize("dtype", INTEGERS + (torch.bool,), ids=str)
@pytest.mark.parametrize("name", BITWISE)
def test_bitwise_allreduce(gloo, name, dtype):
    name_of_bools = {"BAND": "MIN", "BOR": "MAX", "BXOR": "BXOR"}[name] if dtype == torch.bool else name
    for shape in ((1,), (5, 13), (3000,)):
        tensor = mine(dtype, shape)
        dist.all_reduce(tensor, BITWISE[name])
        near(tensor, expected(name_of_bools, dtype, shape))


def test_bitwise_reductions_of_floats_are_refused(gloo):
    with pytest.raises(ValueError, match="BAND is for integers"):
        dist.all_reduce(torch.ones(3), ReduceOp.BAND)


def test_all_ranks_get_the_same_bits(gloo):
    for dtype in (torch.float32, torch.float16, torch.complex64, torch.int8):
        tensor = mine(dtype, (70001,))
        dist.all_reduce(tensor)
        of_all = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
        dist.all_gather(of_all, tensor)
        assert all(torch.equal(other, tensor) for other in of_all)


def test_sums_of_small_integers_wrap_around(gloo):
    size = dist.get_world_size()
    tensor = torch.full((5,), 100, dtype=torch.int8)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [(100 * size + 128) % 256 - 128] * 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.complex64, torch.bool], ids=str)
def test_reduce_changes_the_root_alone(gloo, dtype):
    for root in range(dist.get_world_size()):
        tensor = mine(dtype, (501,))
        dist.reduce(tensor, root)
        near(tensor, expected("SUM", dtype, (501,)) if dist.get_rank() == root else mine(dtype, (501,)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.int64, torch.complex128], ids=str)
@pytest.mark.parametrize("width", [0, 1, 1000])
def test_reduce_scatter(gloo, dtype, width):
    size, rank = dist.get_world_size(), dist.get_rank()
    pieces = [mine(dtype, (width,), salt) for salt in range(size)]
    output = torch.empty(width, dtype=dtype)
    dist.reduce_scatter(output, pieces)
    near(output, sum_of(dtype, width, rank))
    flat = torch.empty(width, dtype=dtype)
    dist.reduce_scatter_tensor(flat, torch.cat(pieces))
    assert torch.equal(flat, output)


def sum_of(dtype, width, salt):
    return inputs(dtype, (width,), salt).to(WIDE.get(dtype, dtype)).sum(0).to(dtype)


def test_reduce_scatter_of_pieces_that_differ_in_size(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    output = torch.empty(10 * rank + 1)
    dist.reduce_scatter(output, [mine(torch.float32, (10 * salt + 1,), salt) for salt in range(size)])
    near(output, inputs(torch.float32, (10 * rank + 1,), rank).sum(0))


def test_tensors_that_are_not_contiguous(gloo):
    whole = input_of(dist.get_rank(), torch.float32, (6, 8)).clone()
    before = whole.clone()
    dist.all_reduce(whole.t()[2:5])
    wanted = before.clone()
    wanted.t()[2:5] = inputs(torch.float32, (6, 8)).sum(0).t()[2:5]
    near(whole, wanted)
    channels = torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last)
    dist.all_reduce(channels)
    assert torch.equal(channels, torch.full((2, 3, 4, 4), float(dist.get_world_size())))


def test_coalesced(gloo):
    tensors = [mine(torch.float32, (17,)), mine(torch.float32, (3, 5), 1), mine(torch.float64, (4,), 2)]
    group = dist.distributed_c10d._get_default_group()
    group.allreduce_coalesced(tensors).wait()
    for salt, (tensor, shape, dtype) in enumerate(zip(tensors, ((17,), (3, 5), (4,)),
                                                      (torch.float32, torch.float32, torch.float64))):
        near(tensor, inputs(dtype, shape, salt).sum(0))


def test_sparse_tensors_are_added(gloo):
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor = torch.sparse_coo_tensor([[0, rank + 1, rank + 1]], torch.tensor([[1., 2.], [3., 4.], [5., 6.]]),
                                     (size + 2, 2))
    theirs = tensor.clone()
    dist.all_reduce(tensor)
    dist.all_reduce(theirs, group=gloo)
    near(tensor.to_dense(), theirs.to_dense())


def test_what_has_no_factor_is_said(gloo):
    make = getattr(torch.distributed, "_make_nccl_premul_sum", None)
    if make is None:
        pytest.skip("this torch has no PREMUL_SUM")
    tensor = torch.ones(3)
    try:
        dist.all_reduce(tensor, make(0.5))
    except NotImplementedError as error:
        assert "multiply the tensor by it" in str(error)
    else:
        near(tensor, torch.full((3,), 0.5 * dist.get_world_size()))
