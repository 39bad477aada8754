"""GradScaler: a training with scaled losses is that without, and all ranks leave out the same steps."""

import math

import pytest
import torch

import slipway.torch as distributed
from slipway.torch import GradScaler
from slipway.torch_training.scaler import _unscale

ddp = torch.nn.parallel.DistributedDataParallel


def model_of():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))


def batch_of(job, step):
    generator = torch.Generator().manual_seed(100 * job.rank() + step)
    return torch.randn(4, 5, generator=generator)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


class Training:
    """One of both ways to train in parallel."""

    def __init__(self, way, **settings):
        self.model = model_of()
        self.optimizer = sgd(self.model)
        self.forward = ddp(self.model) if way == "ddp" else self.model
        if way == "optimizer":
            self.optimizer = distributed.DistributedOptimizer(self.optimizer, self.model.named_parameters(), **settings)

    def step(self, inputs, scaler=None, clip=None):
        self.optimizer.zero_grad()
        loss = self.forward(inputs).square().mean()
        if scaler is None:
            loss.backward()
            self.optimizer.step()
            return
        scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), clip)
        scaler.step(self.optimizer)
        scaler.update()

    def close(self):
        if hasattr(self.optimizer, "close"):
            self.optimizer.close()


@pytest.fixture(params=["optimizer", "ddp"])
def way(request, gloo):
    return request.param


def test_scaled_losses_train_to_the_same_bits(job, way):
    plain, scaled = Training(way), Training(way)
    scaler = GradScaler(init_scale=2.0**10, growth_interval=2)
    for step in range(6):
        plain.step(batch_of(job, step))
        scaled.step(batch_of(job, step), scaler)
    assert torch.equal(weights(plain.model), weights(scaled.model))
    assert scaler.get_scale() == 2.0**13
    plain.close()
    scaled.close()


def test_gradients_that_were_synchronized_are_not_exchanged_again(job, monkeypatch):
    training, waits = Training("optimizer"), []
    wait = training.optimizer.team.wait
    monkeypatch.setattr(training.optimizer.team, "wait", lambda: (waits.append(1), wait()))
    for step in range(2):
        training.optimizer.zero_grad()
        scaler = GradScaler(init_scale=4.0)
        scaler.scale(training.model(batch_of(job, step)).square().mean()).backward()
        training.optimizer.synchronize()
        scaler.step(training.optimizer)
    assert len(waits) == 2
    training.close()


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_an_overflow_on_one_rank_leaves_the_step_out_on_all(job, way, value):
    plain, scaled = Training(way), Training(way)
    scaler, bad = GradScaler(init_scale=4.0, growth_interval=3), 2
    for step in range(5):
        before, inputs = weights(scaled.model), batch_of(job, step)
        if step == bad and job.rank() == job.size() - 1:
            inputs[0] = value
        scaled.step(inputs, scaler)
        if step == bad:
            assert torch.equal(weights(scaled.model), before) and scaler.get_scale() == 2.0
        else:
            plain.step(batch_of(job, step))
    assert torch.equal(weights(plain.model), weights(scaled.model))
    assert scaler.state_dict()["_growth_tracker"] == 2
    job.check_match({"weights": weights(scaled.model)})
    plain.close()
    scaled.close()


def test_a_scale_that_is_too_large_is_found_by_halving_it(job, way):
    training, scaler = Training(way), GradScaler(init_scale=2.0**127)
    with torch.no_grad():
        training.model[2].weight.mul_(30)  # gradients that 2**127 of them overflow
    training.optimizer.param_groups[0]["lr"] = 1e-6
    before = weights(training.model)
    for _ in range(14):
        training.step(batch_of(job, 0), scaler)
    assert 2.0**113 < scaler.get_scale() < 2.0**127 and not torch.equal(weights(training.model), before)
    assert weights(training.model).isfinite().all()
    training.close()


