"""On a machine with a GPU: batches that come to it, and a bundled trainer that computes there.

    data_on_gpu.py batches           batches on the GPU are those of the reader, also beside a busy GPU; one rank
    data_on_gpu.py train [WORD...]   two ranks of a trainer come to the same loss on the CPU and on the GPU

WORDs start ranks, and their number follows; without any, Open MPI does. Records are made.
Without a GPU or PyTorch it says so and ends with status 77, which means skipped.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import on_gpu

FIELDS = [{"name": "image", "shape": [28, 28], "transforms": [{"op": "normalise", "scale": 1 / 255}]}, "label"]
# Sums are made in another order there; one epoch does not carry them far.
CLOSE = 0.02


def make(folder):
    """Classes that a network tells apart: a bright bar whose place is the label."""
    numbers = np.random.default_rng(1)
    labels = np.arange(2000) % 10
    images = numbers.integers(0, 100, (2000, 28, 28)).astype(np.uint8)
    images[np.arange(2000), 2 * labels + 3] += 120
    labels[numbers.random(2000) < 0.3] = 0  # what cannot be learnt: the loss stays far from 0
    (folder / "train").mkdir(parents=True)
    np.savez(folder / "train" / "made.npz", image=images, label=labels)


def check_batches(folder):
    import torch
    from slipway.data.torch import Batches, DataLoader
    options = {"fields": FIELDS, "batch": 32, "seed": 3, "prefetch": 1}
    expected = [[(batch["image"].clone(), batch["label"].clone()) for batch in epoch]
                for epoch in [Batches(folder / "train", **options)] * 2]
    batches = Batches(folder / "train", device="cuda", **options)
    busy = torch.randn(4096, 4096, device="cuda")
    for epoch, wanted in enumerate(expected):
        given = []
        for batch in DataLoader(batches):
            assert batch["image"].is_cuda
            busy = busy @ busy / busy.norm()  # what is computed from a batch begins long after it was given
            given.append((batch["image"] + 0 * busy[0, 0].nan_to_num(), batch["label"] * 1))
        assert batches.position == {"epoch": epoch + 1, "records_done": 0}
        assert len(given) == len(wanted)
        for ours, theirs in zip(given, wanted):
            assert all(torch.equal(a.cpu(), b) for a, b in zip(ours, theirs))
    print("passed: batches on the GPU")


def loss_of_training(folder, device, mpiexec):
    """What two ranks of the trainer come to."""
    metrics = folder / device
    trainer = [sys.executable, "-m", "slipway.trainers.fashion", "--device", device]
    settings = ["--channels", "8", "--batch_size", "16", "--lr", "0.003", "--epochs", "1"]
    subprocess.run([*mpiexec, "2", *trainer, *settings], check=True,
                   env={**os.environ, "SLIPWAY_DATA_TRAIN": str(folder / "train"), "SLIPWAY_METRICS": str(metrics)})
    lines = [json.loads(line)["metrics"] for line in metrics.read_text().splitlines()]
    return [line["validation_loss"] for line in lines if "validation_loss" in line][-1]


def check_training(folder, mpiexec):
    losses = [loss_of_training(folder, device, mpiexec) for device in ("cpu", "cuda")]
    assert abs(losses[0] - losses[1]) < CLOSE * abs(losses[0]) and losses[0] < 2.2, losses
    print(f"passed: a trainer comes to {losses[0]:.4f} on the CPU and {losses[1]:.4f} on the GPU")


def main():
    what, *words = sys.argv[1:]
    on_gpu.require_gpu()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make(folder)
        if what == "train":
            check_training(folder, words or on_gpu.mpirun())
        else:
            check_batches(folder)


if __name__ == "__main__":
    main()
