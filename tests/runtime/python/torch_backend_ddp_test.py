"""DistributedDataParallel over the backend "slipway" and over gloo, in the same processes: the same losses, gradients
and parameters. Bound: 1e-6 of each value for float32, times the ranks; hooks that round to 16 bits compare with their
bound."""

import contextlib
import copy

import pytest
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel as DDP


STEPS = 4


class Perceptron(torch.nn.Sequential):
    """Three layers; more than one bucket."""

    def __init__(self):
        super().__init__(torch.nn.Linear(20, 300), torch.nn.Tanh(), torch.nn.Linear(300, 100), torch.nn.ReLU(),
                         torch.nn.Linear(100, 4))

    inputs = staticmethod(lambda generator: torch.randn(8, 20, generator=generator))


class Convolutions(torch.nn.Sequential):
    """With buffers that rank 0 gives to all."""

    def __init__(self):
        super().__init__(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3),
                         torch.nn.BatchNorm2d(8), torch.nn.Flatten(), torch.nn.Linear(128, 4))

    inputs = staticmethod(lambda generator: torch.randn(4, 3, 8, 8, generator=generator))


class ChannelsLast(Convolutions):
    def __init__(self):
        super().__init__()
        self.to(memory_format=torch.channels_last)


class Branches(torch.nn.Module):
    """Each rank leaves out another branch, at each step."""

    def __init__(self):
        super().__init__()
        self.branches = torch.nn.ModuleList(torch.nn.Linear(20, 4) for _ in range(3))
        self.step = dist.get_rank()

    inputs = Perceptron.inputs

    def forward(self, rows):
        self.step += 1
        return self.branches[self.step % 3](rows)


