"""A small convolutional network on Fashion-MNIST."""

from torch import nn

from slipway.trainers.options import Option, whole_number
from slipway.trainers.program import run
from slipway.trainers.task import Classification

SIDE = 28


class Fashion(Classification):
    name = "fashion"
    about = "trains a small convolutional network on Fashion-MNIST, data-parallel over the ranks of a job."
    records = "images"
    classes = 10

    def own_options(self):
        return [Option("channels", "of the first convolution; the second has twice as many", 32, whole_number(1, 4096))]

    def configure(self, arguments):
        self.channels = arguments.channels

    def input(self, training):
        return {"name": "image", "shape": [SIDE, SIDE], "transforms": [{"op": "normalise", "scale": 1 / 255}]}

    def input_shape(self):
        return 1, SIDE, SIDE

    def shape(self):
        return {"channels": self.channels}

    def make_model(self):
        """Two convolutions with pooling, two full layers; scores of the classes."""
        channels = self.channels
        return nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Conv2d(channels, 2 * channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Flatten(), nn.Linear(2 * channels * SIDE * SIDE // 16, 128), nn.ReLU(),
                             nn.Linear(128, self.classes))


if __name__ == "__main__":
    run(Fashion())
