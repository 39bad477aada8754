"""slipway.checkpoint.save and load. Runs on all ranks of an mpirun at once."""

import json
import math
import os
import random

import numpy
import pytest
import torch
from torch.optim.swa_utils import AveragedModel

from slipway.checkpoint import _folder, _shares, _writing


def make_training(seed, wrap=lambda model: model):
    torch.manual_seed(seed)
    model = wrap(torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 3)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)


def train(training, steps, seed=5):
    model, optimizer, scheduler = training
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 7, generator=generator)).square().mean().backward()
        optimizer.step()
        scheduler.step()


def steps_in(folder):
    return [int(each.name[5:]) for each in _folder.published(folder)]


def require_equal(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            require_equal(one[key], other[key])
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other) and one.dtype == other.dtype
    else:
        assert one == other


def test_all_of_a_training_comes_back_to_the_bit(job, folder):
    saved, other = make_training(1), make_training(2)
    train(saved, 3)
    job.checkpoint.save(*saved, step=3, epoch=1.5, extra={"best": [1, "a"]}, metrics={"val_loss": 0.25}, folder=folder)
    found = job.checkpoint.load(*other, folder=folder)
    for one, two in zip(saved, other):
        require_equal(dict(one.state_dict()), dict(two.state_dict()))
    assert (found.step, found.epoch, found.extra, found.metrics) == (3, 1.5, {"best": [1, "a"]}, {"val_loss": 0.25})
    assert found.world_size == job.size() and found.folder.name == "step-000000000003"
    train(saved, 2)
    train(other, 2)
    require_equal(dict(saved[0].state_dict()), dict(other[0].state_dict()))


def test_what_is_changed_after_the_call_is_not_in_the_checkpoint(job, folder, monkeypatch):
    store = _writing._store
    monkeypatch.setattr(_writing, "_store", lambda job: (gate.wait(), store(job)))
    import threading
    gate = threading.Event()
    model = torch.nn.Linear(100, 100)
    torch.nn.init.constant_(model.weight, 1.0)
    job.checkpoint.save(model, step=1, folder=folder)
    torch.nn.init.constant_(model.weight, 2.0)
    assert steps_in(folder) == []
    gate.set()
    assert job.checkpoint.load(model, folder=folder).step == 1
    assert model.weight.eq(1.0).all()


def test_each_rank_stores_an_equal_part(job, folder):
    model = torch.nn.Linear(1000, 10, bias=False)
    job.checkpoint.save(model, step=0, folder=folder)
    job.checkpoint.wait()
    sizes = [(folder / "step-000000000000" / _shares.name_of(rank)).stat().st_size for rank in range(job.size())]
    assert sum(sizes) == 40000 and max(sizes) - min(sizes) <= 1


def test_buffers_are_those_of_rank_0_and_random_numbers_those_of_each_rank(job, folder):
    model = torch.nn.BatchNorm1d(3)
    model.running_mean.fill_(job.rank() + 1.0)
    for seed in (random.seed, numpy.random.seed, torch.manual_seed):
        seed(job.rank())
    job.checkpoint.save(model, step=1, folder=folder)
    drawn = random.random(), numpy.random.rand(), torch.rand(1).item()
    assert job.checkpoint.load(model, folder=folder).step == 1
    assert model.running_mean.eq(1.0).all()
    assert (random.random(), numpy.random.rand(), torch.rand(1).item()) == drawn
    again = torch.rand(1).item()
    job.checkpoint.load(model, rng=False, folder=folder)
    assert torch.rand(1).item() != again


class OnDevice(torch.Tensor):
    """A tensor that says it lies on a GPU, and comes to the CPU only by cpu()."""

    @property
    def device(self):
        return torch.device("cuda", 3)

    def cpu(self):
        return self.as_subclass(torch.Tensor)

    def __reduce_ex__(self, protocol):
        raise AssertionError("pickled where it lies")


def on_device(*shape):
    return torch.rand(*shape).as_subclass(OnDevice)


