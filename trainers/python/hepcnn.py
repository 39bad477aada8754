"""HEP-CNN: signal or background in calorimeter images. Kurth et al., "Deep learning at 15PF", SC 2017: five convolutions
with 128 filters, one full layer, 594,178 parameters."""

import numpy as np
import torch
from torch import nn

from slipway.trainers.layers import Function, draw_weights
from slipway.trainers.options import Option, UsageError, whole_number
from slipway.trainers.program import run
from slipway.trainers.task import Classification

CHANNELS = 3


def ranked(scores, is_signal):
    """Signal and background events of each score, by falling score: those of one score pass a threshold together."""
    _, place = np.unique(-scores, return_inverse=True)
    return np.bincount(place, is_signal), np.bincount(place, ~is_signal)


def area_under_roc(signal, background):
    """How often a signal event has the larger score than one of the background; equal scores count half."""
    return (background * (np.cumsum(signal) - signal / 2)).sum() / (signal.sum() * background.sum())


def signal_efficiency(signal, background, rejected):
    """The share of the signal that a threshold keeps which `rejected` of the background do not pass."""
    allowed = (1 - rejected) * background.sum()
    return signal[np.cumsum(background) <= allowed].sum() / signal.sum()


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
        most = self.size.bit_length()
        if self.units > most:
            raise UsageError(f"--units {self.units} halves the picture {self.units - 1} times, and --size {self.size} has not "
                             f"so many pixels: give at most --units {most}")

    def input(self, training):
        return {"name": "image", "type": "float32", "shape": list(self.input_shape())}

    def input_shape(self):
        return CHANNELS, self.size, self.size

    def prepared(self, images):
        """Energies span powers of ten, and are never negative."""
        return torch.log1p(images)

    def shape(self):
        return {"filters": self.filters, "units": self.units}

    def make_model(self):
        layers = [Function(self.prepared)]
        for unit in range(self.units):
            layers += [nn.Conv2d(self.filters if unit else CHANNELS, self.filters, 3, padding=1), nn.ReLU()]
            if unit + 1 < self.units:
                layers.append(nn.MaxPool2d(2))
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(self.filters, self.classes)]
        return draw_weights(nn.Sequential(*layers), 0)

    def of_all(self, predictions, targets):
        events = ranked(predictions[:, 1], targets == 1)
        with np.errstate(invalid="ignore"):  # NaN where one of the classes is missing
            return {"auc": area_under_roc(*events), "efficiency_at_99": signal_efficiency(*events, 0.99)}


if __name__ == "__main__":
    run(Hepcnn())
