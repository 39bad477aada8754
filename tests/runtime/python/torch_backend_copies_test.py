"""Collectives of the backend "slipway" that only move data: against gloo in the same processes, and against what every
rank knows of the others."""

import pytest
import torch
import torch.distributed as dist

from torch_groups import DTYPES, input_of, mine, or_none

SHAPES = [(1,), (0,), (5, 13), (70001,)]
ALL_CASES = [(dtype, shape) for dtype in DTYPES for shape in ((5, 13), (70001,))] + [(torch.float32, (0,)),
                                                                                     (torch.bool, (1,))]
FEW = (torch.float32, torch.int8, torch.bool, torch.complex64)


def group_of_all():
    return dist.distributed_c10d._get_default_group()


def equal(got, wanted):
    assert all(torch.equal(a, b) for a, b in zip(got, wanted)) and len(got) == len(wanted)


@pytest.mark.parametrize("dtype,shape", ALL_CASES, ids=str)
def test_broadcast(gloo, dtype, shape):
    for root in range(dist.get_world_size()):
        tensor, theirs = mine(dtype, shape), mine(dtype, shape)
        dist.broadcast(tensor, root)
        assert torch.equal(tensor, input_of(root, dtype, shape))
        if shape != (0,) and or_none(lambda: dist.broadcast(theirs, root, group=gloo) or True):
            assert torch.equal(tensor, theirs)


@pytest.mark.parametrize("dtype,shape", ALL_CASES, ids=str)
def test_all_gather(gloo, dtype, shape):
    size = dist.get_world_size()
    got, theirs = ([torch.empty(shape, dtype=dtype) for _ in range(size)] for _ in range(2))
    dist.all_gather(got, mine(dtype, shape))
    equal(got, [input_of(rank, dtype, shape) for rank in range(size)])
    if shape != (0,) and or_none(lambda: dist.all_gather(theirs, mine(dtype, shape), group=gloo) or True):
        equal(got, theirs)
    flat = torch.empty((size * shape[0],) + shape[1:], dtype=dtype)
    dist.all_gather_into_tensor(flat, mine(dtype, shape))
    assert torch.equal(flat, torch.cat(got))


def test_all_gather_into_a_tensor_that_holds_the_input(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    flat = torch.zeros(size, 5)
    flat[rank] = rank + 1
    dist.all_gather_into_tensor(flat, flat[rank])
    assert torch.equal(flat, (torch.arange(size) + 1.).view(-1, 1).expand(size, 5))


def test_all_gather_of_tensors_that_differ_in_size(gloo):
    got = [torch.empty(10 * rank) for rank in range(dist.get_world_size())]
    dist.all_gather(got, mine(torch.float32, (10 * dist.get_rank(),)))
    equal(got, [input_of(rank, torch.float32, (10 * rank,)) for rank in range(dist.get_world_size())])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FEW, ids=str)
def test_gather_and_scatter(gloo, dtype, shape):
    size, rank = dist.get_world_size(), dist.get_rank()
    for root in range(size):
        got = [torch.empty(shape, dtype=dtype) for _ in range(size)] if rank == root else None
        dist.gather(mine(dtype, shape), got, root)
        if rank == root:
            equal(got, [input_of(other, dtype, shape) for other in range(size)])
        pieces = [mine(dtype, shape, salt) for salt in range(size)] if rank == root else None
        output, theirs = torch.empty(shape, dtype=dtype), torch.empty(shape, dtype=dtype)
        dist.scatter(output, pieces, root)
        assert torch.equal(output, input_of(root, dtype, shape, rank))
        if shape != (0,) and or_none(lambda: dist.scatter(theirs, pieces, root, group=gloo) or True):
            assert torch.equal(output, theirs)


@pytest.mark.parametrize("dtype", FEW, ids=str)
@pytest.mark.parametrize("width", [0, 1, 1000])
def test_all_to_all(gloo, dtype, width):
    size, rank = dist.get_world_size(), dist.get_rank()
    got = [torch.empty(width, dtype=dtype) for _ in range(size)]
    dist.all_to_all(got, [mine(dtype, (width,), salt) for salt in range(size)])
    equal(got, [input_of(other, dtype, (width,), rank) for other in range(size)])
    output, theirs = (torch.empty(size * width, dtype=dtype) for _ in range(2))
    pieces = torch.cat([mine(dtype, (width,), salt) for salt in range(size)])
    dist.all_to_all_single(output, pieces)
    assert torch.equal(output, torch.cat(got))
    if width and or_none(lambda: dist.all_to_all_single(theirs, pieces, group=gloo) or True):
        assert torch.equal(output, theirs)


def test_all_to_all_of_rows_that_differ_in_number(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    counts, come = [rank + to for to in range(size)], [of + rank for of in range(size)]
    sent = mine(torch.float64, (sum(counts), 3))
    output = torch.empty(sum(come), 3, dtype=torch.float64)
    dist.all_to_all_single(output, sent, come, counts)
    wanted = []
    for of in range(size):
        theirs = [of + to for to in range(size)]
        start = sum(theirs[:rank])
        wanted.append(input_of(of, torch.float64, (sum(theirs), 3))[start:start + theirs[rank]])
    assert torch.equal(output, torch.cat(wanted))


def test_tensors_that_are_not_contiguous(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    got = [torch.empty(4, 3).t() for _ in range(size)]
    dist.all_gather(got, torch.full((4, 3), float(rank)).t())
    equal(got, [torch.full((3, 4), float(other)) for other in range(size)])
    tensor = torch.full((4, 3), float(rank)).t()
    dist.broadcast(tensor, size - 1)
    assert torch.equal(tensor, torch.full((3, 4), size - 1.0))
    lazily = torch.full((3,), complex(0, rank + 1)).conj()
    dist.broadcast(lazily, 0)
    assert torch.equal(lazily, torch.full((3,), complex(0, -1)))


def test_coalesced_gathers(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    got = [[torch.empty(2), torch.empty(3, dtype=torch.int64)] for _ in range(size)]
    group_of_all().allgather_coalesced(got, [torch.full((2,), float(rank)), torch.full((3,), rank)]).wait()
    for other, (floats, whole) in enumerate(got):
        assert floats.tolist() == [other] * 2 and whole.tolist() == [other] * 3
    outputs = [torch.empty(2 * size), torch.empty(size)]
    group_of_all().allgather_into_tensor_coalesced(outputs,
                                                   [torch.full((2,), 1.0 + rank), torch.full((1,), 5.0)]).wait()
    assert outputs[0].tolist() == [1.0 + other for other in range(size) for _ in range(2)]
    assert outputs[1].tolist() == [5.0] * size


def test_objects(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    got = [None] * size
    dist.all_gather_object(got, {"rank": rank, "text": "x" * 1000 * rank})
    assert [entry["rank"] for entry in got] == list(range(size))
    listed = [{"root": 0}, rank] if rank == 0 else [None, None]
    dist.broadcast_object_list(listed, 0)
    assert listed == [{"root": 0}, 0]
    dist.gather_object(rank, got if rank == 0 else None, 0)
    assert rank != 0 or got == list(range(size))
    output = [None]
    dist.scatter_object_list(output, [("to", to) for to in range(size)], 0)
    assert output == [("to", rank)]