def test_tensors_of_a_gpu_are_saved_from_the_cpu_and_come_back_to_the_model(job, folder):
    """Without a GPU: all that leaves the process must have gone through cpu()."""
    torch.manual_seed(7)  # the same on all ranks
    model = torch.nn.BatchNorm1d(4)
    average = on_device(3)
    with torch.no_grad():
        model.running_mean = on_device(4)
        model.weight = torch.nn.Parameter(torch.rand(4))
        model._parameters["bias"] = on_device(4).requires_grad_()
    wanted = {name: each.as_subclass(torch.Tensor).clone() for name, each in model.state_dict().items()}
    job.checkpoint.save(model, step=1, extra={"average": [average]}, folder=folder)
    other = torch.nn.BatchNorm1d(4)
    found = job.checkpoint.load(other, folder=folder)
    require_equal(dict(other.state_dict()), wanted)
    assert found.extra["average"][0].device.type == "cpu"
    assert type(found.extra["average"][0]) is torch.Tensor and torch.equal(found.extra["average"][0], average.cpu())


class Position:
    position = {"epoch": 1, "records_done": 64}


def test_samplers_keep_their_place(job, folder):
    data = torch.utils.data.DistributedSampler(range(20), num_replicas=job.size(), rank=job.rank())
    data.set_epoch(4)
    job.checkpoint.save(sampler=data, step=1, folder=folder)
    data.set_epoch(0)
    job.checkpoint.load(sampler=data, folder=folder)
    assert data.epoch == 4
    reader = Position()
    job.checkpoint.save(sampler=reader, step=2, folder=folder)
    reader.position = None
    job.checkpoint.load(sampler=reader, folder=folder)
    assert reader.position == {"epoch": 1, "records_done": 64}
    with pytest.raises(job.ArgumentError, match="a sampler of type list has no state"):
        job.checkpoint.save(sampler=[], step=3, folder=folder)


def test_the_last_ones_and_the_best_one_are_kept(job, folder):
    model, losses = torch.nn.Linear(2, 2), [0.5, 0.1, 0.3, float("nan"), 0.4, 0.2]
    for step, loss in enumerate(losses):
        job.checkpoint.save(model, step=step, metrics={"val_loss": loss}, folder=folder,
                            keep={"last": 2, "best": {"metric": "val_loss", "goal": "minimize"}})
    job.checkpoint.wait()
    assert steps_in(folder) == [1, 4, 5]
    job.checkpoint.save(model, step=6, metrics={"val_loss": 0.2}, folder=folder,
                        keep={"last": 1, "best": {"metric": "val_loss", "goal": "maximize"}})
    job.checkpoint.wait()
    assert steps_in(folder) == [4, 6]
    job.checkpoint.save(model, step=7, folder=folder, keep=1)
    job.checkpoint.wait()
    assert steps_in(folder) == [7]


def test_how_many_are_kept_comes_from_the_launcher(job, folder, monkeypatch):
    monkeypatch.setenv("SLIPWAY_CONFIG", json.dumps({"checkpoint": {"keep": 3}, "spec_hash": "abc"}))
    monkeypatch.setenv("SLIPWAY_CHECKPOINT_DIR", str(folder))
    for step in range(5):
        job.checkpoint.save(torch.nn.Linear(2, 2), step=step)
    job.checkpoint.wait()
    assert steps_in(folder) == [2, 3, 4]
    assert _folder.manifest_of(folder / "step-000000000004")["spec_hash"] == "abc"


def test_the_best_one_by_the_launchers_metric_stays_and_its_manifest_says_why(job, folder, monkeypatch):
    best = {"metric": "accuracy", "goal": "maximize"}
    monkeypatch.setenv("SLIPWAY_CONFIG", json.dumps({"checkpoint": {"keep": 1, "keep_best": best}}))
    monkeypatch.setenv("SLIPWAY_CHECKPOINT_DIR", str(folder))
    for step, accuracy in enumerate([0.5, 0.9, 0.7, 0.6]):
        job.checkpoint.save(torch.nn.Linear(2, 2), step=step, metrics={"accuracy": accuracy})
    job.checkpoint.wait()
    assert steps_in(folder) == [1, 3]
    assert _folder.manifest_of(folder / "step-000000000003")["keep_best"] == best


