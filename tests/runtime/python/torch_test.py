"""DistributedOptimizer and what goes with it; torch tensors in the operations."""

import contextlib
from types import SimpleNamespace

import pytest
import torch

import slipway.torch as distributed
from slipway.collectives import even_split
from slipway.errors import NotFiniteError
from slipway.teams import Team
from slipway.torch_training import batches
from slipway.torch_training.slots import Slot

STEPS, BATCH = 6, 24


def model_of(seed=1):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))


def batch_of(step):
    made = torch.Generator().manual_seed(100 + step)
    return torch.randn(BATCH, 5, generator=made), torch.randn(BATCH, 3, generator=made)


def mine(job, batch):
    """The part of a batch that this rank trains on."""
    return [part.chunk(job.size())[job.rank()] for part in batch]


def loss_of(model, batch):
    return torch.nn.functional.mse_loss(model(batch[0]), batch[1])


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def train_alone(steps=STEPS, make=sgd, change=lambda model: None):
    """What one process makes of the whole batches."""
    model = model_of()
    optimizer = make(model)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, batch_of(step)).backward()
        change(model)
        optimizer.step()
    return weights(model)


def assert_same_on_all_ranks(job, model):
    job.check_match({name: p.detach() for name, p in model.named_parameters()})


@pytest.mark.parametrize("make", [sgd, lambda model: torch.optim.Adam(model.parameters(), lr=0.01)])
@pytest.mark.parametrize("clear", [None, True, False])
def test_ranks_with_parts_of_a_batch_train_like_one_with_the_whole(job, make, clear):
    model = model_of(seed=1 + job.rank())
    distributed.broadcast_parameters(model.state_dict())
    if job.rank() == 0:
        assert torch.equal(weights(model), weights(model_of()))
    optimizer = distributed.DistributedOptimizer(make(model), model.named_parameters())
    for step in range(STEPS):
        optimizer.zero_grad(*([] if clear is None else [clear]))
        loss_of(model, mine(job, batch_of(step))).backward()
        optimizer.step()
    torch.testing.assert_close(weights(model), train_alone(make=make), rtol=1e-4, atol=1e-6)
    assert_same_on_all_ranks(job, model)
    optimizer.close()


def test_gradients_lie_in_the_shared_block_one_after_the_other(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model))
    for clear in (True, False, None):
        optimizer.zero_grad(clear)
        loss_of(model, mine(job, batch_of(0))).backward()
        optimizer.step()
        at = optimizer._flat.data_ptr()
        for parameter in model.parameters():
            assert parameter.grad.data_ptr() == at
            at += -(-parameter.numel() * 4 // 64) * 64
    optimizer.close()


def test_gradients_are_submitted_while_backward_still_computes(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model), model.named_parameters())
    events = []
    take = optimizer._submit
    optimizer._submit = lambda index, slot: (events.append(slot.name), take(index, slot))
    model[1].register_full_backward_hook(lambda *_: events.append("tanh"))
    loss_of(model, mine(job, batch_of(0))).backward()
    assert sorted(events) == ["0.bias", "0.weight", "2.bias", "2.weight", "tanh"]
    assert set(events[:events.index("tanh")]) >= {"2.bias", "2.weight"}
    optimizer.step()
    optimizer.close()


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("passes", [1, 2])
def test_where_torch_has_one_thread_the_library_copies_the_gradients(job, one_thread, monkeypatch, passes):
    copied = []
    submit_from = Team.submit_from
    monkeypatch.setattr(Team, "submit_from", lambda team, *given: (copied.append(given[0]), submit_from(team, *given)))
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model), model.named_parameters(), backward_passes_per_step=passes)
    for step in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        for _ in range(passes):
            (loss_of(model, mine(job, batch_of(step))) / passes).backward()
        optimizer.step()
    assert sorted(copied) == sorted([*range(4)] * STEPS)
    torch.testing.assert_close(weights(model), train_alone(), rtol=1e-4, atol=1e-6)
    assert_same_on_all_ranks(job, model)
    optimizer.close()


