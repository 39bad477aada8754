"""DistributedOptimizer: gradients that the program converts, moves, replaces or keeps."""

import gc
import types
import weakref

import pytest
import torch

import slipway.torch as distributed
from slipway import memory
from slipway.teams import Team

STEPS, WIDTH = 6, 48  # weights of 9216 bytes, and of less than 4 KiB


def model_of(bias=True):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH, bias=bias), torch.nn.Linear(WIDTH, WIDTH, bias=bias),
                               torch.nn.Linear(WIDTH, 10, bias=bias))


def wrapped(model, **settings):
    return distributed.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
                                            model.named_parameters(), **settings)


def loss_of(model, step, rank):
    made = torch.Generator().manual_seed(1000 * step + rank)
    first = next(model.parameters())
    return model(torch.randn(16, WIDTH, generator=made).to(first.dtype)).square().mean()


def nothing(model):
    pass


def train(job, after_step=nothing, after_backward=nothing, clear=True, bias=True):
    """The weights after some steps."""
    model = model_of(bias)
    optimizer = wrapped(model)
    for step in range(STEPS):
        optimizer.zero_grad(clear)
        loss_of(model, step, job.rank()).backward()
        after_backward(model)
        optimizer.step()
        after_step(model)
    optimizer.close()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def convert(model):
    model.double()
    model.float()


def copy_data(model):
    for parameter in model.parameters():
        parameter.grad.data = parameter.grad.data.clone()


def replace_by_alias(model):
    for parameter in model.parameters():
        parameter.grad = parameter.grad.detach()


def replace_by_copy(model):
    for parameter in model.parameters():
        parameter.grad = parameter.grad.clone()


def share(model):
    model.share_memory()


def exchange_places(model):
    """Gradients of one size, each with the values that it had."""
    first, second = model[0].weight, model[1].weight
    values = first.grad.clone()
    first.grad, second.grad = second.grad, first.grad
    second.grad.copy_(first.grad)
    first.grad.copy_(values)


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("change", [convert, copy_data, replace_by_alias, replace_by_copy, share, exchange_places])
def test_gradients_may_change_their_memory_after_a_step(job, change, clear):
    assert torch.equal(train(job, after_step=change, clear=clear), train(job, clear=clear))


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("change", [convert, copy_data, replace_by_alias])
def test_gradients_may_change_their_memory_before_a_step(job, change, clear):
    assert torch.equal(train(job, after_backward=change, clear=clear), train(job, clear=clear))


def test_the_exchange_goes_on_during_backward_after_a_conversion(job):
    model = model_of()
    optimizer = wrapped(model)
    submitted = []
    for step in range(4):
        optimizer.zero_grad(True)
        loss_of(model, step, job.rank()).backward()
        submitted.append(sum(slot.submitted for slot in optimizer._slots))
        optimizer.step()
        if step == 1:
            convert(model)
    assert submitted[:2] == [6, 6] and submitted[3] == 6
    optimizer.close()


def test_a_model_of_another_dtype_needs_a_new_optimizer(job):
    model = model_of()
    optimizer = wrapped(model)
    loss_of(model, 0, job.rank()).backward()
    optimizer.step()
    model.to(torch.bfloat16)
    optimizer.zero_grad(True)
    with pytest.raises(job.StateError, match=r"'2.bias' is now torch.bfloat16 of .*; it was torch.float32 of"):
        loss_of(model, 1, job.rank()).backward()
        optimizer.step()  # torch 1 forgets hooks of what is converted
    optimizer.close()
    optimizer = wrapped(model)
    optimizer.zero_grad(True)
    loss_of(model, 1, job.rank()).backward()
    optimizer.step()
    assert all(p.grad.dtype == torch.bfloat16 for p in model.parameters())
    optimizer.close()


def test_a_model_on_a_gpu_of_another_dtype_needs_a_new_optimizer(job, monkeypatch):
    monkeypatch.setattr(distributed, "_travels_in_batches", lambda device: True)
    model = model_of()
    optimizer = wrapped(model)
    model.to(torch.bfloat16)
    with pytest.raises(job.StateError, match="'2.bias' is now torch.bfloat16"):
        loss_of(model, 1, job.rank()).backward()
        optimizer.step()
    optimizer.close()


