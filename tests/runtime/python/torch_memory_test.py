"""DistributedOptimizer: gradients that torch makes in memory that all ranks of the node reach."""

import gc
import os
import threading

import pytest
import torch

import slipway.torch as distributed
from slipway.teams import Team
from slipway.torch_training import gradient_memory

STEPS, WIDTH = 4, 48  # weights of 9216 bytes
MODES = [{}, {"compression": "bf16"}, {"mode": "delayed", "lag": 1, "sync_first": 0, "total_steps": STEPS},
         {"clip_norm": 0.01}, {"check_finite": True, "bucket_bytes": 10000}]


class Net(torch.nn.Module):
    """Layers of one size, which backward comes to in an order of the caller's."""

    def __init__(self, seed=1):
        super().__init__()
        torch.manual_seed(seed)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(5))

    def forward(self, values, order=range(5)):
        return sum(self.layers[index](values).tanh() * (index + 1) for index in order)


def loss_of(model, step, rank, order=range(5)):
    made = torch.Generator().manual_seed(1000 * step + rank)
    return model(torch.randn(16, WIDTH, generator=made), order).square().mean()


def wrapped(model, **settings):
    return distributed.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
                                            model.named_parameters(), **settings)


def train(job, steps=STEPS, after_step=lambda model, optimizer: None, clear=True, order=range(5), **settings):
    """The weights, and how many gradients were exchanged where torch had made them."""
    model = Net()
    optimizer = wrapped(model, **settings)
    before = Team.submit_at
    there = []
    Team.submit_at = lambda team, index, array: (there.append(in_memory(optimizer, array)), before(team, index, array))
    try:
        for step in range(steps):
            optimizer.zero_grad(clear)
            loss_of(model, step, job.rank(), order).backward()
            optimizer.step()
            after_step(model, optimizer)
    finally:
        Team.submit_at = before
    optimizer.close()
    return torch.cat([p.detach().flatten() for p in model.parameters()]), sum(there)


def in_memory(optimizer, tensor):
    """Whether it lies in the shared block of the optimizer."""
    first = optimizer._flat.data_ptr()
    return first <= tensor.data_ptr() < first + optimizer._flat.numel()


def weights_of(optimizer):
    return [slot.parameter for slot in optimizer._slots if slot.parameter.dim() == 2]


@pytest.fixture
def lent(job):
    """Without it, torch's allocator cannot be told here, or there is nothing to exchange."""
    optimizer = wrapped(Net())
    usable = optimizer._memory is not None
    optimizer.close()
    if not usable:
        assert job.size() == 1
        pytest.skip("a lone rank exchanges nothing")


@pytest.fixture
def copies(monkeypatch):
    monkeypatch.setenv("SLIPWAY_TORCH_MEMORY", "0")


@pytest.mark.parametrize("settings", MODES)
def test_bits_are_those_of_gradients_that_are_copied(job, lent, monkeypatch, settings):
    made, there = train(job, **settings)
    assert there >= 4 * STEPS  # of five weights, the first is made before its hook says that backward has begun
    monkeypatch.setenv("SLIPWAY_TORCH_MEMORY", "0")
    copied, there = train(job, **settings)
    assert there == 0
    assert torch.equal(made, copied)


@pytest.mark.parametrize("settings", MODES[:2])
def test_ranks_may_differ_in_where_gradients_are(job, lent, monkeypatch, settings):
    copied, _ = train(job, **settings)
    if job.rank() == 0:
        monkeypatch.setenv("SLIPWAY_TORCH_MEMORY", "0")
    mixed, there = train(job, **settings)
    assert (there == 0) == (job.rank() == 0)
    assert torch.equal(mixed, copied)


def test_each_rank_has_its_own_order_of_gradients_of_one_size(job, lent, monkeypatch):
    def another(rank):
        return [(index * 2 + rank) % 5 for index in range(5)]
    made, there = train(job, order=another(job.rank()))
    assert there >= 4 * STEPS
    monkeypatch.setenv("SLIPWAY_TORCH_MEMORY", "0")
    copied, _ = train(job, order=another(job.rank()))
    assert torch.equal(made, copied)


def test_gradients_that_the_program_keeps_stay_as_they_are(job, lent):
    plain, _ = train(job)
    kept = []

    def keep(model, optimizer):
        kept.extend((p.grad, p.grad.clone()) for p in weights_of(optimizer) if p.grad is not p)

    kept_all, there = train(job, after_step=keep)
    assert torch.equal(plain, kept_all)
    assert there < 4 * STEPS  # no memory was left for those of the last steps
    owned = [pair for pair in kept if pair[0]._base is None]
    assert owned and all(torch.equal(*pair) for pair in owned)