@pytest.mark.parametrize("keep,said", [
    (0, "keep.last is 0"), ({"first": 1}, "give a number, or"), ({"best": "loss"}, "keep.best is 'loss'"),
    ({"best": {"metric": "loss", "goal": "least"}}, "keep.best.goal is 'least'; use 'minimize' or 'maximize'")])
def test_what_keep_cannot_be_is_named(job, folder, keep, said):
    with pytest.raises(job.ArgumentError, match=said):
        job.checkpoint.save(torch.nn.Linear(1, 1), step=1, keep=keep, folder=folder)


def test_a_step_that_is_saved_again_replaces_the_first(job, folder):
    model = torch.nn.Linear(2, 2)
    for value in (1.0, 2.0):
        torch.nn.init.constant_(model.weight, value)
        job.checkpoint.save(model, step=3, folder=folder)
    torch.nn.init.zeros_(model.weight)
    job.checkpoint.load(model, folder=folder)
    assert model.weight.eq(2.0).all() and steps_in(folder) == [3]
    assert [each.name for each in folder.iterdir()] == ["step-000000000003"]


def test_it_is_a_checkpoint_for_the_library_and_calls_of_both_kinds_mix(job, folder, monkeypatch):
    job.checkpoint.save(torch.nn.Linear(2, 2), step=3, epoch=1, folder=folder)
    monkeypatch.setenv("SLIPWAY_CHECKPOINT_DIR", str(folder))
    with pytest.raises(job.StateError, match="SLIPWAY_CHECKPOINT_DIR is not set"):
        with job.checkpoint(4, epoch=1):  # the library read its settings when the job was joined
            raise AssertionError("not reached")
    assert steps_in(folder) == [3], "the call has waited for save()"
    assert _folder.damage_of(folder / "step-000000000003") == ""


def test_ranks_that_disagree_get_the_same_error(job, folder):
    if job.size() == 1:
        pytest.skip("needs two ranks")
    with pytest.raises(job.MismatchError, match="rank 1 saves step 2, rank 0 step 1"):
        job.checkpoint.save(torch.nn.Linear(2, 2), step=min(job.rank(), 1) + 1, folder=folder)
    with pytest.raises(job.MismatchError, match="rank 1 has tensors of other shapes than rank 0"):
        job.checkpoint.save(torch.nn.Linear(2, min(job.rank(), 1) + 1), step=1, folder=folder)
    job.checkpoint.save(torch.nn.Linear(2, 2), step=1, folder=folder)
    job.checkpoint.wait()
    assert steps_in(folder) == [1]


def test_without_a_folder_nothing_is_found_and_nothing_saved(job, monkeypatch):
    monkeypatch.delenv("SLIPWAY_CHECKPOINT_DIR", raising=False)
    monkeypatch.delenv("SLIPWAY_RESUME_FROM", raising=False)
    assert job.checkpoint.load() is None
    with pytest.raises(job.StateError, match="start the program with `slipway run`, or give folder="):
        job.checkpoint.save(torch.nn.Linear(2, 2), step=1)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [flip, lambda path: os.truncate(path, 7), os.unlink])
def test_a_torn_part_means_an_older_checkpoint_or_an_error_that_names_it(job, folder, monkeypatch, capfd, damage):
    model = torch.nn.Linear(10, 10)
    for step in (1, 2):
        job.checkpoint.save(model, step=step, folder=folder)
    job.checkpoint.wait()
    torn = _shares.name_of(job.size() - 1)
    if job.rank() == 0:
        damage(folder / "step-000000000002" / torn)
    job.barrier()
    assert job.checkpoint.load(model, folder=folder).step == 1
    if job.rank() == 0:
        assert f"step-000000000002' is damaged: '{torn}'" in capfd.readouterr().err
    monkeypatch.setenv("SLIPWAY_RESUME_FROM", str(folder / "step-000000000002"))
    with pytest.raises(job.FileError, match=f"step-000000000002' is damaged: '{torn}'"):
        job.checkpoint.load(model)
    job.checkpoint.save(model, step=3, keep=1, folder=folder)
    job.checkpoint.wait()
    assert steps_in(folder)[-1] == 3