@pytest.mark.parametrize("bad", [None, torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("scale", [4.0, 0.25])
def test_gradients_of_each_dtype_are_divided_and_tested(bad, scale):
    dtypes = (torch.float32, torch.float64, torch.bfloat16)
    gradients = [torch.full((count,), 2.0, dtype=dtype) for dtype in dtypes for count in (0, 1, 5)]
    for gradient in gradients:
        if gradient.dtype == bad and len(gradient) == 5:
            gradient[3] = math.inf
    assert _unscale(gradients, scale).tolist() == [0.0 if bad is None else 1.0]
    assert all(each[:1].tolist() == len(each[:1]) * [2.0 / scale] for each in gradients)


def test_the_values_of_sparse_gradients_are_unscaled(job):
    table, scaler = torch.nn.Embedding(4, 2, sparse=True), GradScaler(init_scale=4.0)
    scaler.scale(table(torch.tensor([1, 1])).sum()).backward()
    scaler.unscale_(torch.optim.SGD(table.parameters(), lr=1.0))
    assert table.weight.grad.to_dense().tolist() == [[0, 0], [2, 2], [0, 0], [0, 0]]


def test_an_optimizer_whose_gradients_are_not_exchanged_waits_for_all_ranks(job):
    model = model_of()
    optimizer, scaler = sgd(model), GradScaler(init_scale=2.0)
    scaler.scale(model(batch_of(job, 0)).sum()).backward()
    if job.rank() == 0:
        model[0].weight.grad[0, 0] = math.inf
    before = weights(model)
    scaler.step(optimizer)
    assert torch.equal(weights(model), before)
    scaler.update()
    assert scaler.get_scale() == 1.0


def test_gradients_are_clipped_unscaled(job, way):
    training, scaler = Training(way), GradScaler(init_scale=2.0**8)
    training.step(batch_of(job, 0), scaler, clip=0.01)
    norm = torch.cat([p.grad.flatten() for p in training.model.parameters()]).norm()
    torch.testing.assert_close(norm, torch.tensor(0.01), rtol=1e-3, atol=0)
    training.close()


def test_check_finite_counts_as_an_overflow(job):
    training, scaler = Training("optimizer", check_finite=True), GradScaler(init_scale=2.0)
    before = weights(training.model)
    inputs = batch_of(job, 0)
    if job.rank() == 0:
        inputs[0] = math.nan
    training.step(inputs, scaler)
    assert torch.equal(weights(training.model), before) and scaler.get_scale() == 1.0
    training.step(batch_of(job, 1), scaler)
    assert not torch.equal(weights(training.model), before)
    training.close()


def test_passes_that_only_accumulate_leave_the_scale(job):
    plain, scaled = Training("optimizer", accumulate=2), Training("optimizer", accumulate=2)
    scaler = GradScaler(init_scale=2.0, growth_interval=1)
    for step in range(4):
        plain.step(batch_of(job, step))
        scaled.step(batch_of(job, step), scaler)
        assert scaler.get_scale() == (2.0, 4.0, 4.0, 8.0)[step]
    assert torch.equal(weights(plain.model), weights(scaled.model))
    plain.close()
    scaled.close()


@pytest.mark.parametrize("settings,said", [({"mode": "delayed"}, "mode 'delayed' were made with an earlier scale"),
                                           ({"clip_norm": 1.0}, "between unscale_\\(\\) and step\\(\\)")])
def test_settings_that_scaled_gradients_do_not_go_with_are_refused(job, settings, said):
    training = Training("optimizer", **settings)
    with pytest.raises(job.NotSupportedError, match=said):
        training.step(batch_of(job, 0), GradScaler())
    training.optimizer.synchronize()
    training.close()


def test_calls_out_of_order_are_named(job):
    training, scaler = Training("optimizer"), GradScaler()
    with pytest.raises(job.StateError, match="no step\\(\\) or unscale_\\(\\) since"):
        scaler.update()
    scaler.scale(training.model(batch_of(job, 0)).sum()).backward()
    scaler.unscale_(training.optimizer)
    with pytest.raises(job.StateError, match="unscale_ or step was called before"):
        scaler.unscale_(training.optimizer)
    scaler.step(training.optimizer)
    with pytest.raises(job.StateError, match="step was called before"):
        scaler.step(training.optimizer)
    scaler.update()
    with pytest.raises(job.ArgumentError, match="growth_factor 1.0"):
        GradScaler(growth_factor=1.0)
    half = torch.nn.Parameter(torch.zeros(1, dtype=torch.float16))
    half.grad = torch.ones(1, dtype=torch.float16)
    with pytest.raises(job.ArgumentError, match="keep parameters in float32, and run forward within torch.autocast"):
        GradScaler().unscale_(torch.optim.SGD([half], lr=1.0))
    training.close()


def test_its_state_is_that_of_torch(job):
    one, other = GradScaler(init_scale=8.0, growth_interval=5), GradScaler()
    training = Training("optimizer")
    training.step(batch_of(job, 0), one)
    other.load_state_dict(one.state_dict())
    assert other.state_dict() == one.state_dict() == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5,
                                                      "growth_interval": 5, "_growth_tracker": 1}
    off = GradScaler(enabled=False)
    training.step(batch_of(job, 1), off)
    assert off.get_scale() == 1.0 and off.state_dict() == {} and not off.is_enabled()
    off.load_state_dict({})
    with pytest.raises(job.ArgumentError, match="enabled=False"):
        one.load_state_dict({})
    losses = one.scale([torch.ones(1), torch.ones(2)])
    assert [each.tolist() for each in losses] == [[8.0], [8.0, 8.0]]
    assert GradScaler().scale(torch.ones((), dtype=torch.float16)) == 2.0**16
    training.close()