def test_a_parameter_of_another_shape_needs_a_new_optimizer(job):
    parameter = torch.nn.Parameter(torch.zeros(WIDTH))
    optimizer = distributed.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0))
    parameter.data = torch.zeros(2 * WIDTH)
    with pytest.raises(job.StateError, match=r"of shape \(96,\) on cpu; it was .* of shape \(48,\)"):
        optimizer.synchronize()
    optimizer.close()


@pytest.mark.parametrize("bias", [True, False])
def test_kept_gradients_keep_their_values(job, bias):
    kept = []

    def keep(model):
        kept.extend((p.grad, p.grad.clone()) for p in model.parameters())
        kept.extend((p.grad[:1], p.grad[:1].clone()) for p in model.parameters())

    assert torch.equal(train(job, after_step=keep, bias=bias), train(job, bias=bias))
    assert len(kept) == STEPS * 2 * (6 if bias else 3)
    assert all(torch.equal(*pair) for pair in kept)


def test_what_moves_between_backward_and_step_in_lent_memory_is_an_error(job):
    model = model_of()
    optimizer = wrapped(model)
    for step in range(2):
        optimizer.zero_grad(True)
        loss_of(model, step, job.rank()).backward()
        optimizer.step()
    optimizer.zero_grad(True)
    loss_of(model, 2, job.rank()).backward()
    lent = [slot for slot in optimizer._slots if slot._elsewhere is not None]
    assert bool(lent) == (job.size() > 1)
    for slot in lent:
        slot.parameter.grad.share_memory_()
    if lent:
        with pytest.raises(job.StateError, match=f"'{lent[0].name}' was moved to other memory"):
            optimizer.step()
    else:
        optimizer.step()
    optimizer.close()


@pytest.mark.parametrize("move", [lambda tensor: setattr(tensor, "data", tensor.clone()), torch.Tensor.share_memory_])
@pytest.mark.parametrize("shared", [True, False])
def test_a_tensor_of_a_team_that_has_moved_is_an_error(job, move, shared):
    tensors = [job.alloc(5000, torch.float32) if shared else torch.zeros(5000) for _ in range(2)]
    team = Team("moved", tensors)
    team.wait()
    block = weakref.ref(memory.block_of(tensors[0].data_ptr())) if shared else lambda: None
    move(tensors[0])
    with pytest.raises(job.StateError, match="array 0 has other memory"):
        team.submit(0)
    team.submit(1)
    with pytest.raises(job.StateError, match="array 0 has other memory"):
        team.wait()
    team.submit_at(0, torch.ones(5000))
    team.wait()
    gc.collect()
    assert (block() is not None) == shared  # the library still writes there
    team.unregister()
    del team, tensors
    gc.collect()
    assert block() is None


def train_with_frozen_layer(model, optimizer, clear):
    """The weights of the layer when it is frozen, and how far it has moved when it is no longer."""
    for step in range(STEPS):
        if step in (2, 4):
            model[1].requires_grad_(step == 4)
        if step == 2:
            before = model[1].weight.detach().clone()
        if step == 4:
            moved = model[1].weight.detach() - before
        optimizer.zero_grad(clear)
        loss_of(model, step, 0).backward()
        optimizer.step()
        assert (model[1].weight.grad is None) == (clear and step in (2, 3))
    return before, moved


@pytest.mark.parametrize("batches", [True, False])
@pytest.mark.parametrize("clear", [True, False])
def test_a_layer_that_is_frozen_in_between_moves_as_in_torch_alone(job, monkeypatch, clear, batches):
    monkeypatch.setattr(distributed, "_travels_in_batches", lambda device: batches)
    if batches:  # torch makes no gradients of a GPU in memory of others
        monkeypatch.setattr(distributed.GradientMemory, "of", lambda slots: None)

    def decaying(model):
        return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    alone, model = model_of(), model_of()
    optimizer = distributed.DistributedOptimizer(decaying(model), model.named_parameters())
    expected = train_with_frozen_layer(alone, decaying(alone), clear)
    found = train_with_frozen_layer(model, optimizer, clear)
    for one, other in zip(expected, found):
        torch.testing.assert_close(one, other)
    assert bool(found[1].any()) == (not clear), "without a gradient it stays, to the bit"
    for one, other in zip(alone.parameters(), model.parameters()):
        torch.testing.assert_close(one, other)
    optimizer.close()


