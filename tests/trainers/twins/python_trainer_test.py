"""A trainer in Python stops when asked, goes on as if it had never stopped, and names what it cannot train on."""

import json
import types

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed for this Python (Debian: python3-torch)")

import torch
from twins_support import BUILD, fashion_images, write_records

TWO_EPOCHS = ("--epochs", "2", "--train_images", "320")


@pytest.mark.parametrize("optimizer, ranks, mode, further", [
    ("sgd", 1, "sync", []), ("adam", 2, "sync", ["--ema", "0.9"]), ("lamb", 1, "sync", ["--loss_scale", "3e38"]),
    ("sgd", 2, "delayed", ["--ema", "0.9"])])
def test_it_goes_on_as_if_it_had_never_stopped(place, optimizer, ranks, mode, further):
    arguments = [*TWO_EPOCHS, "--optimizer", optimizer, *further]
    uninterrupted, stopped = place("fashion", name="whole"), place("fashion", name="stopped")
    for program in (uninterrupted, stopped):
        program.environment["SLIPWAY_CONFIG"] = json.dumps({"gradients": {"mode": mode, "lag": 1}})
    uninterrupted.train(*arguments, ranks=ranks)
    stopped.ask_to_stop()
    assert "stopping as asked, after step 1\n" in stopped.train(*arguments, ranks=ranks).stdout
    assert stopped.newest_checkpoint().name == "step-000000000001"
    stopped.resume()
    assert "continuing at epoch 1, step 1\n" in stopped.train(*arguments, ranks=ranks).stdout
    wanted, found = uninterrupted.metrics(), stopped.metrics()
    for name in ("train_loss", "validation_loss", "validation_accuracy", "test_loss", "test_accuracy"):
        assert found[name] == pytest.approx(wanted[name], abs=1e-12), name
    for file in ("model.pt", "optimizer.pt", *(["averaged.pt"] if "--ema" in further else [])):
        read = [(program.newest_checkpoint() / file).read_bytes() for program in (uninterrupted, stopped)]
        assert read[0] == read[1], f"the bytes of {file} differ"
    read = [json.loads((program.newest_checkpoint() / "progress.json").read_text())["progress"]
            for program in (uninterrupted, stopped)]
    for option, name in (("--ema", "average_updates"), ("--loss_scale", "loss_scale")):
        assert read[0][name] == read[1][name]
        assert (read[0][name] is not None) == (option in further)


@pytest.mark.parametrize("images", ["20", "157"], ids=["behind the last step of an epoch", "inside an epoch"])
def test_it_goes_on_where_the_last_step_of_an_epoch_repeats_records(place, images):
    arguments = ["--epochs", "2", "--train_images", images, "--batch_size", "4"]
    uninterrupted, stopped = place("fashion", name="whole"), place("fashion", name="stopped")
    for program in (uninterrupted, stopped):
        program.environment["SLIPWAY_CONFIG"] = json.dumps(
            {"gradients": {"accumulate": 3}, "data": {"train": {"remainder": "repeat", "seed": 5}}})
    uninterrupted.train(*arguments, ranks=2)
    stopped.ask_to_stop()
    stopped.train(*arguments, ranks=2)
    progress = json.loads((stopped.newest_checkpoint() / "progress.json").read_text())
    assert progress["progress"]["train"]["records"] == 24
    stopped.resume()
    assert "continuing at epoch 1, step 1\n" in stopped.train(*arguments, ranks=2).stdout
    read = [(program.newest_checkpoint() / "model.pt").read_bytes() for program in (uninterrupted, stopped)]
    assert read[0] == read[1], "the bytes of model.pt differ"


