"""What slipway.checkpoint.save takes: steps, schedulers, and what fails on one rank. Runs on all ranks of an mpirun."""

import copy
import io
import pickle

import numpy
import pytest
import torch

from slipway.checkpoint import _folder


class FailsToPickle:
    def __getstate__(self):
        raise OSError("a connection is no state")


class StaysAt:
    """A sampler."""

    position = 3


class FailsToSay:
    """A sampler."""

    def state_dict(self):
        raise KeyError("place")


@pytest.mark.parametrize("part, said", [
    ({"extra": FailsToPickle()}, "on rank {}: extra cannot be pickled: OSError: a connection is no state"),
    ({"sampler": FailsToSay()}, "on rank {}: KeyError: 'place'"),
    ({"sampler": []}, "on rank {}: a sampler of type list has no state"),
])
@pytest.mark.parametrize("failing", [0, 1])
def test_a_rank_that_cannot_say_what_to_save_is_an_error_on_all(job, folder, part, said, failing):
    if failing >= job.size() or failing == 1 and "extra" in part:  # that of rank 0 alone is stored
        pytest.skip("there is no such rank, or it stores nothing of it")
    mine = part if job.rank() == failing else {"sampler": StaysAt()}
    with pytest.raises(job.ArgumentError, match=said.format(failing)):
        job.checkpoint.save(torch.nn.Linear(2, 2), step=1, folder=folder, **mine)
    job.checkpoint.save(torch.nn.Linear(2, 2), step=2, folder=folder)
    job.checkpoint.wait()
    assert [each.name for each in _folder.published(folder)] == ["step-000000000002"]


class FailsToSayWeights(torch.nn.Linear):
    def state_dict(self, *_, **__):
        raise KeyError("weights")


class MeetsOthers:
    """An optimizer whose state is collective, like ZeroRedundancyOptimizer."""

    def __init__(self, meet):
        self.meet = meet

    def consolidate_state_dict(self, to):
        self.meet()

    def state_dict(self):
        return {}


def test_a_model_that_fails_on_one_rank_leaves_nobody_waiting_in_the_optimizer(job, folder):
    failing = job.size() - 1
    model = (FailsToSayWeights if job.rank() == failing else torch.nn.Linear)(2, 2)
    with pytest.raises(job.ArgumentError, match=f"on rank {failing}: KeyError: 'weights'"):
        job.checkpoint.save(model, MeetsOthers(job.barrier), step=1, folder=folder)


@pytest.mark.parametrize("step", [numpy.int64(10), torch.tensor(10)])
def test_a_step_may_be_an_integer_of_numpy_or_torch(job, folder, step):
    job.checkpoint.save(torch.nn.Linear(2, 2), step=step, folder=folder)
    assert job.checkpoint.load(folder=folder).step == 10


@pytest.mark.parametrize("step", [-1, 1.0, "1", None])
def test_what_is_no_step_is_said(job, folder, step):
    with pytest.raises(job.ArgumentError, match="not a number from 0"):
        job.checkpoint.save(torch.nn.Linear(2, 2), step=step, folder=folder)


def one_cycle(optimizer):
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=50)


SCHEDULERS = {
    "one cycle": one_cycle,
    "cycles": lambda optimizer: torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.2),
    "milestones": lambda optimizer: torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 4]),
    "one after the other": lambda optimizer: torch.optim.lr_scheduler.SequentialLR(
        optimizer, [torch.optim.lr_scheduler.ConstantLR(optimizer), one_cycle(optimizer)], [2]),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_that_refer_to_their_optimizer_come_back(job, folder, name):
    import slipway.torch

    def make(wrap):
        model = torch.nn.Linear(3, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        optimizer = slipway.torch.DistributedOptimizer(optimizer) if wrap else optimizer
        return optimizer, SCHEDULERS[name](optimizer)

    def rates(optimizer, scheduler):
        found = []
        for _ in range(4):
            optimizer.step()
            scheduler.step()
            found.append(optimizer.param_groups[0]["lr"])
        return found
    optimizer, scheduler = make(True)
    rates(optimizer, scheduler)
    job.checkpoint.save(optimizer=optimizer, scheduler=scheduler, step=4, folder=folder)
    expected = rates(optimizer, scheduler)
    optimizer.close()
    other, again = make(False)
    job.checkpoint.load(optimizer=other, scheduler=again, folder=folder)
    assert rates(other, again) == expected


def test_torch_saves_a_scheduler_of_a_distributed_optimizer(job, folder):
    import slipway.torch
    inner = torch.optim.SGD(torch.nn.Linear(3, 3).parameters(), lr=0.1, momentum=0.9)
    optimizer = slipway.torch.DistributedOptimizer(inner)
    saved = io.BytesIO()
    torch.save(one_cycle(optimizer).state_dict(), saved)
    one_cycle(inner).load_state_dict(torch.load(io.BytesIO(saved.getvalue())))
    assert type(pickle.loads(pickle.dumps(optimizer))) is torch.optim.SGD
    for way in (copy.copy, copy.deepcopy):
        with pytest.raises(job.NotSupportedError, match="cannot be copied; use its state_dict"):
            way(optimizer)
    optimizer.close()