def test_what_the_library_cannot_copy_is_copied_by_torch(job, one_thread):
    weight = torch.nn.Parameter(torch.zeros(3, 4))
    optimizer = distributed.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0))
    # The gradient of a sum is one number in all places, and that of a product with a transposed matrix is transposed.
    (weight.sum() * (job.rank() + 1)).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    (weight.t() * torch.arange(12.0).reshape(4, 3)).sum().backward()
    optimizer.step()
    mean = (job.size() + 1) / 2
    torch.testing.assert_close(weight.detach(), -mean - torch.arange(12.0).reshape(4, 3).t())
    optimizer.close()


@pytest.fixture
def in_batches(monkeypatch):
    """Gradients go as those of a GPU do. The sizes of the batches."""
    sizes = []
    submit_many = Team.submit_many
    monkeypatch.setattr(distributed, "_travels_in_batches", lambda device: True)
    monkeypatch.setattr(Team, "submit_many", lambda team, indices, stream=None:
                        (sizes.append(len(indices)), submit_many(team, indices, stream))[1])
    return sizes


@pytest.mark.parametrize("clear", [None, True, False])
def test_gradients_of_a_gpu_are_handed_over_together(job, in_batches, clear):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model), model.named_parameters())
    for step in range(STEPS):
        optimizer.zero_grad(clear)
        loss_of(model, mine(job, batch_of(step))).backward()
        assert in_batches == (step + 1) * [4]  # when backward has made the last one
        optimizer.step()
    assert in_batches == STEPS * [4]
    assert torch.allclose(weights(model), train_alone(), atol=1e-5)
    assert all(slot.holds(slot.parameter.grad) for slot in optimizer._slots)
    optimizer.close()


def test_large_gradients_of_a_gpu_do_not_wait_for_others(job, in_batches, monkeypatch):
    monkeypatch.setattr(batches, "MOST_BYTES", 4 * 7)  # less than most of them have
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model), model.named_parameters())
    loss_of(model, mine(job, batch_of(0))).backward()
    assert len(in_batches) >= 2 and sum(in_batches) >= 3
    optimizer.synchronize()
    assert sum(in_batches) == 4
    optimizer.close()


def test_streams_of_a_gpu_do_not_share_a_batch(job, in_batches, monkeypatch):
    streams = [16, 32]
    worked_on = []
    monkeypatch.setattr(batches, "stream_on", lambda device: streams[0])
    monkeypatch.setattr(batches, "_on", lambda stream, _: (worked_on.append(stream), contextlib.nullcontext())[1])
    team = Team("streams", [torch.zeros(3), torch.zeros(3), torch.zeros(3)])
    slots = [Slot("streams", SimpleNamespace(grad=torch.full((3,), 1.0 + job.rank())), view) for view in team.arrays]
    batch = batches.Batch(team, torch.device("cpu"))
    batch.add(0, slots[0])
    batch.add(1, slots[1])
    monkeypatch.setattr(batches, "stream_on", lambda device: streams[1])
    batch.add(2, slots[2])
    assert in_batches == [2] and worked_on == [streams[0]]
    batch.hand_over()
    assert in_batches == [2, 1] and worked_on == streams
    team.wait()
    assert all(view.tolist() == [(job.size() + 1) / 2] * 3 for view in team.arrays)
    team.unregister()


def test_backward_passes_are_added_before_one_exchange(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model), backward_passes_per_step=2)
    waits = []
    wait = optimizer.team.wait
    optimizer.team.wait = lambda: (waits.append(1), wait())
    for step in range(STEPS):
        optimizer.zero_grad(step % 2 == 0)
        for part in zip(*(half.chunk(2) for half in mine(job, batch_of(step)))):
            (loss_of(model, part) / 2).backward()
        optimizer.step()
    assert len(waits) == STEPS
    torch.testing.assert_close(weights(model), train_alone(), rtol=1e-4, atol=1e-6)
    optimizer.close()