def test_passes_are_added_where_the_first_one_lies(job, lent, monkeypatch):
    def run():
        model = Net()
        optimizer = wrapped(model, backward_passes_per_step=2)
        for step in range(STEPS):
            optimizer.zero_grad(True)
            for part in range(2):
                loss_of(model, 2 * step + part, job.rank()).backward()
            assert all(in_memory(optimizer, p.grad) for p in weights_of(optimizer)[1:]) or not optimizer._memory
            optimizer.step()
        optimizer.close()
        return torch.cat([p.detach().flatten() for p in model.parameters()])
    made = run()
    monkeypatch.setenv("SLIPWAY_TORCH_MEMORY", "0")
    assert torch.equal(made, run())


@pytest.mark.parametrize("clear", [False, None])
def test_gradients_that_are_cleared_in_place_stay_there(job, lent, clear):
    by_none, _ = train(job)
    in_place, _ = train(job, clear=clear)
    torch.testing.assert_close(in_place, by_none)


def test_weights_and_the_state_of_the_optimizer_are_made_elsewhere(job, lent):
    def check(model, optimizer):
        momenta = [state["momentum_buffer"] for state in optimizer.state.values()]
        assert len(momenta) == 10
        assert not any(in_memory(optimizer, tensor) for tensor in [*model.parameters(), *momenta])
    train(job, after_step=check)


def test_only_the_thread_of_backward_and_only_until_the_last_gradient(job, lent):
    model = Net()
    optimizer = wrapped(model)
    made = {}

    def make(name):
        made[name] = torch.empty(WIDTH, WIDTH)

    def during(gradient):
        thread = threading.Thread(target=make, args=("other thread",))
        thread.start()
        thread.join()
        make("this thread")

    for step in range(2):
        optimizer.zero_grad(True)
        loss = loss_of(model, step, job.rank())
        model.layers[1].bias.register_hook(during)
        loss.backward()
        make("after backward")
        optimizer.step()
    assert {name: in_memory(optimizer, tensor) for name, tensor in made.items()} == {
        "other thread": False, "this thread": True, "after backward": False}
    optimizer.close()


def test_a_child_neither_takes_nor_gives_back(job, lent):
    model = Net()
    optimizer = wrapped(model)
    statuses = []

    def during(gradient):
        mine = torch.full((WIDTH, WIDTH), 1.0)
        child = os.fork()
        if child == 0:
            elsewhere = torch.full((WIDTH, WIDTH), 2.0)
            good = in_memory(optimizer, mine) and not in_memory(optimizer, elsewhere)
            del mine
            others = [torch.full((WIDTH, WIDTH), 3.0) for _ in range(8)]
            os._exit(0 if good and not any(in_memory(optimizer, tensor) for tensor in others) else 1)
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        assert torch.all(mine == 1)

    for step in range(2):
        optimizer.zero_grad(True)
        loss = loss_of(model, step, job.rank())
        handle = model.layers[1].bias.register_hook(during)
        loss.backward()
        handle.remove()
        optimizer.step()
    assert statuses == [0, 0]
    optimizer.close()


@pytest.mark.parametrize("closed", [True, False])
def test_gradients_outlive_their_optimizer(job, lent, closed):
    model = Net()
    optimizer = wrapped(model)
    loss_of(model, 0, job.rank()).backward()
    optimizer.step()
    kept = [p.grad for p in weights_of(optimizer) if p.grad.data_ptr() in gradient_memory._lent]
    values = [tensor.clone() for tensor in kept]
    addresses = {tensor.data_ptr() for tensor in kept}
    assert addresses
    team = optimizer.team
    if closed:
        optimizer.close()
    del optimizer
    for parameter in model.parameters():
        parameter.grad = None
    gc.collect()
    train(job)
    assert all(torch.equal(*pair) for pair in zip(kept, values))
    assert addresses <= gradient_memory._left_behind
    kept.clear()
    train(job)
    assert not addresses & set(gradient_memory._lent)
    if not closed:
        team.unregister()


def test_gradients_of_parameters_that_share_memory_are_copied(job, lent):
    """The gradient of a sum of two views is one tensor, which both parameters get."""
    first, second = (torch.nn.Parameter(torch.zeros(WIDTH * WIDTH)) for _ in range(2))
    begin = torch.nn.Parameter(torch.zeros(1))
    optimizer = distributed.DistributedOptimizer(torch.optim.SGD([first, second, begin], lr=1.0))
    for _ in range(3):
        optimizer.zero_grad(True)
        both = (first.view(WIDTH, WIDTH) + second.view(WIDTH, WIDTH)) * torch.full((WIDTH, WIDTH), job.rank() + 1.0)
        (both.sum() + begin).sum().backward()
        optimizer.step()
    mean = (job.size() + 1) / 2
    assert torch.all(first == -3 * mean) and torch.all(second == -3 * mean)
    optimizer.close()


def test_where_users_of_a_gradient_cannot_be_told_it_is_copied(job, lent, monkeypatch):
    made, _ = train(job)
    monkeypatch.setattr(gradient_memory, "_users_of_one", lambda: None)
    copied, there = train(job)
    assert there == 0 and torch.equal(made, copied)
