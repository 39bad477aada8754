"""DistributedOptimizer: gradients of the last layers are exchanged while backward computes those of the first."""

import time

import pytest
import torch

import slipway.torch as distributed


def layers(width):
    torch.manual_seed(1)
    made = [torch.nn.Linear(width, width) for _ in range(3)]
    return torch.nn.Sequential(made[0], torch.nn.Tanh(), made[1], torch.nn.Tanh(), made[2])


def wait_until(is_so, seconds=40):
    """Whether it is so in the end."""
    until = time.monotonic() + seconds
    while not is_so() and time.monotonic() < until:
        time.sleep(0.001)
    return is_so()


def pause_before(layer, action):
    """Backward, on its way to `layer`, does `action` first."""
    return layer.register_full_backward_hook(lambda *_: action())


@pytest.mark.parametrize("width", [8, 48])  # gradients that are copied, and that are exchanged where torch makes them
@pytest.mark.parametrize("settings", [{}, {"backward_passes_per_step": 2}])
def test_the_last_layer_is_exchanged_before_the_first_is_computed(job, width, settings):
    model = layers(width)
    optimizer = distributed.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(),
                                                 bucket_bytes=1, **settings)
    last, own, came = list(model[4].parameters()), {}, []
    passes = settings.get("backward_passes_per_step", 1)
    for parameter in last:  # before it is submitted
        parameter.register_hook(lambda made, p=parameter: own.update({p: made + own.get(p, 0)}))

    def pause():
        slots = {slot.name: slot for slot in optimizer._slots}
        if slots["4.bias"].passes == passes:
            came.append(wait_until(lambda: not any(torch.equal(p.grad, own[p]) for p in last)))
            assert not slots["0.weight"].submitted and not slots["0.bias"].submitted

    pause_before(model[1], pause)
    made = torch.Generator().manual_seed(job.rank())
    for _ in range(3):
        optimizer.zero_grad()
        own.clear()
        for _ in range(passes):
            model(torch.randn(4, width, generator=made)).square().mean().backward()
        optimizer.step()
    assert came == [True] * 3
    job.check_match({name: p.grad for name, p in model.named_parameters()})
    optimizer.close()