@pytest.mark.parametrize("word, local_rank, expected", [("auto", 4, "cuda:1"), ("cuda", 2, "cuda:2"), ("cpu", 1, "cpu")])
def test_ranks_of_a_node_take_turns_on_its_gpus(monkeypatch, word, local_rank, expected):
    """With three GPUs that are not there."""
    monkeypatch.syspath_prepend(BUILD / "lib/slipway/python")
    import slipway
    from slipway.trainers import device
    current = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    monkeypatch.setattr(slipway, "local_rank", lambda: local_rank)
    arguments = types.SimpleNamespace(device=word, precision="fp32")
    assert device.chosen(arguments) == torch.device(expected)
    assert current == ([] if expected == "cpu" else [torch.device(expected)])


def test_averages_are_those_of_the_formula_and_change_places_with_the_weights(monkeypatch):
    monkeypatch.syspath_prepend(BUILD / "lib/slipway/python")
    from slipway.trainers import weight_average
    model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1))
    average, expected, weights = weight_average.WeightAverage(0.25, model), {}, {}
    floats = {name: values for name, values in model.state_dict().items() if values.is_floating_point()}
    for name, values in floats.items():
        expected[name] = values.item()
    for update, kept in enumerate((0.1, 2 / 11, 0.25, 0.25)):  # (1 + update) / (10 + update), at most 0.25
        for index, (name, values) in enumerate(floats.items()):
            values.fill_(index + update * update)
            expected[name] = kept * expected[name] + (1 - kept) * values.item()
        average.update()
    weights = {name: values.item() for name, values in floats.items()}
    with weight_average.in_place(average):
        assert {name: values.item() for name, values in floats.items()} == pytest.approx(expected, rel=1e-6)
    assert {name: values.item() for name, values in floats.items()} == weights
    with pytest.raises(KeyError), weight_average.in_place(average):
        raise KeyError
    assert {name: values.item() for name, values in floats.items()} == weights, "after an error, too"
    assert average.updates == 4


def test_averaging_can_begin_and_end_between_two_attempts(place):
    program = place("fashion")
    short = ("--train_images", "320")
    program.train("--epochs", "1", *short)
    assert not (program.newest_checkpoint() / "averaged.pt").exists()
    program.resume()
    assert "holds no averaged weights: the average begins with its weights\n" in program.train(
        "--epochs", "2", *short, "--ema", "0.9").stdout
    assert (program.newest_checkpoint() / "averaged.pt").exists()
    program.resume()
    assert "averaged weights of the checkpoint are left out: ema is 0\n" in program.train("--epochs", "3", *short).stdout
    assert not (program.newest_checkpoint() / "averaged.pt").exists()


def test_a_checkpoint_of_another_order_is_named(place):
    program = place("fashion")
    program.train("--epochs", "1", "--train_images", "64")
    program.resume()
    program.environment["SLIPWAY_CONFIG"] = '{"data": {"train": {"seed": 5}}}'
    assert "was made with data.train.seed 0, now it is 5: give the same value" in refusal(
        program, "--epochs", "2", "--train_images", "64")


def test_an_attempt_ends_at_its_limit_and_the_next_goes_on(place):
    whole, rungs = place("fashion", name="whole"), place("fashion", name="rungs")
    whole.train(*TWO_EPOCHS, ranks=2)
    rungs.environment.update(SLIPWAY_RESOURCE="epoch", SLIPWAY_RESOURCE_LIMIT="1")
    first = rungs.start(*TWO_EPOCHS, ranks=2)
    assert first.returncode == 75, first.stderr
    assert "ending at the limit of epoch 1" in first.stdout and "test_loss" not in rungs.metrics()
    rungs.resume()
    rungs.environment["SLIPWAY_RESOURCE_LIMIT"] = ""
    rungs.train(*TWO_EPOCHS, ranks=2)
    assert rungs.metrics()["validation_loss"] == whole.metrics()["validation_loss"]


def test_parameters_of_a_trial_replace_arguments_and_each_repeat_has_a_seed_of_its_own(place):
    program = place("fashion")
    short = ("--epochs", "1", "--train_images", "64")
    program.environment["SLIPWAY_PARAMS"] = '{"lr": 1e-9, "used_by_another_program": 1}'
    assert "adam with lr 1e-09" in program.train(*short).stdout
    program.environment["SLIPWAY_REPEAT"] = "1"
    program.train(*short)
    first, second = program.metrics()["validation_loss"]
    assert first == pytest.approx(2.3, abs=0.1) and second != first