@pytest.mark.parametrize("clear", [True, False])
def test_no_sync_adds_passes_up_for_the_next_exchange_as_in_ddp(job, clear):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model))
    for step in range(STEPS):
        optimizer.zero_grad(clear)
        first, *rest, last = zip(*(both.split(2) for both in mine(job, batch_of(step))))
        share = 1 / (len(rest) + 2)
        with optimizer.no_sync():
            for part in (first, *rest):
                (loss_of(model, part) * share).backward()
        (loss_of(model, last) * share).backward()
        optimizer.step()
    torch.testing.assert_close(weights(model), train_alone(), rtol=1e-4, atol=1e-6)
    assert_same_on_all_ranks(job, model)
    optimizer.close()


def test_passes_that_the_configuration_accumulates_survive_zero_grad(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model), accumulate=2)
    for step in range(STEPS):
        for half, part in enumerate(zip(*(half.chunk(2) for half in mine(job, batch_of(step))))):
            optimizer.zero_grad(step % 2 == 0)
            loss_of(model, part).backward()
            optimizer.step()
            assert optimizer.delivered == (half == 1)
    torch.testing.assert_close(weights(model), train_alone(), rtol=1e-4, atol=1e-6)
    assert_same_on_all_ranks(job, model)
    optimizer.close()


def test_a_backward_too_many_is_an_error_that_says_what_to_do(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model))
    loss_of(model, batch_of(0)).backward()
    with pytest.raises(job.StateError, match="backward_passes_per_step"):
        loss_of(model, batch_of(0)).backward()
    with pytest.raises(job.StateError, match="between backward and step"):
        optimizer.zero_grad()
    optimizer.step()
    with optimizer.no_sync():
        loss_of(model, batch_of(0)).backward()
    optimizer.zero_grad()
    optimizer.close()


def test_delayed_gradients_are_applied_one_step_later(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), mode="delayed", lag=1,
                                                 sync_first=0, total_steps=STEPS)
    alone = model_of()
    plain = torch.optim.SGD(alone.parameters(), lr=0.1)
    held = None
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, mine(job, batch_of(step))).backward()
        optimizer.step()
        assert optimizer.delivered == (step > 0)
        gradients = torch.autograd.grad(loss_of(alone, batch_of(step)), list(alone.parameters()))
        for parameter, gradient in zip(alone.parameters(), held or []):
            parameter.grad = gradient
        if held:
            plain.step()
        held = gradients
        torch.testing.assert_close(weights(model), weights(alone), rtol=1e-4, atol=1e-6)
    assert_same_on_all_ranks(job, model)
    optimizer.close()


def test_clipping_by_the_global_norm_is_that_of_torch(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model), clip_norm=0.05)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, mine(job, batch_of(step))).backward()
        optimizer.step()
        assert optimizer.norm() > 0.05
    expected = train_alone(change=lambda m: torch.nn.utils.clip_grad_norm_(m.parameters(), 0.05))
    torch.testing.assert_close(weights(model), expected, rtol=1e-3, atol=1e-5)
    optimizer.close()


def test_gradients_can_be_changed_between_synchronize_and_step(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model))
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, mine(job, batch_of(step))).backward()
        optimizer.synchronize()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        if step % 2 == 0:
            optimizer.step()
        else:
            with optimizer.skip_synchronize():
                optimizer.step()
    expected = train_alone(change=lambda m: torch.nn.utils.clip_grad_norm_(m.parameters(), 0.05))
    torch.testing.assert_close(weights(model), expected, rtol=1e-3, atol=1e-5)
    optimizer.close()


