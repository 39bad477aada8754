"""The network of trainers/fashion in plain PyTorch, with its DataLoader: plain_fashion.py FOLDER IMAGES BATCH EPOCHS."""

import gzip
import json
import pathlib
import sys
import time

import numpy
import torch
from torch import nn


def read(folder, images):
    """The set in memory as float32, as a loader is fastest with it."""
    with gzip.open(folder / "train-images-idx3-ubyte.gz") as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 1, 28, 28)[:images]
    with gzip.open(folder / "train-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)[:images]
    return torch.utils.data.TensorDataset(torch.tensor(pixels, dtype=torch.float32) / 255,
                                          torch.tensor(labels, dtype=torch.int64))


def network():
    return nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))


def train(loader, model, optimizer):
    """Images a second of one epoch. The loss is looked at in every step, as the trainer does."""
    begin, images = time.perf_counter(), 0
    for pixels, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(pixels), labels)
        loss.backward()
        optimizer.step()
        if not numpy.isfinite(loss.item()):
            raise SystemExit("the loss is not finite")
        images += len(labels)
    return images / (time.perf_counter() - begin)


def main(folder, images, batch, epochs):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    loader = torch.utils.data.DataLoader(read(folder, images), batch_size=batch, shuffle=True, drop_last=True)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    rates = [train(loader, model, optimizer) for _ in range(epochs)]
    print(json.dumps({"per_second": rates[-1] if rates else 0.0}))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:5]))
