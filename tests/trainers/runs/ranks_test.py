"""What one rank trains, two ranks train: metrics, weights, predictions."""

import hashlib

import numpy
import pytest

SMALL = {
    "hepcnn": ("hepcnn", {"size": 16, "filters": 8, "units": 3, "optimizer": "sgd", "lr": 0.01}, {}),
    "cosmoflow": ("cosmoflow", {"size": 16, "filters": 2, "lr": 0.003}, {}),
    "resnet50": ("imagenet-like", {"size": 32, "classes": 6, "width": 4, "lr_scaling": "none", "lr": 0.01}, {"classes": 6}),
}


def small(make_data, trainer):
    kind, args, further = SMALL[trainer]
    return make_data(kind, size=args["size"], train=160, test=30, shards=2, **further), args


@pytest.mark.parametrize("trainer", ["hepcnn", "cosmoflow", "resnet50"])
def test_equal_global_batches_give_equal_losses_on_one_rank_and_on_two(place, make_data, trainer):
    data, args = small(make_data, trainer)
    args = {**args, "epochs": 2, "global_batch_size": 16, "report_every": 1}
    if trainer == "resnet50":  # parts of a batch that are normalised alone are another network
        args["sync_batch_norm"] = 1
    one = place.run(trainer, data, args)
    two = place.run(trainer, data, args, 2)
    assert one.phase == two.phase == "succeeded", one.said + two.said
    for metric in ("train_loss", "validation_loss", "test_loss"):
        assert len(one.values(metric)) == len(two.values(metric))
        assert two.values(metric) == pytest.approx(one.values(metric), rel=1e-3), metric
    assert two.last("replicas_match") == 1


@pytest.mark.parametrize("trainer", list(SMALL))
def test_says_how_fast_it_is_and_what_it_waits_for(place, make_data, trainer):
    data, args = small(make_data, trainer)
    run = place.run(trainer, data, {**args, "epochs": 2, "batch_size": 8}, 2)
    assert run.phase == "succeeded", run.said
    records = "volumes" if trainer == "cosmoflow" else "images"
    assert len(run.values(f"{records}_per_second")) == 2
    assert run.last(f"{records}_per_second") > 0
    assert 0 <= run.last("input_wait_share") < 1
    measures = {"hepcnn": ["accuracy", "auc", "efficiency_at_99"], "resnet50": ["accuracy", "top5_accuracy"],
                "cosmoflow": ["mae", "mae_omega_m", "mae_sigma_8", "mae_n_s"]}[trainer]
    for metric in ["loss", *measures]:
        assert len(run.values(f"validation_{metric}")) == 2
        assert len(run.values(f"test_{metric}")) == 1


@pytest.mark.parametrize("trainer", list(SMALL))
def test_predictions_are_of_every_validation_record_in_their_order(place, make_data, trainer):
    data, args = small(make_data, trainer)
    outputs = {"hepcnn": 2, "cosmoflow": 3, "resnet50": 6}[trainer]
    targets = []
    for ranks in (1, 2):
        run = place.run(trainer, data, {**args, "epochs": 1, "batch_size": 8}, ranks)
        assert run.phase == "succeeded", run.said
        predictions = numpy.load(run.folder / "predictions.npy")
        assert predictions.shape == (16, outputs) and predictions.dtype == numpy.float32
        targets.append(hashlib.sha256((run.folder / "targets.npy").read_bytes()).hexdigest())
        expected = numpy.load(run.folder / "targets.npy")
        if trainer == "cosmoflow":
            measured = numpy.abs(predictions - expected).mean()
            assert run.last("validation_mae") == pytest.approx(measured, rel=1e-5)
        else:
            # targets.npy holds labels as the files do: from 1 on in pictures.
            right = (predictions.argmax(1) == expected - (trainer == "resnet50")).mean()
            assert run.last("validation_accuracy") == pytest.approx(right, abs=1e-9)
            assert predictions.sum(1) == pytest.approx(numpy.ones(16), abs=1e-5)
    assert targets[0] == targets[1]


def test_a_cosmoflow_batch_has_the_means_of_the_target_that_the_files_hold(place, make_data):
    data, args = small(make_data, "cosmoflow")
    run = place.run("cosmoflow", data, {**args, "epochs": 1, "batch_size": 8})
    (targets,) = data.read("train", "target")
    kept = numpy.load(run.folder / "targets.npy")
    assert all(any(numpy.array_equal(row, target) for target in targets) for row in kept)