def test_zero_grad_on_a_gpu_gives_a_frozen_layer_no_gradient(job, monkeypatch):
    model = model_of()
    optimizer = wrapped(model)
    block = types.SimpleNamespace(zero_=optimizer._flat.zero_, device=types.SimpleNamespace(type="cuda"))
    monkeypatch.setattr(optimizer, "_flat", block)
    model[1].requires_grad_(False)
    model[2].weight.grad = torch.ones_like(model[2].weight)
    model[2].requires_grad_(False)
    optimizer.zero_grad(set_to_none=False)
    assert model[1].weight.grad is None
    assert not model[0].weight.grad.any() and not model[2].weight.grad.any()
    optimizer.close()


def scale_in_place(model):
    for parameter in model.parameters():
        parameter.grad.mul_(0.5)


def clip(model):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-6)


def replace_by_product(model):
    for parameter in model.parameters():
        parameter.grad = parameter.grad * 0.5


def clear_by_model(model):
    model.zero_grad(set_to_none=True)


def change_one(model):
    model[1].weight.grad[0, 0] = 1.0


CHANGES = [scale_in_place, clip, replace_by_product, clear_by_model, change_one]


@pytest.mark.parametrize("batches", [True, False])
@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_gradients_that_change_between_backward_and_step_are_an_error(job, monkeypatch, change, clear, batches):
    monkeypatch.setattr(distributed, "_travels_in_batches", lambda device: batches)
    model = model_of()
    optimizer = wrapped(model)
    for step in range(3):
        optimizer.zero_grad(clear)
        loss_of(model, step, job.rank()).backward()
        change(model)
        with pytest.raises(job.StateError, match=r"gradient of '\d.(weight|bias)' was changed .* call synchronize\(\) first"):
            optimizer.step()
        optimizer.zero_grad(clear)
        loss_of(model, step, job.rank()).backward()
        optimizer.synchronize()
        change(model)
        optimizer.step()
    optimizer.close()


@pytest.mark.parametrize("settings", [{"backward_passes_per_step": 2}, {"accumulate": 2}, {"compression": "bf16"},
                                      {"mode": "delayed", "lag": 1, "sync_first": 0}, {"sparse_as_dense": True}])
@pytest.mark.parametrize("batches", [True, False])
@pytest.mark.parametrize("clear", [True, False])
def test_what_the_exchange_itself_writes_is_no_change(job, monkeypatch, settings, batches, clear):
    monkeypatch.setattr(distributed, "_travels_in_batches", lambda device: batches)
    table, layer = torch.nn.Embedding(4, WIDTH, sparse="sparse_as_dense" in settings), torch.nn.Linear(WIDTH, WIDTH)
    model = torch.nn.Sequential(table, layer)
    optimizer = distributed.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), **settings)
    for step in range(4):
        optimizer.zero_grad(clear)
        with optimizer.no_sync():
            model(torch.tensor([1, step])).sum().backward()
        for _ in range(settings.get("backward_passes_per_step", 1)):
            model(torch.tensor([1, step])).sum().backward()
        optimizer.step()
    optimizer.close()


