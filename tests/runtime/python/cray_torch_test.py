"""slipway.compat.cray.torch: the optimizer, and its schedule."""

import pytest
import torch

import slipway.compat.cray.torch as cdl
from slipway.errors import ArgumentError, MismatchError, NotSupportedError


def one_weight():
    return torch.nn.Parameter(torch.zeros(1))


def moves(optimizer, weight, steps):
    """How far each step goes with a learning rate of 1, where rank r's gradient of step s is s + 1 + r."""
    seen = []
    for step in range(steps):
        before = weight.item()
        optimizer.zero_grad()
        (weight * (step + 1 + cdl.get_rank())).sum().backward()
        optimizer.step()
        seen.append(before - weight.item())
    return seen


def test_the_rank_is_known_without_init():
    assert 0 <= cdl.get_rank() < cdl.get_nranks()
    assert cdl.average(float(cdl.get_rank())) == (cdl.get_nranks() - 1) / 2


@pytest.mark.parametrize("options, seen", [
    ({}, [1, 2, 3, 4, 5]),
    ({"nstep": None, "nteam": 2, "nthread_per_team": 4}, [1, 2, 3, 4, 5]),
    ({"nstep": 5, "warmup": 1.0}, [1, 2, 3, 4, 5]),
    ({"nstep": 5, "warmup": 0.4}, [1, 2, None, 3, 4]),
    ({"nstep": 5}, [None, 1, 2, 3, 4]),
    ({"nstep": 5, "warmup": -0.4}, [None, 1, 2, 3 + 4, 5]),
])
def test_the_warmup_is_synchronous_and_the_rest_is_pipelined_by_one(options, seen):
    weight = one_weight()
    optimizer = cdl.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), verb=0, **options)
    others = (cdl.get_nranks() - 1) / 2  # what the mean over ranks adds
    added = {3 + 4: 2 * others, None: 0.0}
    assert moves(optimizer, weight, 5) == [(step or 0) + added.get(step, others) for step in seen]
    optimizer.close()


def test_the_mean_of_all_ranks_is_applied_to_the_parameters_of_rank_0():
    torch.manual_seed(cdl.get_rank())
    model = torch.nn.Linear(3, 2)
    optimizer = cdl.DistributedOptimizer(torch.optim.Adam(model.parameters()), 100, verb=0)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.full((1, 3), cdl.get_rank() + 1.0)).sum().backward()
        optimizer.step()
    assert cdl.check_buffers_match([p.detach() for p in model.parameters()], 1) == 0
    with torch.no_grad():
        model.bias += cdl.get_rank()
    optimizer.broadcast_parameters(cdl.get_nranks() - 1)
    assert cdl.check_buffers_match([p.detach() for p in model.parameters()], 1) == 0
    optimizer.close()


def test_the_waiting_time_is_told_every_freq_steps(capfd):
    weight = one_weight()
    optimizer = cdl.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), 10, freq=2)
    moves(optimizer, weight, 5)
    told = capfd.readouterr().out
    assert told.count("ranks waited") == (2 if cdl.get_rank() == 0 else 0)
    assert told.count("'sync_first': 1") == (1 if cdl.get_rank() == 0 else 0)
    optimizer.close()


def test_errors():
    sgd = torch.optim.SGD([one_weight()], lr=1.0)
    with pytest.raises(ArgumentError, match="teams and threads from 1"):
        cdl.DistributedOptimizer(sgd, 10, nteam=0)
    with pytest.raises(ArgumentError, match="nstep -1"):
        cdl.DistributedOptimizer(sgd, -1)
    if cdl.get_nranks() > 1:
        with pytest.raises(MismatchError, match="DistributedOptimizer"):
            cdl.DistributedOptimizer(sgd, 10 + cdl.get_rank())
    with pytest.raises(NotSupportedError, match="slipway.compat.cray.torch"):
        import slipway.compat.cray
        slipway.compat.cray.DistributedOptimizer
