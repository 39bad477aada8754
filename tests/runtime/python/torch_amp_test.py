"""torch's own GradScaler with a DistributedOptimizer. Before 2.3 it is for GPUs alone: its steps then run with unscaling
on the CPU in place of the kernels."""

import math

import pytest
import torch

import slipway.torch as distributed

SCALE = 2.0**10


class CpuScaler(torch.cuda.amp.GradScaler):
    """The kernels of a GPU, in Python."""

    def scale(self, outputs):
        if self._scale is None:
            self._lazy_init_scale_growth_tracker(torch.device("cpu"))
        return outputs * self._scale

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
        for gradient in gradients:
            gradient.data.mul_(inv_scale)  # torch does not count this change
        return {"cpu": 1 - torch.tensor(float(all(each.isfinite().all() for each in gradients)))}

    def update(self, new_scale=None):
        found = [each.item() for state in self._per_optimizer_states.values()
                 for each in state["found_inf_per_device"].values()]
        assert found
        self._scale.mul_(0.5 if any(found) else 1.0)
        self._per_optimizer_states.clear()


@pytest.fixture
def scaler(monkeypatch):
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cpu", init_scale=SCALE)
    monkeypatch.setattr(torch.cuda.amp.grad_scaler, "amp_definitely_not_available", lambda: False)
    return CpuScaler(init_scale=SCALE)


def model_of():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))


def loss_of(job, model, step, value=None):
    inputs = torch.randn(4, 5, generator=torch.Generator().manual_seed(100 * job.rank() + step))
    if value is not None and job.rank() == job.size() - 1:
        inputs[0] = value
    return model(inputs).square().mean()


def wrapped(model, **settings):
    return distributed.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), **settings)


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def train_plainly(job, steps, clip=None):
    model = model_of()
    optimizer = wrapped(model)
    for step in steps:
        optimizer.zero_grad()
        loss_of(job, model, step).backward()
        optimizer.synchronize()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    optimizer.close()
    return weights(model)


@pytest.mark.filterwarnings("ignore:GradScaler is going to stop")
@pytest.mark.parametrize("synchronized", [True, False])
def test_it_unscales_after_the_exchange(job, scaler, synchronized):
    model = model_of()
    optimizer = wrapped(model)
    for step in range(4):
        optimizer.zero_grad()
        scaler.scale(loss_of(job, model, step)).backward()
        if synchronized:
            optimizer.synchronize()
        scaler.step(optimizer)
        scaler.update()
    assert torch.equal(weights(model), train_plainly(job, range(4)))
    optimizer.close()


@pytest.mark.filterwarnings("ignore:GradScaler is going to stop")
@pytest.mark.parametrize("settings", [{}, {"check_finite": True}])
@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_an_overflow_on_one_rank_leaves_the_step_out_on_all(job, scaler, settings, value):
    model = model_of()
    optimizer = wrapped(model, **settings)
    for step in range(4):
        optimizer.zero_grad()
        scaler.scale(loss_of(job, model, step, value if step == 2 else None)).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == SCALE / 2
    assert torch.equal(weights(model), train_plainly(job, [0, 1, 3]))
    optimizer.close()


@pytest.mark.filterwarnings("ignore:GradScaler is going to stop")
def test_gradients_are_clipped_as_in_programs_of_horovod(job, scaler):
    model = model_of()
    optimizer = wrapped(model)
    for step in range(3):
        optimizer.zero_grad()
        scaler.scale(loss_of(job, model, step)).backward()
        optimizer.synchronize()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        with optimizer.skip_synchronize():
            scaler.step(optimizer)
        scaler.update()
    torch.testing.assert_close(weights(model), train_plainly(job, range(3), clip=0.01))
    optimizer.close()


@pytest.mark.filterwarnings("ignore:GradScaler is going to stop")
def test_what_it_unscales_during_the_exchange_is_an_error(job, scaler):
    model = model_of()
    optimizer = wrapped(model)
    scaler.scale(loss_of(job, model, 0)).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(job.StateError, match=r"call optimizer.synchronize\(\) first"):
        scaler.step(optimizer)
    optimizer.close()


@pytest.mark.filterwarnings("ignore:GradScaler is going to stop")
@pytest.mark.parametrize("settings,said", [({"mode": "delayed"}, "made with an earlier scale"),
                                           ({"clip_norm": 1.0}, "clips scaled gradients"),
                                           ({"accumulate": 2}, "use slipway.torch.GradScaler")])
def test_settings_that_it_does_not_go_with_are_refused(job, scaler, settings, said):
    model = model_of()
    optimizer = wrapped(model, **settings)
    scaler.scale(loss_of(job, model, 0)).backward()
    with pytest.raises(job.NotSupportedError, match=said):
        scaler.step(optimizer)
    if "accumulate" not in settings:
        optimizer.synchronize()
    optimizer.close()


def test_a_scaler_that_hands_over_tensors_is_refused(job):
    """As torch has announced it."""
    model = model_of()
    optimizer = wrapped(model)
    loss_of(job, model, 0).backward()
    optimizer.found_inf = torch.zeros(())
    with pytest.raises(job.NotSupportedError, match="unscales gradients in another way"):
        optimizer.step()
    del optimizer.found_inf
    optimizer.step()
    optimizer.close()


@pytest.mark.filterwarnings("ignore:GradScaler is going to stop")
def test_a_fused_optimizer_gets_its_gradients_unscaled(job, scaler):
    """torch would leave unscaling to an optimizer with this attribute, and the wrapped one does not hear of the scale."""
    model = model_of()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer._step_supports_amp_scaling = True
    optimizer = distributed.DistributedOptimizer(optimizer)
    scaler.scale(loss_of(job, model, 0)).backward()
    scaler.step(optimizer)
    assert torch.equal(weights(model), train_plainly(job, range(1)))
    optimizer.close()
