#!/usr/bin/env python3
"""Records learning curves of real trainings, on which `slipway bench schedulers` compares schedulers.

Three networks learn Fashion-MNIST (Debian's dataset-fashion-mnist) with random hyperparameters; after each epoch a
curve gets the value for validation images: the part of them that is misclassified, or the mean squared error of the
autoencoder. Lower is better; nan: the training diverged.

    record_curves.py mlp cnn autoencoder > curves.txt

A file holds tasks, each a line `task NAME EPOCHS` and a line of values for each configuration.
"""

import argparse
import gzip
import math
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional

IMAGES = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
LABELS = "/usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz"
EPOCHS = 27


def read_idx(path, header, count):
    with gzip.open(path) as file:
        file.read(header)
        return np.frombuffer(file.read(count), dtype=np.uint8)


def load(count):
    pixels = read_idx(IMAGES, 16, count * 784).reshape(count, 1, 28, 28)
    labels = read_idx(LABELS, 8, count)
    return torch.tensor(pixels / 255.0, dtype=torch.float32) - 0.286, torch.tensor(labels, dtype=torch.int64)


def log_uniform(draws, low, high):
    return math.exp(draws.uniform(math.log(low), math.log(high)))


def draw_common(draws):
    return {
        "lr": log_uniform(draws, 1e-4, 0.5),
        "momentum": draws.uniform(0, 0.99),
        "batch": draws.choice([32, 64, 128, 256]),
        "weight_decay": log_uniform(draws, 1e-6, 1e-1),
        "width": round(log_uniform(draws, 8, 128)),
        "dropout": draws.uniform(0, 0.7),
        "schedule": draws.choice(["constant", "cosine"]),
        "optimizer": draws.choice(["sgd", "sgd", "adam"]),
    }


def make_mlp(p):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, p["width"]), nn.ReLU(), nn.Dropout(p["dropout"]),
                         nn.Linear(p["width"], p["width"]), nn.ReLU(), nn.Linear(p["width"], 10))


def make_cnn(p):
    channels = max(2, p["width"] // 8)
    return nn.Sequential(nn.Conv2d(1, channels, 5, stride=2), nn.ReLU(), nn.Conv2d(channels, 2 * channels, 3, stride=2),
                         nn.ReLU(), nn.Flatten(), nn.Dropout(p["dropout"]), nn.Linear(2 * channels * 25, 10))


def make_autoencoder(p):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 2 * p["width"]), nn.ReLU(), nn.Linear(2 * p["width"], 16),
                         nn.ReLU(), nn.Linear(16, 2 * p["width"]), nn.ReLU(), nn.Linear(2 * p["width"], 784))


def reconstruction_loss(outputs, images, _):
    return functional.mse_loss(outputs, images.flatten(1))


def classification_loss(outputs, _, labels):
    return functional.cross_entropy(outputs, labels)


def error_rate(outputs, _, labels):
    return (outputs.argmax(1) != labels).float().mean()


# model, loss to train with, value of the curve, images to train with, images to validate with, configurations
TASKS = {
    "mlp": (make_mlp, classification_loss, error_rate, 3000, 2000, 128),
    "cnn": (make_cnn, classification_loss, error_rate, 1500, 2000, 110),
    "autoencoder": (make_autoencoder, reconstruction_loss, reconstruction_loss, 1500, 1000, 121),
}


def make_optimizer(p, model):
    if p["optimizer"] == "adam":
        return torch.optim.Adam(model.parameters(), lr=p["lr"] / 30, weight_decay=p["weight_decay"])
    return torch.optim.SGD(model.parameters(), lr=p["lr"], momentum=p["momentum"], weight_decay=p["weight_decay"])


def train_one_epoch(model, optimizer, loss, batch, images, labels):
    model.train()
    order = torch.randperm(len(images))
    for begin in range(0, len(images), batch):
        chosen = order[begin:begin + batch]
        optimizer.zero_grad(set_to_none=True)
        loss(model(images[chosen]), images[chosen], labels[chosen]).backward()
        optimizer.step()


def validate(model, value, images, labels):
    model.eval()
    with torch.no_grad():
        outputs = model(images)
        return value(outputs, images, labels).item() if torch.isfinite(outputs).all() else math.nan


def record(task, number):
    make, loss, value, train, validation, _ = TASKS[task]
    p = draw_common(random.Random(f"{task} {number}"))
    torch.manual_seed(number)
    images, labels = record.data
    model = make(p)
    optimizer = make_optimizer(p, model)
    values = []
    for epoch in range(EPOCHS):
        if p["schedule"] == "cosine":
            rate = p["lr"] / (30 if p["optimizer"] == "adam" else 1)
            optimizer.param_groups[0]["lr"] = rate * 0.5 * (1 + math.cos(math.pi * epoch / EPOCHS))
        train_one_epoch(model, optimizer, loss, p["batch"], images[:train], labels[:train])
        values.append(validate(model, value, images[train:train + validation], labels[train:train + validation]))
        if math.isnan(values[-1]):
            return values + [math.nan] * (EPOCHS - len(values))
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", choices=list(TASKS))
    torch.set_num_threads(1)
    record.data = load(6000)
    for task in parser.parse_args().tasks:
        print("task", task, EPOCHS, flush=True)
        for number in range(TASKS[task][5]):
            print(" ".join(f"{value:.4g}" for value in record(task, number)), flush=True)


if __name__ == "__main__":
    main()