def test_a_count_without_dimensions_is_averaged_as_a_number(job):
    assert job.average(torch.tensor(2 * job.rank())) == job.size() - 1


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("clear", [True, False])
def test_a_layer_that_was_frozen_when_wrapped_and_trains_now_is_an_error(job, named, clear):
    model = model_of()
    model[0].requires_grad_(False)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = distributed.DistributedOptimizer(inner, model.named_parameters() if named else None)
    loss_of(model, 0, job.rank()).backward()
    optimizer.step()
    model[0].requires_grad_(True)
    before = [p.detach().clone() for p in model.parameters()]
    optimizer.zero_grad(clear)
    loss_of(model, 1, job.rank()).backward()
    what = "'0.weight'" if named else rf"a parameter of shape \({WIDTH}, {WIDTH}\)"
    with pytest.raises(job.StateError, match=f"{what} was frozen when .*close\\(\\) the optimizer and wrap again"):
        optimizer.step()
    assert all(torch.equal(one, other) for one, other in zip(before, model.parameters()))
    optimizer.zero_grad(clear)
    assert all(p.grad is None if clear else not p.grad.any() for p in model.parameters())
    optimizer.close()
    again = distributed.DistributedOptimizer(inner, model.named_parameters())
    loss_of(model, 1, job.rank()).backward()
    again.step()
    assert not torch.equal(before[0], model[0].weight)
    job.check_match([p.detach() for p in model.parameters()])
    again.close()


def test_parameters_that_are_added_to_the_wrapped_optimizer_are_an_error(job):
    model = model_of()
    inner = torch.optim.SGD(model[0].parameters(), lr=0.1)
    optimizer = distributed.DistributedOptimizer(inner, model.named_parameters())
    inner.add_param_group({"params": model[1].parameters()})
    model[1].requires_grad_(False)
    loss_of(model, 0, job.rank()).backward()
    optimizer.step()  # frozen: nothing to exchange
    model[1].requires_grad_(True)
    loss_of(model, 0, job.rank()).backward()
    with pytest.raises(job.StateError, match=rf"a parameter of shape \({WIDTH}, {WIDTH}\) was not there when"):
        optimizer.step()
    optimizer.close()


def test_a_parameter_in_the_place_of_another_is_an_error(job):
    model = model_of()
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = distributed.DistributedOptimizer(inner, model.named_parameters())
    loss_of(model, 0, job.rank()).backward()
    optimizer.step()
    model[2] = torch.nn.Linear(WIDTH, 10)
    inner.param_groups[0]["params"] = list(model.parameters())  # as many as before
    optimizer.zero_grad()
    loss_of(model, 1, job.rank()).backward()
    with pytest.raises(job.StateError, match=rf"a parameter of shape \(10, {WIDTH}\) was not there when"):
        optimizer.step()
    optimizer.close()


def test_gradients_of_a_frozen_layer_that_are_left_from_before_are_cleared_as_in_torch(job):
    model = model_of()
    loss_of(model, 0, job.rank()).backward()
    model[0].requires_grad_(False)
    optimizer = wrapped(model)
    optimizer.zero_grad(set_to_none=True)
    assert model[0].weight.grad is None
    optimizer.close()


def test_a_step_is_dropped_after_its_backward_pass(job):
    model, dropping = model_of(), model_of()
    optimizer, dropper = wrapped(model), wrapped(dropping)
    for step in range(STEPS):
        for trained, its in ((model, optimizer), (dropping, dropper)):
            its.zero_grad()
            if trained is dropping:
                loss_of(trained, STEPS + step, job.rank()).backward()
                with pytest.raises(job.StateError, match=r"to drop them, call synchronize\(\) before it, on all ranks"):
                    its.zero_grad()
                its.synchronize()
                its.zero_grad()
            loss_of(trained, step, job.rank()).backward()
            its.step()
    for one, other in zip(model.parameters(), dropping.parameters()):
        assert torch.equal(one, other)
    optimizer.close()
    dropper.close()


@pytest.mark.parametrize("given, said", [
    (torch.nn.Linear(2, 2), "Linear is no pair"), (lambda: torch.nn.Linear(2, 2).parameters(), "Parameter is no pair"),
    (3, "int is no pair")])
def test_what_is_no_pair_of_name_and_tensor_is_said(job, given, said):
    parameters = given() if type(given) is type(lambda: 0) else given
    with pytest.raises(job.ArgumentError, match=f"broadcast_parameters: {said}.*hand over model.named_parameters"):
        distributed.broadcast_parameters(parameters)
