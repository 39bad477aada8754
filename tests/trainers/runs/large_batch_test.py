"""What makes large batches train: accumulation, scaled rates, trust, 16 bits on the wire, gradients that come later."""

import pytest

from ranks_test import small

COLLISIONS = {"size": 32, "filters": 16, "units": 4}


def trained(place, *spec, **sections):
    run = place.run(*spec, **sections)
    assert run.phase == "succeeded", run.said
    return run


def test_passes_that_are_added_up_are_one_larger_batch(place, make_data):
    data, args = small(make_data, "hepcnn")
    args = {**args, "epochs": 2, "report_every": 1}
    whole = trained(place, "hepcnn", data, {**args, "batch_size": 24})
    parts = trained(place, "hepcnn", data, {**args, "batch_size": 6}, 2, gradients={"accumulate": 2})
    assert "24 a step on 2 ranks in 2 passes" in parts.log()
    assert [step for step, *_ in parts.lines()] == [step for step, *_ in whole.lines()]
    for metric in ("train_loss", "test_loss"):
        assert parts.values(metric) == pytest.approx(whole.values(metric), rel=1e-3)


@pytest.mark.parametrize("ema", [0, 0.9])
def test_a_training_goes_on_with_other_ranks_and_passes_of_the_same_global_batch(place, make_data, ema):
    data, args = small(make_data, "hepcnn")
    args = {**args, "global_batch_size": 16, "epochs": 2, "ema": ema}
    run = trained(place, "hepcnn", data, {**args, "epochs": 1}, 2)
    resumed = place.resume(run, "--set", "train.args.epochs=2", "--set", "launch.ranks_per_node=1",
                           "--set", "gradients.accumulate=4")
    assert resumed.phase == "succeeded", resumed.said
    whole = trained(place, "hepcnn", data, args)
    assert resumed.last("test_loss") == pytest.approx(whole.last("test_loss"), rel=1e-3)


def test_averaged_weights_are_better_than_those_of_the_last_step(place, collisions):
    """With a rate at which the weights jump about."""
    args = {**COLLISIONS, "optimizer": "sgd", "lr": 0.3, "batch_size": 16, "epochs": 3}
    last = trained(place, "hepcnn", collisions, args)
    averaged = trained(place, "hepcnn", collisions, {**args, "ema": 0.98})
    assert averaged.weights() == last.weights()
    assert averaged.last("test_loss") < last.last("test_loss")


def test_16_bits_on_the_wire_change_little(place, make_data):
    data, args = small(make_data, "hepcnn")
    args = {**args, "epochs": 3, "batch_size": 8}
    exact = trained(place, "hepcnn", data, args, 2)
    rounded = trained(place, "hepcnn", data, args, 2, gradients={"compress": "bf16"})
    assert rounded.weights() != exact.weights()
    assert rounded.last("test_loss") == pytest.approx(exact.last("test_loss"), rel=0.02)
    assert rounded.last("replicas_match") == 1


def test_a_batch_eight_times_as_large_needs_a_larger_rate(place, collisions):
    args = {**COLLISIONS, "optimizer": "sgd", "lr": 0.01, "lr_batch": 16, "global_batch_size": 128, "epochs": 4}
    as_it_was = trained(place, "hepcnn", collisions, args)
    scaled = trained(place, "hepcnn", collisions, {**args, "lr_scaling": "linear", "warmup_epochs": 1})
    assert scaled.last("test_auc") > as_it_was.last("test_auc") + 0.01


@pytest.mark.parametrize("args", [
    {"optimizer": "lamb", "lr": 0.02},
    {"optimizer": "sgd", "lr": 0.02, "trust": 0.02},
    {"optimizer": "sgd", "lr": 0.1, "trust": 0.05, "trust_clip": 0, "warmup_epochs": 1},
], ids=["lamb", "larc", "lars"])
def test_steps_that_follow_the_norms_of_the_weights_learn(place, collisions, args):
    run = trained(place, "hepcnn", collisions, {**COLLISIONS, "global_batch_size": 64, "epochs": 4, **args})
    assert run.last("test_auc") > 0.95


def test_delayed_gradients_learn_as_much(place, collisions):
    args = {**COLLISIONS, "batch_size": 8, "epochs": 3, "lr": 0.002}
    together = trained(place, "hepcnn", collisions, args, 2)
    later = trained(place, "hepcnn", collisions, args, 2,
                    gradients={"mode": "delayed", "lag": 1, "sync_first": "10%"})
    assert later.weights() != together.weights()
    assert later.last("replicas_match") == 1
    assert later.last("test_auc") == pytest.approx(together.last("test_auc"), abs=0.01)


def test_normalisation_by_each_rank_is_evaluated_with_one_set_of_statistics(place, make_data):
    """Those of rank 0, which the checkpoint holds: one rank finds the same values with it as two did."""
    data, args = small(make_data, "resnet50")
    run = trained(place, "resnet50", data, {**args, "global_batch_size": 16, "epochs": 2}, 2)
    before = run.last("validation_loss")
    again = place.resume(run, "--set", "launch.ranks_per_node=1")
    assert again.phase == "succeeded", again.said
    assert len(again.values("validation_loss")) == 3, "there is nothing left to train, but a value to report"
    assert again.last("validation_loss") == pytest.approx(before, rel=1e-5)
