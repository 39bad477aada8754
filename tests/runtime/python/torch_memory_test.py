"""DistributedOptimizer: gradients that torch makes in memory that all ranks of the node reach."""

import ctypes
import gc
import mmap
import os
import threading

import pytest
import torch

import slipway.torch as distributed
from slipway import _calls, memory
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
        kept.extend((p.grad, p.grad.clone()) for p in model.parameters())

    kept_all, there = train(job, after_step=keep)
    assert torch.equal(plain, kept_all)
    assert there < 4 * STEPS  # no memory was left for those of the last steps
    assert kept and all(torch.equal(*pair) for pair in kept)


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


def test_lending_ends_with_backward_although_a_parameter_has_no_gradient(job, lent):
    model = Net()
    optimizer = wrapped(model)
    for step in range(2):
        optimizer.zero_grad(True)
        loss_of(model, step, job.rank(), order=range(4)).backward()
        assert not optimizer._memory.lending
        assert not in_memory(optimizer, torch.empty(WIDTH, WIDTH))
        optimizer.step()
    optimizer.close()


def test_lending_ends_with_zero_grad_after_an_error(job, lent):
    model = Net()
    optimizer = wrapped(model)

    def fail(gradient):
        raise ValueError("in backward")

    optimizer.zero_grad(True)
    loss = loss_of(model, 0, job.rank())
    handle = model.layers[2].bias.register_hook(fail)
    with pytest.raises(ValueError, match="in backward"):
        loss.backward()
    handle.remove()
    assert optimizer._memory.lending
    with pytest.raises(job.StateError, match="between backward and step"):
        optimizer.zero_grad(True)
    assert not in_memory(optimizer, torch.empty(WIDTH, WIDTH))
    optimizer.step()
    optimizer.close()


def test_memory_is_lent_only_where_no_tensor_lies(job, lent):
    """Activations are as large as the weights, and are made where gradients lay, if that memory is lent."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(6)])
    optimizer = distributed.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.0))
    for step in range(STEPS):
        optimizer.zero_grad(False)
        rows = torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(step))
        model(rows).tanh().square().sum().backward()
        optimizer.step()
        expected = torch.autograd.grad(model(rows).tanh().square().sum(), list(model.parameters()))
        for parameter, wanted in zip(model.parameters(), expected):
            torch.testing.assert_close(parameter.grad, wanted)
            parameter.grad = parameter.grad.detach()  # another tensor, in the same memory
    optimizer.close()


def test_an_optimizer_may_vanish_while_others_are_swept(job, lent, monkeypatch):
    """The garbage collector runs at any moment."""
    take = gradient_memory.take
    left_behind = gradient_memory._left_behind
    monkeypatch.setattr(gradient_memory, "take", lambda address: (left_behind.add(-address), take(address))[1])
    left_behind.update([1, 2, 3])
    gradient_memory._sweep()
    monkeypatch.undo()
    assert {-1, -2, -3} <= left_behind
    gradient_memory._sweep()
    assert not {-1, -2, -3} & left_behind


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


def test_a_child_frees_what_lies_between_blocks(job, lent):
    above = job.alloc(5000, torch.float32)
    tensor = torch.empty(1 << 26, dtype=torch.uint8)  # malloc maps it alone, and so unmaps it
    address = tensor.data_ptr()
    below, size = (address - (1 << 40)) & ~4095, 8192
    map_at(below, size)
    assert below < address < above.data_ptr()
    blocks = [(below, size), (above.data_ptr(), 20000)]
    assert all(gradient_memory._ask("slipway_torch_lend", *block) for block in blocks)
    child = os.fork()
    if child == 0:
        del tensor
        os._exit(0 if not is_mapped(address) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert is_mapped(address)
    assert all(gradient_memory._ask("slipway_torch_take_back", first) for first, _ in blocks)
    _calls.call("slipway_free", below)


def map_at(address, size):
    """Memory at a place that is free, as a block of the library."""
    descriptor = os.memfd_create("torch_memory_test")
    os.ftruncate(descriptor, size)
    system = ctypes.CDLL(None)
    system.mmap.restype = ctypes.c_void_p
    system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    flags = mmap.MAP_SHARED | 0x100000  # MAP_FIXED_NOREPLACE
    assert system.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, 0) == address
    _calls.call("slipway_adopt", address, size, descriptor)
    os.close(descriptor)


def is_mapped(address):
    with open("/proc/self/maps") as maps:
        parts = [[int(end, 16) for end in line.split()[0].split("-")] for line in maps]
    return any(first <= address < end for first, end in parts)


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


@pytest.mark.parametrize("device, number", [
    (None, None), ("cpu", None), (torch.device("cpu"), None), (2, 2), ("cuda", 0), ("cuda:2", 2),
    (torch.device("cuda", 3), 3), (torch.tensor(1), 1)])
def test_a_device_is_a_number_or_as_torch_has_it(monkeypatch, device, number):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert memory._gpu_of(device) == number


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", 0.5, "meta", torch.device("meta"), [0]])
def test_what_is_no_device_is_an_error_that_names_the_argument(job, device):
    with pytest.raises(job.ArgumentError, match="device is .*give the number of a GPU"):
        job.alloc(3, torch.float32, device=device)


def test_memory_of_the_cpu_by_its_name(job):
    assert job.alloc((2, 3), torch.float32, device="cpu").tolist() == [[0.0] * 3] * 2
    assert job.alloc(3, device=torch.device("cpu")).tolist() == [0.0] * 3
