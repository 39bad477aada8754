"""What stands around DistributedDataParallel in torch.distributed, over the backend "slipway" and over gloo."""

import importlib

import pytest
import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.distributed.algorithms.model_averaging import averagers
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from torch_backend_ddp_test import Perceptron, compare


def wrapped_model(group, **options):
    torch.manual_seed(5)
    return DDP(Perceptron(), process_group=group, **options)


def losses_of(model, optimizer, steps, seed=200):
    generator = torch.Generator().manual_seed(seed + dist.get_rank())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(Perceptron.inputs(generator)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def state(model):
    return [value.clone() for value in model.state_dict().values()]


def test_join_with_uneven_inputs(gloo):
    results = []
    for group in (None, gloo):
        model = wrapped_model(group)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        with model.join():
            losses = losses_of(model, optimizer, 2 + dist.get_rank())
        results.append(losses + state(model))
    compare(*results)


@pytest.mark.parametrize("views", [False, True])
def test_zero_redundancy_optimizer(gloo, views):
    results = []
    for group in (None, gloo):
        model = wrapped_model(group, gradient_as_bucket_view=views)
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, process_group=group
                                            or dist.group.WORLD, parameters_as_bucket_view=views, lr=0.01)
        losses = losses_of(model, optimizer, 4)
        optimizer.consolidate_state_dict(to=0)
        moments = []
        if dist.get_rank() == 0:
            moments = [entry["exp_avg"] for _, entry in sorted(optimizer.state_dict()["state"].items())]
        results.append(losses + state(model) + moments)
    compare(*results)


def test_zero_redundancy_optimizer_with_join(gloo):
    results = []
    for group in (None, gloo):
        model = wrapped_model(group)
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, process_group=group
                                            or dist.group.WORLD, lr=0.01)
        with Join([model, optimizer]):
            losses = losses_of(model, optimizer, 2 + dist.get_rank())
        results.append(losses + state(model))
    compare(*results)


def test_periodic_model_averaging(gloo):
    results = []
    for group in (None, gloo):
        torch.manual_seed(6)
        model = Perceptron()
        averager = averagers.PeriodicModelAverager(period=2, process_group=group or dist.group.WORLD)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        losses = []
        for step in range(4):
            losses += losses_of(model, optimizer, 1, 300 + step)
            averager.average_parameters(model.parameters())
        results.append(losses + state(model))
    compare(*results)


def test_clipping_schedules_and_checkpoints_of_one_file(gloo, tmp_path_factory):
    """A loop as users write it: rank 0 saves, all wait, all load."""
    folder = [str(tmp_path_factory.mktemp("run")) if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder, 0)
    model = wrapped_model(None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for seed in range(3):
        losses_of(model, optimizer, 1, seed)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        schedule.step()
    if dist.get_rank() == 0:
        torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, folder[0] + "/last.pt")
    dist.barrier()
    saved = torch.load(folder[0] + "/last.pt")
    again = wrapped_model(None)
    again.module.load_state_dict(saved["model"])
    compare(state(again), state(model))


def sharded_checkpoints():
    for name in ("torch.distributed.checkpoint", "torch.distributed._shard.checkpoint"):  # the second in torch 1.13
        try:
            return importlib.import_module(name)
        except (ImportError, ValueError):  # torch 1.13 has dataclasses that Python 3.11 refuses
            pass
    return None


def test_sharded_checkpoints(gloo, tmp_path_factory):
    checkpoint = sharded_checkpoints()
    if checkpoint is None:
        pytest.skip("this Python cannot import sharded checkpoints of this torch")
    folder = [str(tmp_path_factory.mktemp("shards")) if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder, 0)
    save = getattr(checkpoint, "save_state_dict", None) or checkpoint.save
    load = getattr(checkpoint, "load_state_dict", None) or checkpoint.load
    model = wrapped_model(None)
    losses_of(model, torch.optim.SGD(model.parameters(), lr=0.05), 2)
    save(state_dict=model.module.state_dict(), storage_writer=checkpoint.FileSystemWriter(folder[0]))
    other = Perceptron()
    values = other.state_dict()
    load(state_dict=values, storage_reader=checkpoint.FileSystemReader(folder[0]))
    compare(list(values.values()), state(model.module))


def test_autocast_to_bfloat16(gloo):
    results = []
    for group in (None, gloo):
        model = wrapped_model(group)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        with torch.autocast("cpu", torch.bfloat16):
            losses = losses_of(model, optimizer, 3)
        results.append(losses + state(model))
    compare(*results)