def test_a_checkpoint_of_another_version_is_an_error_that_names_it(job, folder, monkeypatch):
    model = torch.nn.Linear(10, 10)
    for step in (1, 2):
        job.checkpoint.save(model, step=step, folder=folder)
    job.checkpoint.wait()
    if job.rank() == 0:
        manifest = folder / "step-000000000002" / "manifest.json"
        manifest.write_text(manifest.read_text().replace("slipway.checkpoint/1", "slipway.checkpoint/2"))
    job.barrier()
    with pytest.raises(job.FileError, match="step-000000000002' is of another version of Slipway.*checkpoint/2"):
        job.checkpoint.load(model, folder=folder)
    monkeypatch.setenv("SLIPWAY_RESUME_FROM", str(folder / "step-000000000002"))
    with pytest.raises(job.FileError, match="use the version of Slipway that wrote it"):
        job.checkpoint.load(model)


def test_a_checkpoint_of_another_program_and_one_without_a_part_are_named(job, folder):
    if job.rank() == 0:
        (folder / ".tmp-x").mkdir()
        (folder / ".tmp-x" / "weights").write_bytes(b"1")
        _folder.publish(folder / ".tmp-x", {"step": 1, "epoch": 0.0, "world_size": 1, "spec_hash": "",
                                            "files": [_folder.entry_of(folder / ".tmp-x" / "weights")]})
    job.barrier()
    with pytest.raises(job.FileError, match="is another program's: it has no 'state.pickle'"):
        job.checkpoint.load(folder=folder)
    model = torch.nn.Linear(2, 2)
    job.checkpoint.save(model, step=2, folder=folder)
    with pytest.raises(job.FileError, match="holds no optimizer: it was saved without one"):
        job.checkpoint.load(model, torch.optim.SGD(model.parameters(), lr=1), folder=folder)


def test_a_pickle_that_others_can_write_is_not_read(job, folder):
    job.checkpoint.save(torch.nn.Linear(2, 2), step=1, folder=folder)
    job.checkpoint.wait()
    if job.rank() == 0:
        (folder / "step-000000000001" / "state.pickle").chmod(0o666)
    job.barrier()
    with pytest.raises(job.FileError, match="is not read, because reading a pickle runs code: .*other users can write to it"):
        job.checkpoint.load(folder=folder)


def test_under_ddp_and_with_the_optimizers_of_both(gloo, job, folder):
    import slipway.torch
    ddp = torch.nn.parallel.DistributedDataParallel
    saved = make_training(1, ddp)
    train(saved, 2)
    job.checkpoint.save(*saved, step=2, folder=folder)
    model, optimizer, scheduler = make_training(2)
    job.checkpoint.load(model, optimizer, scheduler, folder=folder)  # also without the wrapper
    require_equal(dict(model.state_dict()), dict(saved[0].module.state_dict()))

    optimizer = slipway.torch.DistributedOptimizer(optimizer, model.named_parameters())
    train((model, optimizer, scheduler), 2)
    job.checkpoint.save(model, optimizer, step=4, folder=folder)
    other = make_training(3)
    wrapped = slipway.torch.DistributedOptimizer(other[1], other[0].named_parameters())
    job.checkpoint.load(other[0], wrapped, folder=folder)
    require_equal(dict(model.state_dict()), dict(other[0].state_dict()))
    require_equal(optimizer.state_dict(), wrapped.state_dict())
    for each in (optimizer, wrapped):
        each.close()


def moving_average(model):
    return AveragedModel(model, use_buffers=True, avg_fn=lambda mean, new, count: 0.9 * mean + 0.1 * new)


