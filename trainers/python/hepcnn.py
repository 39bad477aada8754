"""HEP-CNN: signal or background in calorimeter images. Kurth et al., "Deep learning at 15PF", SC 2017: five convolutions
with 128 filters, one full layer, 594,178 parameters."""

import numpy as np
import torch
from torch import nn

from slipway.trainers.layers import Function, draw_weights
from slipway.trainers.options import Option, whole_number
from slipway.trainers.program import run
from slipway.trainers.task import Classification

CHANNELS = 3


def area_under_roc(is_signal):
    """How often a signal event has the larger score. `is_signal`: of the events by falling score."""
    signal_above = np.cumsum(is_signal)
    return signal_above[~is_signal].sum() / (is_signal.sum() * np.float64((~is_signal).sum()))


def signal_efficiency(is_signal, rejected):
    """The share of the signal that a threshold keeps which `rejected` of the background do not pass."""
    passed = np.cumsum(~is_signal)
    allowed = (1 - rejected) * (~is_signal).sum()
    return is_signal[passed <= allowed].sum() / np.float64(is_signal.sum())


class Hepcnn(Classification):
    name = "hepcnn"
    about = "tells signal from background in calorimeter images, data-parallel over the ranks of a job."
    records = "images"
    defaults = {"batch_size": 16}
    classes = 2
    measures_all = True

    def own_options(self):
        return [Option("size", "pixels of a side", 64, whole_number(16, 4096)),
                Option("filters", "of each convolution", 128, whole_number(1, 4096)),
                Option("units", "convolutions, all but the last followed by pooling", 5, whole_number(1, 8))]

    def configure(self, arguments):
        self.size, self.filters, self.units = arguments.size, arguments.filters, arguments.units

    def input(self, training):
        return {"name": "image", "type": "float32", "shape": list(self.input_shape())}

    def input_shape(self):
        return CHANNELS, self.size, self.size

    def shape(self):
        return {"filters": self.filters, "units": self.units}

    def make_model(self):
        layers = [Function(torch.log1p)]  # energies span powers of ten, and are never negative
        for unit in range(self.units):
            layers += [nn.Conv2d(self.filters if unit else CHANNELS, self.filters, 3, padding=1), nn.ReLU()]
            if unit + 1 < self.units:
                layers.append(nn.MaxPool2d(2))
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(self.filters, self.classes)]
        return draw_weights(nn.Sequential(*layers), 0)

    def of_all(self, predictions, targets):
        is_signal = targets[np.argsort(-predictions[:, 1], kind="stable")] == 1
        with np.errstate(invalid="ignore"):  # NaN where one of the classes is missing
            return {"auc": area_under_roc(is_signal), "efficiency_at_99": signal_efficiency(is_signal, 0.99)}


if __name__ == "__main__":
    run(Hepcnn())
