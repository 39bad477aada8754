"""ResNet-50, He et al., "Deep residual learning for image recognition", CVPR 2016, with the stride in the 3x3
convolution: 25,557,032 parameters for 1000 classes. Records like those of ImageNet."""

import torch
from torch import nn

from slipway.torch import SyncBatchNorm
from slipway.trainers.options import Option, number, whole_number
from slipway.trainers.program import run
from slipway.trainers.task import Classification

EXPANSION = 4
BEST = 5


def convolution(channels_in, channels_out, kernel, stride):
    return nn.Conv2d(channels_in, channels_out, kernel, stride, padding=kernel // 2, bias=False)


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1, and what came in beside it. The last normalisation begins at 0, so that a block begins as what
    passes it (Goyal et al. 2017)."""

    def __init__(self, channels_in, width, stride):
        super().__init__()
        channels_out = width * EXPANSION
        self.body = nn.Sequential(convolution(channels_in, width, 1, 1), nn.BatchNorm2d(width), nn.ReLU(),
                                  convolution(width, width, 3, stride), nn.BatchNorm2d(width), nn.ReLU(),
                                  convolution(width, channels_out, 1, 1), nn.BatchNorm2d(channels_out))
        nn.init.zeros_(self.body[7].weight)
        self.beside = None
        if stride != 1 or channels_in != channels_out:
            self.beside = nn.Sequential(convolution(channels_in, channels_out, 1, stride), nn.BatchNorm2d(channels_out))

    def forward(self, values):
        return torch.relu(self.body(values) + (values if self.beside is None else self.beside(values)))


class Resnet50(Classification):
    name = "resnet50"
    about = "trains ResNet-50 on pictures, data-parallel over the ranks of a job."
    records = "images"
    defaults = {"batch_size": 8, "optimizer": "sgd", "lr": 0.1, "lr_scaling": "linear", "lr_batch": 256,
                "weight_decay": 1e-4}
    label = "image/class/label"

    def own_options(self):
        return [Option("size", "pixels of a side", 224, whole_number(32, 1024)),
                Option("classes", "how many", 1000, whole_number(2, 10**6)),
                Option("first_label", "the number of the first class: 1 in the TFRecords of ImageNet", 1,
                       whole_number(0, 1)),
                Option("width", "filters of the first block", 64, whole_number(1, 512)),
                Option("least_area", "of a picture that training sees at random, as a part of it", 0.08,
                       number(0.01, 1)),
                Option("sync_batch_norm", "1: normalise by the batches of all ranks together; 0: each rank its own", 0,
                       whole_number(0, 1))]

    def configure(self, arguments):
        self.size, self.width = arguments.size, arguments.width
        self.classes, self.first_label = arguments.classes, arguments.first_label
        self.least_area, self.sync_batch_norm = arguments.least_area, arguments.sync_batch_norm
        if self.classes > BEST:  # among fewer the right one is always one of the first five
            self.measure_names = ("accuracy", f"top{BEST}_accuracy")

    def input(self, training):
        """Training: random parts, mirrored; evaluation: the middle of the picture."""
        square = [self.size, self.size]
        if training:
            parts = [{"op": "random_resized_crop", "size": square, "area": [self.least_area, 1]}, {"op": "flip"}]
        else:
            parts = [{"op": "resize", "shorter": self.size * 8 // 7}, {"op": "center_crop", "size": square}]
        return {"name": "image/encoded", "transforms": [
            {"op": "decode_jpeg", "channels": 3}, *parts,
            {"op": "normalise", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "scale": 1 / 255},
            {"op": "channels_first"}]}

    def input_shape(self):
        return 3, self.size, self.size

    def shape(self):
        return {"classes": self.classes, "width": self.width}

    def make_model(self):
        layers = [convolution(3, self.width, 7, 2), nn.BatchNorm2d(self.width), nn.ReLU(),
                  nn.MaxPool2d(3, stride=2, padding=1)]
        channels, width = self.width, self.width
        for blocks in (3, 4, 6, 3):
            for block in range(blocks):
                layers.append(Bottleneck(channels, width, 2 if block == 0 and width > self.width else 1))
                channels = width * EXPANSION
            width *= 2
        model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, self.classes))
        return SyncBatchNorm.convert_sync_batchnorm(model) if self.sync_batch_norm else model

    def measures(self, outputs, targets):
        if self.classes <= BEST:
            return super().measures(outputs, targets)
        hits = outputs.topk(BEST, 1).indices.eq((targets - self.first_label).unsqueeze(1))
        return [hits[:, 0].sum().item(), hits.sum().item()]


if __name__ == "__main__":
    run(Resnet50())
