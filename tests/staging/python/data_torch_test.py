"""slipway.data.torch: staged data for the DataLoader of PyTorch."""

import subprocess
import sys
import warnings

import pytest
import torch
import torch.utils.data
from data_test import example, frame

import slipway.data.torch
from slipway.data import device
from slipway.errors import ArgumentError, NotSupportedError

OPTIONS = {"fields": [{"name": "image", "shape": [2, 3]}, "label"], "seed": 3}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """23 records in two files."""
    for name in ("RANK", "WORLD_SIZE", "SLIPWAY_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    for part, labels in enumerate((range(11), range(11, 23))):
        (tmp_path / f"part-{part}.tfrecord").write_bytes(
            b"".join(frame(example(bytes(range(label, label + 6)), label)) for label in labels))
    return tmp_path


def labels_of(batches):
    return [batch["label"].tolist() for batch in batches]


def of_reader(folder, epochs, **options):
    reader = slipway.data.open(folder, **{**OPTIONS, **options})
    return [labels_of(reader) for _ in range(epochs)]


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("remainder", ["drop", "repeat"])
def test_any_number_of_workers_gives_the_batches_of_the_reader(folder, workers, remainder):
    options = {"batch": 2, "rank": 1, "world": 2, "remainder": remainder}
    batches = slipway.data.torch.Batches(folder, **OPTIONS, **options)
    loader = slipway.data.torch.DataLoader(batches, num_workers=workers)
    expected = of_reader(folder, 2, **options)
    assert len(expected[0]) == {"drop": 5, "repeat": 6}[remainder] == len(loader)
    assert [labels_of(loader) for _ in range(2)] == expected and expected[0] != expected[1]
    assert batches.position == {"epoch": 2, "records_done": 0}


def test_batches_show_the_memory_of_the_reader(folder):
    batches = slipway.data.torch.Batches(folder, **OPTIONS, batch=4, prefetch=1)
    places = {batch["image"].data_ptr() for batch in torch.utils.data.DataLoader(batches, batch_size=None)}
    assert len(places) == 2, "the slots of the reader, and no copies"


@pytest.mark.parametrize("workers", [0, 2])
def test_a_position_continues_behind_the_last_batch_that_was_given_and_on_other_ranks(folder, workers):
    batches = slipway.data.torch.Batches(folder, **OPTIONS, batch=4)
    loader = slipway.data.torch.DataLoader(batches, num_workers=workers)
    first = []
    for batch in loader:
        first += batch["label"].tolist()
        if len(first) == 8:
            break
    assert batches.position == {"epoch": 0, "records_done": 8}
    whole = [label for batch in of_reader(folder, 1, batch=1)[0] for label in batch]
    assert first == whole[:8]
    seen = []
    for rank in range(2):
        other = slipway.data.torch.Batches(folder, **OPTIONS, batch=2, rank=rank, world=2)
        other.position = batches.position
        seen.append(labels_of(slipway.data.torch.DataLoader(other, num_workers=workers)))
    steps = [sorted(one + two) for one, two in zip(*seen)]
    assert steps == [sorted(whole[at:at + 4]) for at in (8, 12, 16)]


def test_workers_that_stay_go_on_with_the_next_epoch(folder):
    batches = slipway.data.torch.Batches(folder, **OPTIONS, batch=4)
    loader = slipway.data.torch.DataLoader(batches, num_workers=2, persistent_workers=True)
    assert [labels_of(loader) for _ in range(3)] == of_reader(folder, 3, batch=4)
    batches.position = {"epoch": 0, "records_done": 4}
    with pytest.raises(ArgumentError, match="persistent workers go on with {'epoch': 3, 'records_done': 0}"):
        next(iter(loader))


def test_shards_of_nodes_are_read_without_workers_only(folder):
    shares = {"nodes": [{"records": 23, "ranks": 1}, {"records": 23, "ranks": 1}], "node": 0}
    batches = slipway.data.torch.Batches(folder, **OPTIONS, batch=4, shares=shares, rank=0)
    loader = slipway.data.torch.DataLoader(batches)
    assert len(next(iter(loader))["label"]) == 4 and batches.position["shares"]
    with pytest.raises(Exception, match="use num_workers=0: the reader has threads of its own"):
        next(iter(slipway.data.torch.DataLoader(batches, num_workers=1)))


def test_a_transform_runs_where_the_batch_is_made(folder):
    def add(tensors):
        return {**tensors, "worker": torch.tensor(torch.utils.data.get_worker_info().id)}
    batches = slipway.data.torch.Batches(folder, **OPTIONS, batch=4, transform=add)
    assert [int(batch["worker"]) for batch in slipway.data.torch.DataLoader(batches, num_workers=2)] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("workers", [0, 2])
def test_records_by_number(folder, workers):
    records = slipway.data.torch.Records(folder, **OPTIONS, rank=1, world=2)
    expected = [[label for batch in epoch for label in batch] for epoch in of_reader(folder, 2, batch=1, rank=1, world=2)]
    assert len(records) == 11 and [int(records[at]["label"]) for at in (5, 6, 0)] == [expected[0][at] for at in (5, 6, 0)]
    loader = torch.utils.data.DataLoader(records, batch_size=4, num_workers=workers)
    assert sum(labels_of(loader), []) == expected[0]
    records.set_epoch(1)
    assert sum(labels_of(loader), []) == expected[1]
    with pytest.raises(IndexError, match="there is no record 11 of 11"):
        records[11]


def test_a_distributed_sampler_is_warned_of(folder):
    batches, records = slipway.data.torch.Batches(folder, **OPTIONS), slipway.data.torch.Records(folder, **OPTIONS)
    for dataset in (batches, records):
        with pytest.warns(UserWarning, match="a share of what is already the share of this rank"):
            sampler = torch.utils.data.DistributedSampler(dataset, num_replicas=2, rank=0)
    with pytest.warns(UserWarning, match="leave the sampler out"):
        slipway.data.torch.DataLoader(batches, sampler=sampler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(torch.utils.data.RandomSampler(records)) == len(records) == 23


def test_what_does_not_fit_is_named(folder):
    with pytest.raises(ArgumentError, match="takes no 'epochs'"):
        slipway.data.torch.Batches(folder, **OPTIONS, epochs=2)
    with pytest.raises(ArgumentError, match="give batch_size to the DataLoader"):
        slipway.data.torch.Records(folder, **OPTIONS, batch=2)
    with pytest.raises(ArgumentError, match="batch_size is the option `batch`"):
        slipway.data.torch.DataLoader(slipway.data.torch.Batches(folder, **OPTIONS), batch_size=2)
    with pytest.raises(ArgumentError, match="the dataset is a list"):
        slipway.data.torch.DataLoader([])


class LateCopies:
    """Stands for a GPU that copies as late as it may: when the host waits for a copy, or the values are used."""

    def __init__(self):
        self.order = []

    def begin(self, values):
        self.order.append("begin")
        return {"from": values, "to": None}

    def _copy(self, copy):
        copy["to"] = copy["to"] or {name: value.clone() for name, value in copy["from"].items()}

    def finish(self, copy):
        self.order.append("finish")
        self._copy(copy)

    def take(self, copy):
        self.order.append("take")
        self._copy(copy)
        return copy["to"]


def marked(batches):
    while (batch := batches.next()) is not None:
        yield batches.position, batch.torch()


def test_a_batch_is_copied_to_a_device_before_the_reader_uses_its_memory_again(folder):
    """A copy that is left to its stream would be of a later batch: the reader has two slots only."""
    options = {**OPTIONS, "batch": 2, "prefetch": 1}
    reader, copies = slipway.data.open(folder, **options), LateCopies()
    given = [(mark["records_done"], values["label"].tolist()) for mark, values in device.one_ahead(marked(reader), copies)]
    assert [labels for _, labels in given] == of_reader(folder, 1, **options)[0]
    assert [done for done, _ in given] == list(range(2, 24, 2)), "a position is that behind its own batch"
    assert copies.order[:5] == ["begin", "finish", "begin", "take", "finish"], "the next copy is begun before a batch is given"


def test_a_loop_that_is_left_waits_for_the_copy_that_is_on_its_way(folder):
    copies = LateCopies()
    batches = device.one_ahead(marked(slipway.data.open(folder, **OPTIONS)), copies)
    next(batches)
    assert copies.order == ["begin", "finish", "begin", "take"]
    batches.close()
    assert copies.order[4:] == ["finish"]


def test_an_error_comes_in_the_turn_of_its_batch():
    def failing():
        yield from ((mark, {"label": torch.tensor([mark])}) for mark in range(3))
        raise OSError("a damaged record")
    given = []
    with pytest.raises(OSError, match="a damaged record"):
        for mark, values in device.one_ahead(failing(), LateCopies()):
            given.append((mark, values["label"].item()))
    assert given == [(0, 0), (1, 1), (2, 2)]


def test_without_batches_nothing_is_copied():
    copies = LateCopies()
    assert list(device.one_ahead(iter(()), copies)) == [] and copies.order == []


def test_workers_give_no_batches_on_a_device(folder):
    batches = slipway.data.torch.Batches(folder, **OPTIONS, batch=2, device="cuda")
    with pytest.raises(NotSupportedError, match="workers cannot give batches on cuda"):
        list(slipway.data.torch.DataLoader(batches, num_workers=1))


@pytest.mark.skipif(torch.cuda.is_available(), reason="memory can be pinned here")
def test_where_no_memory_can_be_pinned_the_reader_takes_its_own_and_says_so(folder):
    with pytest.warns(RuntimeWarning, match="copied to the GPU from ordinary memory.*ulimit"):
        reader = device.open_pinned(folder, {**OPTIONS, "batch": 4})
    assert labels_of(reader) == of_reader(folder, 1, batch=4)[0]


WORKERS_IN_A_JOB = """
import sys
import slipway, slipway.data.torch
slipway.init()
batches = slipway.data.torch.Batches(sys.argv[1], fields=["label"], batch=4, seed=3)
for workers in (0, 2):
    loader = slipway.data.torch.DataLoader(batches, num_workers=workers)
    print(workers, "workers", sum(len(batch["label"]) for batch in loader))
"""


def test_workers_of_a_program_in_a_job(folder):
    """fork() makes them, so that they are not part of it."""
    done = subprocess.run([sys.executable, "-c", WORKERS_IN_A_JOB, folder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0 workers 20", "2 workers 20"]
