"""Buckets of DistributedDataParallel are moved to memory that all ranks reach; nobody but the exchange sees it."""

import os
import resource
import sys
import types

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from slipway.errors import StateError
from slipway.torch_backend import buckets

STEPS = 4


def trained(group=None, views=True):
    """A model of more than one bucket after some steps, and its last gradients."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(200, 500), torch.nn.ReLU(), torch.nn.Linear(500, 300))
    model = DDP(model, process_group=group, gradient_as_bucket_view=views, bucket_cap_mb=0.3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    rows = torch.randn(8, 200, generator=torch.Generator().manual_seed(dist.get_rank()))
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=False)
        (model(rows)**2).mean().backward()
        optimizer.step()
    return model


def weights(model):
    return [parameter for parameter in model.parameters() if parameter.dim() == 2]


def require_same(model, other):
    for own, wanted in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(own, wanted)
        torch.testing.assert_close(own.grad, wanted.grad)


@pytest.mark.parametrize("views", [True, False])
def test_buckets_are_moved_and_the_result_is_that_of_gloo(gloo, views):
    model = trained(views=views)
    require_same(model, trained(gloo, views))
    assert all(weight.grad.is_shared() == views for weight in weights(model))


def test_ranks_may_differ_in_what_they_can_move(gloo, monkeypatch):
    monkeypatch.setattr(buckets, "_room_for", lambda size: dist.get_rank() == 0)
    model = trained()
    require_same(model, trained(gloo))
    assert all(weight.grad.is_shared() == (dist.get_rank() == 0) for weight in weights(model))


def test_memory_that_the_library_refuses_is_copied(gloo, monkeypatch):
    def refuse(name, *arguments):
        assert name == "slipway_adopt"
        raise StateError("there is no shared memory")
    monkeypatch.setattr(buckets, "_calls", types.SimpleNamespace(call=refuse, ask=buckets._calls.ask))
    before = len(buckets.shared._held)
    require_same(trained(), trained(gloo))
    assert len(buckets.shared._held) == before


def test_a_process_without_descriptors_left_copies_its_buckets(gloo):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    tensor = torch.full((30_000,), 3.0)
    alone = buckets.Buckets()
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, before[1]))
    try:
        with pytest.raises(OSError):
            open(os.devnull)
        alone.place(tensor)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert not alone.holds(tensor) and tensor.eq(3).all()


class AllReduced(torch.autograd.Function):
    seen = []

    @staticmethod
    def forward(ctx, rows):
        return rows.clone()

    @staticmethod
    def backward(ctx, gradient):
        own = gradient.clone()
        dist.all_reduce(own)
        AllReduced.seen.append(own)
        return own


def test_tensors_of_the_program_stay_where_they_are():
    rows = torch.ones(50_000, requires_grad=True)
    AllReduced.apply(rows).sum().backward()
    dist.all_reduce(rows.detach())
    assert not AllReduced.seen[-1].is_shared() and not rows.is_shared()
    assert AllReduced.seen[-1].eq(dist.get_world_size()).all()


@pytest.fixture
def own():
    """Buckets of this test alone."""
    made = buckets.Buckets()
    yield made
    while made._held:
        made._give_up()


def test_the_views_of_a_tensor_go_along(own):
    tensor = torch.arange(30_000.0)
    view = tensor[100:]
    own.place(tensor)
    assert own.holds(tensor) and own.holds(tensor[:10]) and not own.holds(view)
    assert tensor.equal(torch.arange(30_000.0))
    view.fill_(7)
    assert tensor[99].item() == 99 and tensor[100].item() == 7


def test_parts_and_tensors_without_room_are_not_moved(own, monkeypatch):
    part = torch.zeros(30_000)[:20_000]
    own.place(part)
    monkeypatch.setattr(buckets, "_FILE_SYSTEM", "/no/such/folder")
    alone = torch.zeros(30_000)
    own.place(alone)
    assert not own.holds(part) and not own.holds(alone)
    assert not part.is_shared() and not alone.is_shared()


def test_what_is_not_exchanged_any_more_is_forgotten_and_keeps_its_values(own, monkeypatch):
    monkeypatch.setattr(buckets, "_FORGOTTEN_AFTER", 3)
    old, new = torch.full((30_000,), 2.0), torch.ones(30_000)
    for tensor in (old, *[new] * 5):
        own.place(tensor)
    assert not own.holds(old) and own.holds(new)
    assert old.eq(2).all()


def test_new_tensors_at_each_step_are_left_alone_after_a_while(own, monkeypatch):
    monkeypatch.setattr(buckets, "_MOST_MOVES", 2)
    tensors = [torch.zeros(30_000) for _ in range(3)]
    for tensor in tensors:
        own.place(tensor)
    assert [own.holds(tensor) for tensor in tensors] == [True, True, False]


def test_only_the_engine_of_torch_counts_as_backward():
    assert not buckets.called_by_backward(sys._getframe())
