"""data.NAME.on_corrupt: a training passes over damaged records and counts them, or it ends and names the first. The trainers
in C++ and their twins do the same."""

import json
import re

import numpy
import pytest

from place import Dataset, twin

ARGS = {"size": 16, "filters": 4, "units": 2, "batch_size": 8, "epochs": 2, "optimizer": "sgd", "lr": 0.01}
BOTH = ["hepcnn", twin("hepcnn")]
IN_TRAIN = (7, 30, 31)  # of the first file


def damage(file, *records):
    """Flips a bit in the data of these records of a TFRecord file."""
    content = bytearray(file.read_bytes())
    at = number = 0
    while at < len(content):
        length = int.from_bytes(content[at:at + 8], "little")
        if number in records:
            content[at + 12 + length // 2] ^= 1
        at, number = at + 16 + length, number + 1
    assert number > max(records)
    file.write_bytes(content)


@pytest.fixture
def damaged(tmp_path):
    """160 records to train on of which three are damaged, and 30 for the test with one."""
    data = Dataset(tmp_path, "hepcnn", size=16, train=160, test=30, shards=2, format="tfrecord")
    data.first = {part: min((data.folder / part).iterdir()) for part in ("train", "test")}
    damage(data.first["train"], *IN_TRAIN)
    damage(data.first["test"], 4)
    return data


def section(dataset, **settings):
    return {part: {**of_part, **settings} for part, of_part in dataset.section().items()}


def skipping(place, dataset, trainer, ranks=2, **settings):
    run = place.run(trainer, dataset, ARGS, ranks, data=section(dataset, on_corrupt="skip", **settings))
    assert run.phase == "succeeded", run.said
    return run


def said_of_records(run, ranks):
    """(file, number of the record in it) of every line that names a damaged one."""
    pattern = re.compile(r"damaged, skipped: '.*/(train|test)-0*(\d+)-of-\d+\.tfrecord': record (\d+)\b.*CRC32C")
    return sorted((part, int(shard), int(record)) for rank in range(ranks) for part, shard, record in
                  pattern.findall(run.log(rank)))


@pytest.mark.parametrize("trainer", BOTH)
@pytest.mark.parametrize("settings", [{}, {"tier": "ram", "verify": "full"}, {"tier": "ram", "verify": "off"}],
                         ids=["in-place", "staged", "unchecked"])
def test_skip_trains_past_damaged_records_and_counts_them(place, damaged, trainer, settings):
    run = skipping(place, damaged, trainer, **settings)
    skipped = numpy.array([run.values("train_skipped"), run.values("validation_skipped")])
    assert skipped.sum(0).tolist() == [len(IN_TRAIN)] * ARGS["epochs"]
    assert run.values("test_skipped") == [1]
    expected = [("test", 0, 4)] + [("train", 0, record) for record in IN_TRAIN]
    found = said_of_records(run, 2)
    assert sorted(set(found)) == expected
    assert f"{int(skipped[0][0])} damaged images of train skipped\n" in run.log()


def test_twins_skip_alike_and_evaluate_each_record_once(place, damaged):
    ours, theirs = (skipping(place, damaged, trainer) for trainer in BOTH)
    for metric in ("train_loss", "validation_loss", "test_loss", "test_auc"):
        assert theirs.last(metric) == pytest.approx(ours.last(metric), rel=1e-4), metric
    assert ours.values("train_skipped") == theirs.values("train_skipped")
    alone = skipping(place, damaged, "hepcnn", ranks=1)
    there = 16 - int(ours.last("validation_skipped"))
    for run in (ours, theirs, alone):
        assert len(numpy.load(run.folder / "predictions.npy")) == there
        assert len(numpy.load(run.folder / "targets.npy")) == there
    orders = [json.loads((run.folder / "targets.json").read_text()) for run in (ours, theirs, alone)]
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize("trainer", BOTH)
def test_records_that_are_whole_are_skipped_by_nobody(place, few_collisions, trainer):
    run = skipping(place, few_collisions, trainer)
    assert run.values("train_skipped") == [0, 0] and run.values("test_skipped") == [0]
    assert "skipped" not in run.log()
    assert len(numpy.load(run.folder / "predictions.npy")) == 16


def test_fail_is_the_default_and_names_file_record_and_way_out_before_any_training(place, damaged):
    answer = place.answer("run", place.write("hepcnn", damaged, ARGS, 2, data={"train": damaged.section()["train"]}))
    assert f"'{damaged.first['train']}': record 7 at byte" in answer["message"]
    assert "on_corrupt: skip" in answer["next_step"]


@pytest.mark.parametrize("trainer", BOTH)
def test_fail_ends_the_training_at_a_damaged_record_that_no_staging_has_found(place, damaged, trainer):
    run = place.run(trainer, damaged, ARGS, 2, data=section(damaged, verify="off"))
    assert run.phase == "failed"
    assert re.search(rf"{damaged.first['train'].name}': record (7|30|31) at byte \d+.*CRC32C", run.said)
    assert not run.values("train_skipped")
