"""Each trainer learns what a linear model cannot, from data made on the spot."""

import numpy
import pytest

import baselines
from place import slipway_command, twin


def assert_falls(run, metric="train_loss"):
    """The last epoch's mean is below the first's."""
    at_ends = dict((step, value) for step, name, value in run.lines() if name == metric)
    ends = [at_ends[step] for step, name, _ in run.lines() if name == "validation_loss"]
    assert len(ends) > 1 and ends[-1] < ends[0]


def test_hepcnn_finds_more_signal_than_a_linear_model(place, collisions):
    run = place.run("hepcnn", collisions,
                    {"epochs": 3, "batch_size": 16, "lr": 0.002, "size": 32, "filters": 16, "units": 4})
    assert run.phase == "succeeded", run.said
    linear = baselines.best_linear_auc(collisions.read("train", "image", "label"), collisions.read("test", "image", "label"))
    assert run.last("test_auc") > linear + 0.02
    assert run.last("test_efficiency_at_99") > 0.4
    assert_falls(run)


# What an ensemble has to find: small networks, one to two hundred steps each.
QUICK = {"batch_size": 16, "lr": 0.003, "size": 32, "filters": 8, "units": 3}


def test_more_data_helps_in_as_many_steps(place, collisions):
    nothing_set_aside = {"validation": {"from": "train", "fraction": 0}}
    few = place.run("hepcnn", collisions, {**QUICK, "epochs": 160, "train_images": 16}, train=nothing_set_aside)
    many = place.run("hepcnn", collisions, {**QUICK, "epochs": 2, "train_images": 1280}, train=nothing_set_aside)
    assert few.phase == many.phase == "succeeded", few.said + many.said
    assert few.lines()[-1][0] == many.lines()[-1][0] == 160
    assert many.last("test_auc") > few.last("test_auc") + 0.015
    assert many.last("test_loss") < few.last("test_loss") - 0.1


def test_a_right_learning_rate_helps(place, collisions):
    """Too small and it does not move, too large and it learns nothing: the one between is found by validation alone."""
    runs = {lr: place.run("hepcnn", collisions, {**QUICK, "epochs": 1, "lr": lr}) for lr in (0.00001, 0.003, 0.3)}
    assert all(run.phase == "succeeded" for run in runs.values())
    area = {lr: run.last("validation_auc") for lr, run in runs.items()}
    assert max(area, key=area.get) == 0.003
    assert area[0.003] > 0.9 and max(area[0.00001], area[0.3]) < 0.75
    assert runs[0.003].last("test_auc") > max(runs[lr].last("test_auc") for lr in (0.00001, 0.3)) + 0.15


def test_the_area_under_roc_is_that_of_the_predictions(place, collisions):
    run = place.run("hepcnn", collisions,
                    {"epochs": 1, "batch_size": 16, "lr": 0.002, "size": 32, "filters": 8, "units": 3})
    scores = numpy.load(run.folder / "predictions.npy")[:, 1]
    labels = numpy.load(run.folder / "targets.npy")
    assert run.last("validation_auc") == pytest.approx(baselines.area_under_roc(scores, labels), abs=1e-9)
    allowed = numpy.sort(scores[labels == 0])[::-1][int(0.01 * (labels == 0).sum())]
    assert run.last("validation_efficiency_at_99") == pytest.approx((scores[labels == 1] > allowed).mean(), abs=0.02)


@pytest.mark.parametrize("trainer", [lambda trainer: trainer, twin], ids=["c++", "python"])
def test_a_network_that_says_the_same_of_all_is_worth_nothing(place, tmp_path, trainer):
    """Wherever the signal stands in the files: events of one score pass a threshold together."""
    numpy.save(tmp_path / "image.npy", numpy.zeros((60, 3, 16, 16), numpy.float32))
    numpy.save(tmp_path / "label.npy", (numpy.arange(60) < 30).astype(numpy.int64))
    slipway_command("data", "convert", "--from", tmp_path / "image.npy", "--from", tmp_path / "label.npy", "--to", "hdf5",
                    tmp_path / "empty.h5")
    data = {name: {"source": str(tmp_path / "empty.h5"), "format": "hdf5", "tier": "none"} for name in ("train", "test")}
    run = place.run(trainer("hepcnn"), None, {"epochs": 1, "batch_size": 8, "size": 16, "filters": 4, "units": 2}, data=data)
    assert run.phase == "succeeded", run.said
    assert run.last("test_auc") == 0.5
    assert run.last("test_efficiency_at_99") == 0


def test_cosmoflow_reads_the_density_better_than_a_linear_model(place, make_data):
    universes = make_data("cosmoflow", size=16, train=2000, test=400)
    run = place.run("cosmoflow", universes, {"epochs": 7, "batch_size": 8, "size": 16, "filters": 8})
    assert run.phase == "succeeded", run.said
    linear = baselines.best_linear_mae(universes.read("train", "volume", "target"), universes.read("test", "volume", "target"))
    assert run.last("test_mae") < 0.9 * linear
    assert run.last("test_mae_sigma_8") < 0.35
    assert_falls(run)
