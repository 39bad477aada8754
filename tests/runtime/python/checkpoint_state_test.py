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


def test_one_checkpoint_is_loaded_by_its_own_folder(job, folder):
    model = torch.nn.Linear(2, 2)
    for step, loss in enumerate((0.5, 0.1, 0.3)):
        torch.nn.init.constant_(model.weight, float(step))
        job.checkpoint.save(model, step=step, metrics={"val_loss": loss}, folder=folder,
                            keep={"last": 1, "best": {"metric": "val_loss"}})
    found = job.checkpoint.load(model, folder=str(folder / "step-000000000001"))
    assert found.step == 1 and found.metrics == {"val_loss": 0.1} and model.weight.eq(1.0).all()
    assert job.checkpoint.load(model, folder=folder).step == 2


def test_a_checkpoint_that_is_named_must_be_there_and_whole(job, folder):
    job.checkpoint.save(torch.nn.Linear(2, 2), step=1, folder=folder)
    job.checkpoint.wait()
    with pytest.raises(job.FileError, match="step-000000000003' is no checkpoint: it has no 'manifest.json'"):
        job.checkpoint.load(folder=folder / "step-000000000003")
    if job.rank() == 0:
        (folder / "step-000000000001" / "state.pickle").write_bytes(b"")
    job.barrier()
    with pytest.raises(job.FileError, match="step-000000000001' is damaged: 'state.pickle' is not as it was written"):
        job.checkpoint.load(folder=folder / "step-000000000001")


@pytest.mark.parametrize("named", ["", "not there yet"])
def test_a_first_start_finds_nothing_and_rank_0_says_where_it_looked(job, folder, capfd, named):
    assert job.checkpoint.load(folder=folder / named) is None
    said = capfd.readouterr().err
    assert said.count(f"slipway: there is no checkpoint in '{folder / named}': the program starts fresh") == (
        1 if job.rank() == 0 else 0)


def stepped(**settings):
    import slipway.torch
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 3)
    inner = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer = slipway.torch.DistributedOptimizer(inner, **settings)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


def test_a_checkpoint_is_loaded_after_steps_and_more_than_once(job, folder):
    model, optimizer = stepped()
    job.checkpoint.save(model, optimizer, step=1, folder=folder)
    wanted = model.weight.detach().clone()
    for _ in range(2):
        model(torch.ones(1, 3)).sum().backward()
        optimizer.step()
        assert not torch.equal(model.weight, wanted)
        assert job.checkpoint.load(model, optimizer, folder=folder).step == 1
        assert torch.equal(model.weight, wanted)
    optimizer.close()
    import slipway.torch
    again = torch.nn.Linear(3, 3)
    fresh = slipway.torch.DistributedOptimizer(torch.optim.SGD(again.parameters(), lr=0.1, momentum=0.9))
    for _ in range(2):  # the first load has brought the number of steps
        job.checkpoint.load(again, fresh, folder=folder)
    fresh.close()


def test_delayed_gradients_on_their_way_refuse_a_checkpoint_before_anything_is_loaded(job, folder):
    model, optimizer = stepped(mode="delayed", sync_first=0)
    job.checkpoint.save(model, optimizer, step=1, folder=folder)
    torch.nn.init.zeros_(model.weight)
    with pytest.raises(job.StateError, match=r"the optimizer has made steps.*\n  next: close\(\) it, wrap the opt"):
        job.checkpoint.load(model, optimizer, folder=folder)
    assert not model.weight.any()
    optimizer.close()
    import slipway.torch
    inner = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    again = slipway.torch.DistributedOptimizer(inner, mode="delayed", sync_first=0)
    assert job.checkpoint.load(model, again, folder=folder).step == 1 and model.weight.any()
    again.close()


def gan(kind, seed):
    import slipway.torch
    torch.manual_seed(seed)
    models = {"g": torch.nn.Linear(2, 3), "d": torch.nn.BatchNorm1d(3)}
    optimizers = {name: slipway.torch.DistributedOptimizer(torch.optim.Adam(model.parameters()))
                  for name, model in models.items()}
    inputs = torch.randn(4, 2)
    models["d"](models["g"](inputs)).square().sum().backward()
    for optimizer in optimizers.values():
        optimizer.step()
    return (models, optimizers) if kind is dict else (kind(models.values()), kind(optimizers.values()))


def every(parts):
    return list(parts.values() if isinstance(parts, dict) else parts)


@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_several_models_and_optimizers_share_a_checkpoint(job, folder, kind):
    saved, other = gan(kind, 1), gan(kind, 2)
    job.checkpoint.save(*saved, step=1, folder=folder)
    assert job.checkpoint.load(*other, folder=folder).step == 1
    for one, two in zip(every(saved[0]), every(other[0])):
        for name, values in one.state_dict().items():
            assert torch.equal(values, two.state_dict()[name])
    for one, two in zip(every(saved[1]), every(other[1])):
        assert [each["exp_avg"].tolist() for each in one.state.values()] == [
            each["exp_avg"].tolist() for each in two.state.values()]
    for model, said in ((every(other[0])[0], "a single one"), (every(other[0])[:1], "a list of 1"),
                        ({"g": every(other[0])[0]}, "a dict of 'g'")):
        with pytest.raises(job.ArgumentError, match=f"model: the checkpoint .* and load\\(\\) was given {said}"):
            job.checkpoint.load(model, folder=folder)
    for optimizer in every(saved[1]) + every(other[1]):
        optimizer.close()


class Order(list):
    """A sampler."""

    position = 0


def test_a_sampler_that_is_a_list_by_itself_is_a_single_one(job, folder):
    order = Order([2, 0, 1])
    order.position = 2
    job.checkpoint.save(sampler=order, step=1, folder=folder)
    order.position = 0
    job.checkpoint.load(sampler=order, folder=folder)
    assert order.position == 2


def test_what_has_no_state_is_named(job, folder):
    model = torch.nn.Linear(2, 2)
    for wrong, said in (({"model": [model, 3]}, "model 1 is of type int"), ({"model": []}, "model is of type list"),
                        ({"scheduler": {"a": None}}, "scheduler 'a' is of type NoneType")):
        with pytest.raises(job.ArgumentError, match=f"{said}, which has no state_dict"):
            job.checkpoint.save(**wrong, step=1, folder=folder)


def test_a_model_of_another_shape_is_an_error_that_names_checkpoint_and_parameter(job, folder):
    job.checkpoint.save([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)], step=1, folder=folder)
    with pytest.raises(job.FileError, match="(?s)step-000000000001' does not fit the model 1: .*mismatch for weight"):
        job.checkpoint.load([torch.nn.Linear(2, 2), torch.nn.Linear(3, 2)], folder=folder)


def test_a_part_that_is_missing_is_said_before_anything_is_loaded(job, folder):
    model = torch.nn.Linear(2, 2)
    job.checkpoint.save(model, step=1, folder=folder)
    torch.nn.init.zeros_(model.weight)
    with pytest.raises(job.FileError, match="holds no optimizer"):
        job.checkpoint.load(model, torch.optim.SGD(model.parameters(), lr=1), folder=folder)
    assert not model.weight.any()