@pytest.mark.parametrize("compression", ["bf16", "fp16"])
def test_gradients_of_16_bits_on_the_wire_train_nearly_as_well(job, compression):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model), compression=compression)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, mine(job, batch_of(step))).backward()
        optimizer.step()
    torch.testing.assert_close(weights(model), train_alone(), rtol=0.05, atol=0.02)
    assert_same_on_all_ranks(job, model)
    optimizer.close()


def test_a_parameter_without_gradient_counts_as_zero(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0))
    before = weights(model)
    for clear in (True, False):
        optimizer.zero_grad(clear)
        if job.rank() == 0:
            model[0].weight.sum().backward()
        optimizer.step()
        assert torch.all(model[0].weight.grad == 1 / job.size())
        assert torch.all(model[2].weight.grad == 0)
    moved = weights(model) - before
    torch.testing.assert_close(moved[:35], torch.full((35,), -2 / job.size()))
    assert not moved[35:].any()
    optimizer.close()


def test_frozen_parameters_and_half_precision(job):
    model = model_of()
    model[0].bias.requires_grad_(False)
    model[2].to(torch.bfloat16)
    optimizer = distributed.DistributedOptimizer(sgd(model), model.named_parameters())
    loss = model[0](batch_of(0)[0]).mean() + sum(p.sum() for p in model[2].parameters())
    loss.backward()
    optimizer.step()
    assert model[0].bias.grad is None
    assert model[2].weight.grad.dtype == torch.bfloat16 and torch.all(model[2].weight.grad == 1)
    assert_same_on_all_ranks(job, model)
    optimizer.close()


def test_it_is_an_optimizer_for_schedulers_and_checkpoints(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model))
    assert isinstance(optimizer, torch.optim.Optimizer)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    loss_of(model, batch_of(0)).backward()
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.05
    state = optimizer.state_dict()
    other = sgd(model_of())
    other.load_state_dict(state)
    optimizer.load_state_dict(other.state_dict())
    assert "momentum_buffer" in next(iter(optimizer.state.values()))
    assert "SGD" in repr(optimizer)
    assert optimizer.step(lambda: loss_of(model, batch_of(1))) > 0
    optimizer.close()


def test_the_exchange_is_saved_and_loaded(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model), mode="delayed", sync_first=0)
    loss_of(model, batch_of(0)).backward()
    optimizer.step()
    assert not optimizer.delivered
    state = optimizer.exchange_state()
    optimizer.close()
    again = distributed.DistributedOptimizer(sgd(model), mode="delayed", sync_first=0)
    again.load_exchange_state(state)
    again.zero_grad()
    loss_of(model, batch_of(1)).backward()
    again.step()
    assert again.delivered
    again.close()


def test_optimizer_state_of_the_root_reaches_ranks_that_have_none(job):
    model = model_of()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 * (job.rank() + 1))
    if job.rank() == 0:
        loss_of(model, batch_of(0)).backward()
        optimizer.step()
    distributed.broadcast_parameters(model.named_parameters())
    distributed.broadcast_optimizer_state(optimizer)
    assert optimizer.param_groups[0]["lr"] == 0.1
    states = [optimizer.state[p] for p in model.parameters()]
    job.check_match([state["exp_avg"] for state in states])
    assert all(state["exp_avg"].any() and state["step"] == 1 for state in states)
    assert_same_on_all_ranks(job, model)


def test_broadcast_of_a_state_dict_with_buffers_of_any_dtype(job):
    norm = torch.nn.BatchNorm1d(3)
    norm.num_batches_tracked += job.rank() + 4
    flags = torch.tensor([job.rank() == 0, False])
    columns = torch.full((2, 3), float(job.rank())).t()
    distributed.broadcast_parameters({**norm.state_dict(), "flags": flags, "columns": columns})
    assert norm.num_batches_tracked == 4 and flags.tolist() == [True, False] and not columns.any()