@pytest.mark.parametrize("wrap", [False, True], ids=["optimizer", "ddp"])
def test_averaged_weights_and_a_scaler_come_back_in_the_same_call(gloo, job, folder, wrap):
    import slipway.torch

    class Run:
        def __init__(self, seed):
            self.model, self.optimizer, self.scheduler = make_training(seed, ddp if wrap else lambda model: model)
            self.average = moving_average(self.model)
            self.scaler = slipway.torch.GradScaler(init_scale=2.0**seed, growth_interval=3)
            if not wrap:
                self.optimizer = slipway.torch.DistributedOptimizer(self.optimizer, self.model.named_parameters())

        def parts(self):
            return {"average": self.average, "scaler": self.scaler}

        def train(self, steps, overflow=None):
            generator = torch.Generator().manual_seed(7 + job.rank())
            for step in range(steps):
                self.optimizer.zero_grad()
                inputs = torch.randn(8, 7, generator=generator)
                self.scaler.scale(self.model(inputs).square().mean() * (math.inf if step == overflow else 1)).backward()
                self.scaler.step(self.optimizer)
                before = self.scaler.get_scale()
                self.scaler.update()
                if self.scaler.get_scale() >= before:  # else the step was left out
                    self.average.update_parameters(self.model)

        def state(self):
            """Running statistics are those of rank 0."""
            models = [dict(each.state_dict() if job.rank() == 0 else each.named_parameters())
                      for each in (self.model, self.average)]
            return {"models": dict(enumerate(models)), "scaler": self.scaler.state_dict(),
                    "optimizer": self.optimizer.state_dict()}

    ddp = torch.nn.parallel.DistributedDataParallel
    saved, other = Run(1), Run(2)
    saved.train(4, overflow=2)
    assert saved.average.n_averaged == 3
    job.checkpoint.save(saved.model, saved.optimizer, saved.scheduler, **saved.parts(), step=4, folder=folder)
    job.checkpoint.load(other.model, other.optimizer, other.scheduler, **other.parts(), folder=folder)
    for run in (saved, other):
        run.train(3)
    require_equal(saved.state(), other.state())
    assert saved.average.n_averaged == 6
    job.check_match({name: values.detach() for name, values in saved.average.named_parameters()})
    for run in (saved, other):
        if not wrap:
            run.optimizer.close()


def test_averages_are_stored_by_all_ranks_and_those_that_are_no_module_too(job, folder):
    class Shadow:
        """As packages keep it that know no AveragedModel."""

        def __init__(self, model):
            self.values, self.updates = [each.detach().clone() for each in model.parameters()], 0

        def state_dict(self):
            return {"values": self.values, "updates": self.updates}

        def load_state_dict(self, state):
            self.values, self.updates = [each.clone() for each in state["values"]], state["updates"]

    model = torch.nn.Linear(300, 100)
    saved, other = Shadow(model), Shadow(torch.nn.Linear(300, 100))
    job.broadcast({str(index): each for index, each in enumerate(saved.values)})
    saved.updates = 5
    job.checkpoint.save(average=saved, step=1, folder=folder)
    found = job.checkpoint.load(average=other, folder=folder)
    require_equal(saved.state_dict()["values"][0], other.state_dict()["values"][0])
    assert other.updates == 5
    assert (found.folder / "state.pickle").stat().st_size < 10_000, "its tensors are not in what rank 0 pickles"
    with pytest.raises(job.FileError, match="holds no scaler: it was saved without one"):
        import slipway.torch
        job.checkpoint.load(average=other, scaler=slipway.torch.GradScaler(), folder=folder)


def test_of_a_zero_redundancy_optimizer(gloo, job, folder):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    models = [torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Linear(6, 2)) for _ in range(2)]
    job.broadcast(dict(models[0].state_dict()))
    optimizers = [ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1) for model in models]
    models[0](torch.ones(3, 6)).sum().backward()
    optimizers[0].step()
    job.checkpoint.save(models[0], optimizers[0], step=1, folder=folder)
    job.checkpoint.load(models[1], optimizers[1], folder=folder)
    for model, optimizer in zip(models, optimizers):
        optimizer.zero_grad()
        model(torch.ones(3, 6)).square().sum().backward()
        optimizer.step()
    require_equal(dict(models[0].state_dict()), dict(models[1].state_dict()))