class Recurrent(torch.nn.Module):
    """The same parameters several times in one pass."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = torch.nn.GRUCell(20, 30), torch.nn.Linear(30, 4)

    inputs = Perceptron.inputs

    def forward(self, rows):
        state = torch.zeros(len(rows), 30)
        for _ in range(3):
            state = self.cell(rows, state)
        return self.out(state)


class SparseEmbedding(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = torch.nn.Embedding(50, 16, sparse=True), torch.nn.Linear(16, 4)

    inputs = staticmethod(lambda generator: torch.randint(0, 50, (8, 5), generator=generator))

    def forward(self, rows):
        return self.out(self.table(rows).mean(1))


class TwoPrecisions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(20, 50), torch.nn.Linear(50, 4).double()

    inputs = Perceptron.inputs

    def forward(self, rows):
        return self.second(self.first(rows).tanh().double()).float()


def train(kind, group, hook=None, passes=1, steps=STEPS, momentum=0.9, bucket_mb=0.1, **options):
    """Losses, the gradients of the last step, and the parameters and buffers after it."""
    torch.manual_seed(3 + dist.get_rank())  # DDP gives all ranks the parameters of rank 0
    model = kind()
    wrapped = DDP(model, process_group=group, bucket_cap_mb=bucket_mb, **options)
    if hook is not None:
        hook(wrapped, group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=momentum)
    generator = torch.Generator().manual_seed(100 + dist.get_rank())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        for number in range(passes):
            with wrapped.no_sync() if number + 1 < passes else contextlib.nullcontext():
                loss = wrapped(kind.inputs(generator)).square().mean()
                loss.backward()
        losses.append(loss.detach())
        optimizer.step()
    gradients = [p.grad.to_dense().clone() for p in model.parameters() if p.grad is not None]
    return torch.stack(losses), gradients, [value.clone() for value in model.state_dict().values()]


def compare(ours, theirs, bound=1e-6):
    bound *= dist.get_world_size()
    for got, wanted in zip(ours, theirs):
        torch.testing.assert_close(got, wanted, rtol=bound, atol=bound)


def all_reduce_hook(model, group):
    model.register_comm_hook(group, default_hooks.allreduce_hook)


def fp16_hook(model, group):
    model.register_comm_hook(group, default_hooks.fp16_compress_hook)


def power_sgd_hook(model, group):
    """Over gloo one bucket after the other: what its callbacks ask for comes in another order on each rank, and hangs."""
    state = powerSGD_hook.PowerSGDState(process_group=group, matrix_approximation_rank=2, start_powerSGD_iter=2,
                                        min_compression_rate=0.5)

    def one_at_a_time(state, bucket):
        future = powerSGD_hook.powerSGD_hook(state, bucket)
        future.wait()
        return future
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook if group is None else one_at_a_time)


def own_hook(model, group):
    """A hook as users write them: an asynchronous operation, then something with its result."""
    group = group or dist.group.WORLD

    def halve(_, bucket):
        work = dist.all_reduce(bucket.buffer(), group=group, async_op=True)
        return work.get_future().then(lambda future: future.value()[0].div_(2 * dist.get_world_size()))
    model.register_comm_hook(None, halve)


CASES = {
    "plain": (Perceptron, {}),
    "one bucket": (Perceptron, {"bucket_mb": 25}),
    "gradients as views of buckets": (Perceptron, {"gradient_as_bucket_view": True}),
    "static graph": (Perceptron, {"static_graph": True}),
    "unused parameters": (Branches, {"find_unused_parameters": True, "momentum": 0}),
    "parameters used several times": (Recurrent, {}),
    "parameters used several times, static graph": (Recurrent, {"static_graph": True, "gradient_as_bucket_view": True}),
    "buffers": (Convolutions, {}),
    "buffers of each rank": (Convolutions, {"broadcast_buffers": False}),
    "channels last": (ChannelsLast, {}),
    "no_sync": (Perceptron, {"passes": 3}),
    "no_sync and views": (Perceptron, {"passes": 2, "gradient_as_bucket_view": True}),
    "two precisions": (TwoPrecisions, {}),
    "sparse gradients": (SparseEmbedding, {"momentum": 0}),
    "hook allreduce": (Perceptron, {"hook": all_reduce_hook}),
    "hook of one's own": (Perceptron, {"hook": own_hook}),
    "hook fp16": (Perceptron, {"hook": fp16_hook}),
    "hook PowerSGD": (Perceptron, {"hook": power_sgd_hook, "steps": 6}),
}
ROUNDED = {"hook fp16": 2e-3, "hook PowerSGD": 1e-4}


@pytest.mark.parametrize("case", CASES)
def test_the_same_as_over_gloo(gloo, case):
    kind, options = CASES[case]
    ours, theirs = train(kind, None, **options), train(kind, gloo, **options)
    bound = ROUNDED.get(case, 1e-6)
    for got, wanted in zip(ours, theirs):
        compare(list(got), list(wanted), bound)


def test_all_ranks_have_the_same_parameters(gloo):
    _, _, parameters = train(Perceptron, None)
    for value in parameters:
        of_all = [torch.empty_like(value) for _ in range(dist.get_world_size())]
        dist.all_gather(of_all, value)
        assert all(torch.equal(other, value) for other in of_all)


def test_a_bfloat16_model_has_the_mean_gradient(gloo):
    """Gloo of this torch may not know the dtype, so the mean is computed here."""
    model = torch.nn.Linear(30, 5).to(torch.bfloat16)
    wrapped = DDP(copy.deepcopy(model))
    for value, other in zip(model.parameters(), wrapped.module.parameters()):
        value.data.copy_(other.data)
    rows = torch.full((2, 30), dist.get_rank() + 1.0, dtype=torch.bfloat16)
    wrapped(rows).sum().backward()
    mean = sum(rank + 1.0 for rank in range(dist.get_world_size())) / dist.get_world_size()
    torch.testing.assert_close(wrapped.module.weight.grad, torch.full((5, 30), 2 * mean, dtype=torch.bfloat16),
                               rtol=2e-2, atol=2e-2)


def test_a_group_of_some_ranks(gloo):
    size = dist.get_world_size()
    some = list(range(max(1, size - 1)))
    ours, theirs = dist.new_group(some), dist.new_group(some, backend="gloo")
    if dist.get_rank() in some:
        for got, wanted in zip(train(Perceptron, ours), train(Perceptron, theirs)):
            compare(list(got), list(wanted))