def test_what_is_not_there_is_said(job):
    model = model_of()
    with pytest.raises(job.NotSupportedError, match="LBFGS"):
        distributed.DistributedOptimizer(torch.optim.LBFGS(model.parameters()))
    with pytest.raises(job.ArgumentError, match="no name for 2"):
        distributed.DistributedOptimizer(sgd(model), model[0].named_parameters())
    with pytest.raises(job.ArgumentError, match="same name"):
        named = [("w", p) for p in model.parameters()]
        distributed.DistributedOptimizer(sgd(model), named)
    with pytest.raises(job.ArgumentError, match="backward_passes_per_step"):
        distributed.DistributedOptimizer(sgd(model), backward_passes_per_step=0)
    with pytest.raises(job.ArgumentError, match="there is no setting 'chek_finite'; did you mean 'check_finite'"):
        distributed.DistributedOptimizer(sgd(model), chek_finite=True)
    embedding = torch.nn.Embedding(4, 2, sparse=True)
    optimizer = distributed.DistributedOptimizer(sgd(embedding))
    with pytest.raises(job.NotSupportedError, match="sparse"):
        embedding(torch.tensor([1])).sum().backward()
    optimizer.close()
    optimizer = distributed.DistributedOptimizer(sgd(embedding), sparse_as_dense=True)
    optimizer.zero_grad(set_to_none=True)
    embedding(torch.tensor([1])).sum().backward()
    optimizer.step()
    assert embedding.weight.grad[1].tolist() == [1, 1]
    with pytest.raises(job.NotSupportedError, match="wrap it again"):
        optimizer.add_param_group({"params": []})
    optimizer.close()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32,
                                   torch.int64])
def test_operations_take_tensors_of_each_dtype(job, dtype):
    total = job.size() * (job.size() + 1) // 2
    tensor = torch.full((2, 3), job.rank() + 1).to(dtype)
    assert job.allreduce(tensor) is tensor and torch.all(tensor == total)
    shared = job.alloc((2, 3), dtype)
    shared += job.rank() + 1
    assert torch.all(job.allreduce(shared, "max") == job.size())
    rows = job.allgather(tensor[:, 0].contiguous()[:1])
    assert rows.dtype == dtype and rows.tolist() == [total] * job.size()
    mine = job.reduce_scatter(torch.ones(job.size() + 1, 2).to(dtype))
    assert mine.shape == (even_split(job.size() + 1, job.size())[job.rank()], 2) and torch.all(mine == job.size())
    got, rows = job.alltoall(torch.full((job.size(),), job.rank()).to(dtype))
    assert got.tolist() == list(range(job.size())) and rows == [1] * job.size()


def test_tensors_that_are_not_taken(job):
    with pytest.raises(job.ArgumentError, match=r"tensor.contiguous\(\)"):
        job.allreduce(torch.zeros(2, 3).t())
    with pytest.raises(job.ArgumentError, match="bool"):
        job.allreduce(torch.zeros(2, dtype=torch.bool))
    with pytest.raises(job.ArgumentError, match="sparse"):
        job.allreduce(torch.zeros(2, 2).to_sparse())
    with pytest.raises(job.DeviceMemoryError, match="meta"):
        job.allreduce(torch.zeros(2, device="meta"))


def test_a_step_with_a_nan_is_dropped_on_all_ranks_and_training_goes_on(job):
    model = model_of()
    optimizer = distributed.DistributedOptimizer(sgd(model), model.named_parameters(), check_finite=True)
    for step in range(STEPS + 1):
        optimizer.zero_grad()
        bad = step == 2
        batch = mine(job, batch_of(step - (step > 2)))
        if bad and job.rank() == 0:
            batch[0] = batch[0] * float("nan")
        loss_of(model, batch).backward()
        before = weights(model)
        if bad:
            with pytest.raises(NotFiniteError, match="on rank 0 at step 2"):
                optimizer.step()
            assert torch.equal(weights(model), before)
        else:
            optimizer.step()
    assert_same_on_all_ranks(job, model)
    assert torch.allclose(weights(model), train_alone(), atol=1e-6)
    optimizer.close()
