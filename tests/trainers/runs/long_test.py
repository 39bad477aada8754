"""What takes minutes: ResNet-50 learns, and gradients that come a step later cost no accuracy on all of Fashion-MNIST."""

import pathlib

import numpy
import pytest
import slipway.data

import baselines
from place import Dataset, slipway_command

IDX = pathlib.Path("/usr/share/datasets/fashion-mnist")


class Fashion(Dataset):
    """All of it, converted."""

    def __init__(self, folder):
        self.folder, self.format = folder, "tfrecord"
        for part, name in (("train", "train"), ("test", "t10k")):
            (folder / part).mkdir()
            slipway_command("data", "convert", "--images", IDX / f"{name}-images-idx3-ubyte.gz", "--labels",
                            IDX / f"{name}-labels-idx1-ubyte.gz", "--to", "tfrecord", "--shards", 4, folder / part / part)


@pytest.mark.parametrize("lag", [1])
def test_delayed_gradients_cost_no_accuracy(place, tmp_path, lag):
    data = Fashion(tmp_path)
    args = {"epochs": 3, "batch_size": 32, "lr": 0.001}
    together = place.run("fashion", data, args, 2)
    later = place.run("fashion", data, args, 2, gradients={"mode": "delayed", "lag": lag, "sync_first": "10%"})
    assert together.phase == later.phase == "succeeded", together.said + later.said
    print("synchronous", together.last("test_accuracy"), "delayed", later.last("test_accuracy"))
    assert later.last("test_accuracy") == pytest.approx(together.last("test_accuracy"), abs=0.01)


def pictures(data, part):
    """Rows of numbers, labels from 0."""
    decoded = {"name": "image/encoded", "transforms": [{"op": "decode_jpeg"}, {"op": "resize", "size": [32, 32]}]}
    reader = slipway.data.open(str(data.folder / part), batch=1, order="in_order", epochs=1,
                               fields=[decoded, "image/class/label"])
    rows = [(numpy.array(batch["image/encoded"]).ravel() / 255.0, int(batch["image/class/label"][0]) - 1) for batch in reader]
    return numpy.array([row for row, _ in rows]), numpy.array([label for _, label in rows])


def test_resnet50_knows_figures_better_than_a_linear_model(place, make_data):
    data = make_data("imagenet-like", size=64, classes=4, train=8000, test=800)
    run = place.run("resnet50", data, {
        "epochs": 8, "batch_size": 16, "optimizer": "adam", "lr": 0.002, "lr_decay": "cosine", "lr_scaling": "none",
        "weight_decay": 0, "size": 64, "classes": 4, "width": 16, "least_area": 0.6}, 2)
    assert run.phase == "succeeded", run.said
    linear = baselines.best_linear_accuracy(*(pictures(data, part) for part in ("train", "test")), 4)
    print("linear", linear, "network", run.last("test_accuracy"))
    assert run.last("test_accuracy") > linear + 0.2
