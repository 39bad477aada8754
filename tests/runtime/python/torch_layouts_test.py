"""Parameters of channels_last and other orders in memory: gradients and states get the strides that torch gives them."""

import inspect

import pytest
import torch

import slipway.torch as distributed
from slipway.torch_training.layouts import has_strides, is_gapless, order_in_memory

STEPS = 4


def model_of(memory_format=torch.channels_last, dtype=torch.float64):
    torch.manual_seed(1)
    made = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Tanh(), torch.nn.Conv2d(8, 16, 3), torch.nn.Tanh(),
                               torch.nn.Conv2d(16, 4, 1), torch.nn.Conv2d(1, 2, (1, 2)))
    return made.to(dtype, memory_format=memory_format)


def loss_of(model, step, rank):
    made = torch.Generator().manual_seed(1000 * step + rank)
    images = torch.randn(2, 3, 7, 7, generator=made).to(model[0].weight.dtype)
    values = model[:5](images).mean(1, keepdim=True)
    return model[5](values).square().mean()


def gradients_of_torch(model, rank):
    loss_of(model, 0, rank).backward()
    strides = [p.grad.stride() for p in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = None
    return strides


def train(job, model, make, clear=True, after_step=lambda: None, **settings):
    optimizer = distributed.DistributedOptimizer(make(model.parameters()), model.named_parameters(), **settings)
    for step in range(STEPS):
        optimizer.zero_grad(clear)
        loss_of(model, step, job.rank()).backward()
        optimizer.step()
        after_step()
    optimizer.close()
    return [p.detach().clone() for p in model.parameters()]


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


@pytest.mark.parametrize("batches", [True, False])
@pytest.mark.parametrize("clear", [True, False])
def test_gradients_have_the_strides_that_torch_gives_them(job, monkeypatch, clear, batches):
    monkeypatch.setattr(distributed, "_travels_in_batches", lambda device: batches)
    model = model_of()
    wanted = gradients_of_torch(model, job.rank())
    parameters = list(model.parameters())
    assert not parameters[2].is_contiguous()

    def check():
        assert all(has_strides(p.grad, strides) for p, strides in zip(parameters, wanted))

    made = train(job, model, sgd, clear, check)
    plain = train(job, model_of(torch.contiguous_format), sgd, clear)
    for mine, other in zip(made, plain):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-12)
    job.check_match([each.contiguous() for each in made])


@pytest.mark.parametrize("settings", [{"compression": "bf16"}, {"mode": "delayed", "lag": 1, "sync_first": 0}])
def test_every_way_of_exchange_keeps_the_order_of_elements(job, settings):
    made = train(job, model_of(dtype=torch.float32), sgd, **settings)
    plain = train(job, model_of(torch.contiguous_format, torch.float32), sgd, **settings)
    for mine, other in zip(made, plain):
        torch.testing.assert_close(mine, other, rtol=1e-2, atol=1e-3)


def test_parameters_with_gaps_have_gradients_in_row_major_order(job):
    block = torch.zeros(4, 6)
    every_other = torch.nn.Parameter(block[:, ::2].t())
    assert not is_gapless(every_other)
    optimizer = distributed.DistributedOptimizer(torch.optim.SGD([every_other], lr=1.0))
    (every_other * torch.arange(12.0).view(3, 4)).sum().backward()
    optimizer.step()
    assert every_other.grad.is_contiguous() and torch.equal(every_other.detach(), -torch.arange(12.0).view(3, 4))
    optimizer.close()


def test_a_fused_optimizer_trains_like_one_that_is_not(job):
    if "fused" not in inspect.signature(torch.optim.Adam).parameters or torch.__version__ < "2.4":
        pytest.skip("torch has no fused optimizer for CPUs before 2.4")
    made = train(job, model_of(), lambda parameters: torch.optim.Adam(parameters, lr=0.01, fused=True))
    plain = train(job, model_of(), lambda parameters: torch.optim.Adam(parameters, lr=0.01, fused=False))
    for mine, other in zip(made, plain):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-12)


def test_states_that_reach_other_ranks_keep_their_strides(job):
    model = model_of()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    if job.rank() == 0:
        loss_of(model, 0, 0).backward()
        optimizer.step()
    distributed.broadcast_optimizer_state(optimizer)
    states = [optimizer.state[p]["exp_avg"] for p in model.parameters()]
    assert all(state.stride() == p.stride() for state, p in zip(states, model.parameters()))
    job.check_match([state.contiguous() for state in states])


def test_states_arrive_where_a_program_has_another_default_device(job, monkeypatch):
    model, empty = model_of(), torch.empty
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    if job.rank() == 0:
        loss_of(model, 0, 0).backward()
        optimizer.step()
    with monkeypatch.context() as patched:
        patched.setattr(torch, "empty",
                        lambda *shape, device="meta", **options: empty(*shape, device=device, **options))
        distributed.broadcast_optimizer_state(optimizer)
    states = [optimizer.state[p]["exp_avg"] for p in model.parameters()]
    assert all(state.any() for state in states)
    job.check_match([state.contiguous() for state in states])


def test_ranks_with_other_orders_in_memory_are_an_error(job):
    if job.size() == 1:
        pytest.skip("needs other ranks")
    model = model_of(torch.channels_last if job.rank() == 0 else torch.contiguous_format)
    with pytest.raises(job.MismatchError, match="'2.weight float64"):
        distributed.DistributedOptimizer(sgd(model.parameters()), model.named_parameters())


def test_orders_in_memory():
    assert order_in_memory(torch.zeros(2, 3, 4)) is None
    assert order_in_memory(torch.zeros(2, 3, 4, 5).permute(0, 2, 3, 1)) == [0, 3, 1, 2]
    assert is_gapless(torch.zeros(2, 3).t()) and is_gapless(torch.zeros(())) and is_gapless(torch.zeros(0, 3))
    assert is_gapless(torch.zeros(6).as_strided((1, 6), (99, 1)))
    assert not is_gapless(torch.zeros(1).expand(3)) and not is_gapless(torch.zeros(4, 4)[:, :2])


def test_tensors_that_torch_conjugates_when_it_reads_them(job):
    """Their bytes are not what they hold."""
    tensor = torch.full((3,), complex(1, job.rank() + 1))
    lazily = tensor.conj() if job.rank() == 0 else tensor
    distributed.broadcast_parameters({"lazily": lazily})
    assert lazily.tolist() == [complex(1, -1)] * 3
    negated = tensor[:1].conj().imag
    assert negated.is_contiguous() and negated.is_neg()
    for wrong in (tensor.conj(), negated):
        with pytest.raises(job.ArgumentError, match="hand over tensor.resolve_conj"):
            job.broadcast(wrong)


def test_parameters_on_several_gpus_are_broadcast_gpu_by_gpu(monkeypatch):
    """There is no GPU here: what the library would be given."""
    class Placed(torch.Tensor):
        device = property(lambda self: torch.device("cuda", int(self.sum())))

    given = []
    monkeypatch.setattr(distributed.collectives, "broadcast", lambda some, root, group: given.append(list(some)))
    tensors = {name: torch.full((1,), place).as_subclass(Placed) for name, place in (("a", 3), ("b", 1), ("c", 3))}
    distributed.broadcast_parameters({**tensors, "d": torch.ones(1)})
    assert given == [["d"], ["b"], ["a", "c"]]
