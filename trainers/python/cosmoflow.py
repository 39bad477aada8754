"""CosmoFlow: the parameters of a universe from its density of matter. Mathuriya et al., "CosmoFlow: using deep learning
to learn the universe at scale", SC 2018: seven convolutions, three full layers, 7,041,443 parameters for three values."""

import math

import torch
from torch import nn

from slipway.trainers.layers import Function, draw_weights
from slipway.trainers.options import Option, UsageError, whole_number
from slipway.trainers.program import run
from slipway.trainers.task import Task

PAPER_SIZE = 128
VALUES = ("omega_m", "sigma_8", "n_s")
LEAK = 0.3


class Cosmoflow(Task):
    name = "cosmoflow"
    about = "reads the parameters of a universe from its density of matter, data-parallel over the ranks of a job."
    records = "volumes"
    defaults = {"batch_size": 8, "optimizer": "sgd", "lr": 0.01, "lr_batch": 8}
    measure_names = ("mae", *(f"mae_{name}" for name in VALUES))

    def own_options(self):
        return [Option("size", "cells of a side", 32, whole_number(16, 512)),
                Option("filters", "of the first convolution; the others have up to 16 times as many", 16,
                       whole_number(1, 64))]

    def configure(self, arguments):
        """oneDNN of libtorch 1.13 returns wrong gradients for the weights of some convolutions."""
        self.size, self.filters = arguments.size, arguments.filters
        if arguments.precision == "bf16":
            raise UsageError("--precision bf16: libtorch 1.13 computes wrong gradients of 3-D convolutions in bf16: give "
                             "--precision fp32")

    def input(self, training):
        return {"name": "volume", "type": "float32", "shape": [self.size] * 3}

    def target(self):
        return {"name": "target", "type": "float32", "shape": [len(VALUES)]}

    def input_shape(self):
        return 1, self.size, self.size, self.size

    def prepared(self, density):
        """The logarithm of the density, 0 at its mean and spread over about -2 to 2: what says most about the universe is
        how far it spreads, which a network sees only around 0."""
        return 3 * (torch.log1p(density) - math.log(2))

    def shape(self):
        return {"size": self.size, "filters": self.filters}

    def make_model(self):
        """At 128 cells as in the paper, without padding: 2^3 places are left for the full layers. Smaller cubes keep
        their edges by padding, others are averaged to as many places, with the same number of parameters."""
        filters = self.filters
        layers = [Function(self.prepared), *self._convolution(1, filters, 3, 1), nn.AvgPool3d(2),
                  *self._convolution(filters, 2 * filters, 4, 1), nn.AvgPool3d(2),
                  *self._convolution(2 * filters, 4 * filters, 4, 2),
                  *self._convolution(4 * filters, 8 * filters, 3, 2),
                  *self._convolution(8 * filters, 16 * filters, 3, 1),
                  *self._convolution(16 * filters, 16 * filters, 2, 1),
                  *self._convolution(16 * filters, 16 * filters, 2, 1), nn.AdaptiveAvgPool3d(2), nn.Flatten()]
        for width in (128 * filters, 16 * filters):
            layers += [nn.Linear(128 * filters, width), nn.LeakyReLU(LEAK)]
        return draw_weights(nn.Sequential(*layers, nn.Linear(16 * filters, len(VALUES))), LEAK)

    def _convolution(self, filters_in, filters_out, kernel, stride):
        padding = kernel // 2 if self.size < PAPER_SIZE else 0
        return nn.Conv3d(filters_in, filters_out, kernel, stride, padding), nn.LeakyReLU(LEAK)

    def loss(self, outputs, targets):
        return nn.functional.mse_loss(outputs, targets)

    def measures(self, outputs, targets):
        """Absolute errors, in the units of `target`: half the range of a parameter is 1."""
        errors = (outputs - targets).abs().sum(0).double().tolist()
        return [sum(errors) / len(VALUES), *errors]


if __name__ == "__main__":
    run(Cosmoflow())
