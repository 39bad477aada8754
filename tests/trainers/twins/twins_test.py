"""The trainers in Python and their twins in C++: the same options, losses, predictions and refusals."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed for this Python (Debian: python3-torch)")

from twins_support import BUILD, SLIPWAY

MODELS = ("fashion", "hepcnn", "cosmoflow", "resnet50")
# First weights are drawn in the same order in both languages, and so is everything after them.
CLOSE = 1e-4


def twins(place, model):
    return place(model, "c++", "c++"), place(model, "python", "python")


@pytest.mark.parametrize("model", MODELS)
def test_they_have_the_same_options(place, model):
    def names(program):
        return [line.split()[0] for line in program.train("--help").stdout.splitlines() if line.startswith("  --")]
    ours, theirs = twins(place, model)
    assert names(theirs) == names(ours) and "--epochs" in names(ours)


@pytest.mark.parametrize("model, ranks", [("hepcnn", 1), ("hepcnn", 2), ("fashion", 1), ("fashion", 2), ("cosmoflow", 2),
                                          ("resnet50", 2)])
def test_they_have_the_same_curve(place, model, ranks):
    metrics, said = [], []
    for program in twins(place, model):
        done = program.train("--epochs", "2", ranks=ranks)
        metrics.append(program.metrics())
        said.append(done.stdout.splitlines()[0])
    assert set(metrics[0]) == set(metrics[1])
    assert {"train_loss", "validation_loss", "test_loss", "replicas_match"} <= set(metrics[1])
    assert said[0] == said[1]
    for name in ("train_loss", "validation_loss", "test_loss"):
        ours, theirs = (values[name][-2:] for values in metrics)
        assert theirs == pytest.approx(ours, rel=CLOSE), name
    if model == "fashion":
        assert metrics[1]["train_loss"][-1] < metrics[1]["train_loss"][0] < 2.3, "it learns"


@pytest.mark.parametrize("model, arguments", [("hepcnn", ["--optimizer", "sgd", "--trust", "0.01"]),
                                              ("cosmoflow", ["--lr_scaling", "sqrt", "--warmup_epochs", "1"])])
def test_they_leave_the_same_mllog(place, model, arguments):
    logs = []
    for program in twins(place, model):
        program.train("--epochs", "2", *arguments)
        logs.append(program.mllog())
    ours, theirs = logs
    assert [line[:2] for line in theirs] == [line[:2] for line in ours]
    assert [line[3] for line in theirs] == [line[3] for line in ours]
    assert {"epoch_start", "tracked_stats", "eval_stop"} < {key for _, key, _, _ in theirs}
    for (_, key, value, _), (_, _, expected, _) in zip(theirs, ours):
        assert value == (pytest.approx(expected, rel=CLOSE) if isinstance(expected, float) else expected), key


def test_bf16_trains_nearly_as_fp32_does_in_both_languages(place):
    losses = {}
    for number, program in enumerate(twins(place, "fashion")):
        program.train("--epochs", "2", "--precision", "bf16", ranks=2)
        losses[number] = program.metrics()["validation_loss"]
    whole = place("fashion", "python", "fp32")
    whole.train("--epochs", "2", ranks=2)
    expected = whole.metrics()["validation_loss"]
    assert losses[1] == pytest.approx(losses[0], rel=0.05)
    assert losses[1] == pytest.approx(expected, rel=0.1) and losses[1] != expected


@pytest.mark.parametrize("model", ("hepcnn", "resnet50"))
def test_other_networks_train_in_bf16(place, model):
    for program in twins(place, model):
        program.train("--epochs", "1", "--precision", "bf16")
        assert program.metrics()["validation_loss"][-1] < 20


@pytest.mark.parametrize("model, further, gradients", [
    ("hepcnn", [], {}),
    ("resnet50", ["--sync_batch_norm", "1"], {}),
    ("hepcnn", ["--precision", "bf16", "--optimizer", "sgd"], {"mode": "delayed", "lag": 1}),
    ("fashion", ["--loss_scale", "3e38"], {"accumulate": 2}),
])
def test_they_average_the_same_weights(place, model, further, gradients):
    read, losses, updates = [], [], []
    for program in twins(place, model):
        program.environment["SLIPWAY_CONFIG"] = json.dumps({"gradients": gradients})
        plain = place(model, program.language, f"plain-{program.language}")
        plain.environment["SLIPWAY_CONFIG"] = program.environment["SLIPWAY_CONFIG"]
        arguments = ["--epochs", "2", "--train_images", "160", "--batch_size", "4", *further]
        plain.train(*arguments, ranks=2)
        said = program.train(*arguments, "--ema", "0.9", ranks=2).stdout
        assert ("a gradient overflowed" in said) == ("--loss_scale" in further)
        assert "weights averaged with decay 0.9\n" in said
        ours, theirs = program.metrics(), plain.metrics()
        assert ours["train_loss"] == theirs["train_loss"], "the training is the same"
        for name in ("validation_loss", "test_loss"):
            assert ours[name] != theirs[name], "but the averages are evaluated"
        losses.append(ours["validation_loss"] + ours["test_loss"])
        checkpoint = program.newest_checkpoint()
        averaged, weights = (weights_in(checkpoint / name) for name in ("averaged.pt", "model.pt"))
        assert np.abs(averaged - weights).max() > 1e-4
        assert (checkpoint / "model.pt").read_bytes() == (plain.newest_checkpoint() / "model.pt").read_bytes()
        read.append(averaged)
        progress = json.loads((checkpoint / "progress.json").read_text())["progress"]
        updates.append(progress["step"] - progress["average_updates"] - said.count("a gradient overflowed"))
    bound = 0.02 if "bf16" in further else CLOSE
    assert losses[1] == pytest.approx(losses[0], rel=bound)
    np.testing.assert_allclose(read[1], read[0], atol=bound)
    assert updates == [gradients.get("lag", 0)] * 2, "as many as the optimizer has made steps"


def weights_in(file):
    """All weights, one behind the other, of a file of either language."""
    try:
        weights = torch.jit.load(file).state_dict()
    except RuntimeError:
        weights = torch.load(file)
    return np.concatenate([weights[name].numpy().ravel() for name in sorted(weights) if weights[name].is_floating_point()])


def test_scaled_losses_train_to_the_same_bits(place):
    """Factors are powers of two. Where the factor is too large, first steps are left out until it is not."""
    for program in twins(place, "fashion"):
        plain = place("fashion", program.language, f"plain-{program.language}")
        arguments = ["--epochs", "1", "--train_images", "320", "--optimizer", "sgd"]
        plain.train(*arguments, ranks=2)
        program.train(*arguments, "--loss_scale", "1024", ranks=2)
        assert program.metrics() == plain.metrics()
        large = place("fashion", program.language, f"large-{program.language}")
        said = large.train(*arguments, "--batch_size", "1", "--loss_scale", "3e38", ranks=2).stdout
        overflows = [int(step) for step in re.findall("a gradient overflowed at step ([0-9]+): the step is left out", said)]
        progress = json.loads((large.newest_checkpoint() / "progress.json").read_text())["progress"]
        assert 0 < len(overflows) < progress["step"]
        assert progress["loss_scale"] == {"factor": 3e38 / 2**len(overflows), "steps": progress["step"] - overflows[-1] - 1}


def test_bf16_is_refused_where_gradients_are_wrong_in_it(place):
    answers = [program.start("--precision", "bf16") for program in twins(place, "cosmoflow")]
    assert [done.returncode for done in answers] == [2, 2]
    assert answers[0].stderr == answers[1].stderr
    assert "wrong gradients of 3-D convolutions in bf16: give --precision fp32" in answers[0].stderr


def test_a_gpu_that_is_not_there_is_refused_and_auto_does_without(place):
    answers = [program.start("--device", "cuda", ranks=2) for program in twins(place, "fashion")]
    for done in answers:
        assert done.returncode == 2
        assert "--device cuda: torch sees no GPU: ask for one with launch.gpus_per_rank" in done.stderr
    losses = []
    for word in ("auto", "cpu"):
        program = place("fashion", "python", word)
        program.train("--epochs", "1", "--train_images", "64", "--device", word)
        losses.append(program.metrics()["validation_loss"])
    assert losses[0] == losses[1]


def test_every_optimizer_moves_as_its_twin_does(place):
    for number, options in enumerate([["--optimizer", "sgd", "--weight_decay", "0.01"], ["--optimizer", "lamb"],
                                      ["--optimizer", "sgd", "--trust", "0.02"],
                                      ["--trust", "0.02", "--trust_clip", "0", "--weight_decay", "0.01"],
                                      ["--lr_scaling", "sqrt", "--lr_batch", "4", "--warmup_epochs", "0.5", "--lr_decay",
                                       "cosine", "--global_batch_size", "16"]]):
        losses = []
        for language in ("c++", "python"):
            program = place("hepcnn", language, f"{language}-{number}")
            program.train("--epochs", "2", "--train_images", "160", *options)
            losses.append(program.metrics()["validation_loss"])
        assert losses[1] == pytest.approx(losses[0], rel=1e-4), options


@pytest.mark.parametrize("gradients", [{"accumulate": 2}, {"mode": "delayed", "lag": 1, "sync_first": "25%"},
                                       {"clip_norm": 0.1, "compress": "bf16"}])
def test_the_exchange_does_the_same_for_both(place, gradients):
    losses = []
    for program in twins(place, "hepcnn"):
        program.environment["SLIPWAY_CONFIG"] = json.dumps({"gradients": gradients})
        program.train("--epochs", "2", "--train_images", "160", "--batch_size", "4", "--optimizer", "sgd", ranks=2)
        losses.append(program.metrics()["validation_loss"])
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


@pytest.mark.parametrize("data, steps", [({"seed": 5}, 6), ({"seed": 5, "remainder": "repeat"}, 7)])
def test_they_train_on_the_same_records_in_the_order_that_the_spec_chooses(place, data, steps):
    """157 records on two ranks are 19 or 20 passes of 8, of which a step takes three."""
    losses = []
    for program in twins(place, "hepcnn"):
        program.environment["SLIPWAY_CONFIG"] = json.dumps({"gradients": {"accumulate": 3}, "data": {"train": data}})
        program.train("--epochs", "2", "--train_images", "157", "--batch_size", "4", "--optimizer", "sgd", ranks=2)
        assert program.newest_checkpoint().name == f"step-{2 * steps:012}"
        losses.append(program.metrics()["train_loss"])
    assert losses[1] == pytest.approx(losses[0], rel=CLOSE)


def test_their_predictions_are_of_the_same_records(place):
    folders = []
    for ranks, program in zip((1, 3), twins(place, "hepcnn")):
        program.train("--epochs", "0", ranks=ranks)
        folders.append(program.folder)
    ours, theirs = folders
    for name in ("targets.npy", "targets.json", "predictions.json"):
        read = [np.load(folder / name) if name.endswith("npy") else json.loads((folder / name).read_text())
                for folder in folders]
        np.testing.assert_equal(read[1], read[0])
    predicted = np.load(theirs / "predictions.npy")
    assert predicted.dtype == np.float32
    np.testing.assert_allclose(predicted, np.load(ours / "predictions.npy"), atol=1e-6)


@pytest.mark.parametrize("model, count", [("hepcnn", 594_178), ("cosmoflow", 7_041_443), ("resnet50", 25_557_032)])
def test_each_has_as_many_parameters_as_its_paper_says(model, count):
    program = (f"from slipway.trainers.{model} import {model.capitalize()} as Task\n"
               "from slipway.trainers.options import Arguments\n"
               "task = Task()\n"
               "task.configure(Arguments(task.options()))\n"
               "print(sum(p.numel() for p in task.make_model().parameters()))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={"PYTHONPATH": str(BUILD / "lib/slipway/python"), "PYTHONDONTWRITEBYTECODE": "1"})
    assert (done.stderr, done.stdout) == ("", f"{count}\n")


@pytest.mark.parametrize("arguments, environment", [
    (["--learning_rate", "1"], {}),
    (["--epochs", "three"], {}),
    (["--batch_size", "64", "--global_batch_size", "64"], {}),
    (["--batch_size", "4000"], {}),
    ([], {"SLIPWAY_DATA_TRAIN": ""}),
    ([], {"SLIPWAY_PARAMS": '{"lr": "fast"}'}),
    ([], {"SLIPWAY_CONFIG": '{"data": {"train": {"remainder": "pad"}}}'}),
    (["--ema", "1"], {}),
    (["--precision", "fp16"], {}),
    (["--loss_scale", "2"], {"SLIPWAY_CONFIG": '{"gradients": {"clip_norm": 1}}'}),
    (["--loss_scale", "2"], {"SLIPWAY_CONFIG": '{"gradients": {"mode": "delayed"}}'}),
    (["--loss_scale", "2"], {"SLIPWAY_CONFIG": '{"gradients": {"check_finite": true, "clip_norm": null}}'}),
])
def test_they_refuse_the_same_with_the_same_words(place, arguments, environment):
    answers = []
    for program in twins(place, "fashion"):
        program.environment.update(environment)
        done = program.start(*arguments)
        answers.append((done.returncode, done.stderr))
    assert answers[0] == answers[1] and answers[1][0] == 2


def test_the_launcher_runs_one_in_place_of_the_other(tmp_path, data_of):
    data, losses = data_of("hepcnn"), []
    for name, program in (("cpp", "program: hepcnn"), ("python", f"command: [{sys.executable}, -m, slipway.trainers.hepcnn]")):
        spec = tmp_path / f"{name}.yaml"
        spec.write_text(f"""
name: {name}
data:
  train: {{source: "{data}/train/*", format: hdf5, tier: [none]}}
  test: {{source: "{data}/test/*", format: hdf5, tier: [none]}}
launch: {{ranks_per_node: 2}}
train:
  {program}
  args: {{epochs: 1, size: 16, filters: 8, units: 3}}
""")
        done = subprocess.run([SLIPWAY, "run", spec, "--runs-dir", tmp_path / "runs", "--json"], capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        losses.append(json.loads(done.stdout)["metrics"]["test_loss"])
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