SHORT = ("--epochs", "1")


def refusal(program, *arguments, ranks=1, status=1):
    done = program.start(*arguments, ranks=ranks)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_records_that_do_not_fit_are_named(place, tmp_path):
    images, labels = fashion_images(200)
    wrong = labels.copy()
    wrong[7] = 10
    write_records(tmp_path / "labels", images, wrong)
    write_records(tmp_path / "small", images[:, :20], labels)
    program = place("fashion")
    program.environment["SLIPWAY_DATA_TRAIN"] = str(tmp_path / "labels")
    assert "records.h5': record 7 has label 10: must be 0 to 9" in refusal(program, *SHORT, "--batch_size", "1")
    program.environment["SLIPWAY_DATA_TRAIN"] = str(tmp_path / "small")
    assert f"'{tmp_path / 'small'}': field 'image' has uint8 [20, 28]" in refusal(program, *SHORT, status=2)
    program.environment["SLIPWAY_DATA_TRAIN"] = str(tmp_path / "nowhere")
    assert "nowhere" in refusal(program, *SHORT)


def test_a_record_that_is_not_finite_is_named(place, tmp_path):
    images = np.ones((40, 3, 16, 16), np.float32)
    images[5, 1, 2, 3] = np.nan
    write_records(tmp_path / "nan", images, np.arange(40) % 2)
    program = place("hepcnn")
    program.environment["SLIPWAY_DATA_TRAIN"] = str(tmp_path / "nan")
    program.environment["SLIPWAY_CONFIG"] = '{"validation": {"fraction": 0}}'
    assert "records.h5': record 5 holds values that are not finite" in refusal(program, *SHORT, "--batch_size", "4")


def test_a_loss_that_is_not_finite_ends_the_job_and_keeps_the_last_checkpoint(place):
    program = place("fashion")
    program.train("--epochs", "1", "--train_images", "320")
    kept = program.newest_checkpoint()
    wild = ("--epochs", "3", "--train_images", "320", "--optimizer", "sgd", "--lr", "1000", "--weight_decay", "1000")
    assert "the loss is " in refusal(program, *wild, ranks=2)
    assert program.newest_checkpoint() == kept


def test_a_checkpoint_that_does_not_fit_is_named(place):
    ours, theirs = place("fashion", "c++", "c++"), place("fashion", "python", "python")
    ours.train("--epochs", "1", "--train_images", "320")
    theirs.train("--epochs", "1", "--train_images", "320")
    ours.resume()
    theirs.resume()
    checkpoint = theirs.newest_checkpoint()
    assert f"'{checkpoint}' was made with channels 8, now it is 4" in refusal(
        theirs, "--epochs", "2", "--train_images", "320", "--channels", "4")
    theirs.environment["SLIPWAY_RESUME_FROM"] = str(ours.newest_checkpoint())
    assert "written by fashion, this is slipway.trainers.fashion: go on with" in refusal(
        theirs, "--epochs", "2", "--train_images", "320")
    ours.environment["SLIPWAY_RESUME_FROM"] = str(checkpoint)
    assert f"'{checkpoint}' is another program's: it was written by slipway.trainers.fashion, this is fashion" in refusal(
        ours, "--epochs", "2", "--train_images", "320")
    for file in ("model.pt", "progress.json"):
        content = (checkpoint / file).read_bytes()
        (checkpoint / "manifest.json").unlink(missing_ok=True)
        (checkpoint / file).write_bytes(content[:len(content) // 2])
        theirs.environment["SLIPWAY_RESUME_FROM"] = str(checkpoint)
        assert str(checkpoint) in refusal(theirs, "--epochs", "2", "--train_images", "320")
