"""On a machine with a GPU: batches that come to it, and a bundled trainer that computes there.

    data_on_gpu.py check             both of the next two, in a folder of its own
    data_on_gpu.py make FOLDER       made records, FOLDER/train
    data_on_gpu.py batches FOLDER    batches on the GPU are those of the reader, also beside a busy GPU; one rank
    data_on_gpu.py compare CPU CUDA  two files of metrics: both trainings come to the same loss

Without a GPU or PyTorch it says so and ends with status 77, which means skipped.
"""

import json
import pathlib
import sys
import tempfile

import numpy as np

SKIPPED = 77
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


def compare(files):
    losses = []
    for file in files:
        lines = [json.loads(line)["metrics"] for line in file.read_text().splitlines()]
        losses.append([line["validation_loss"] for line in lines if "validation_loss" in line][-1])
    assert abs(losses[0] - losses[1]) < CLOSE * abs(losses[0]) and losses[0] < 2.2, losses
    print(f"passed: a trainer comes to {losses[0]:.4f} on the CPU and {losses[1]:.4f} on the GPU")


def require_gpu():
    try:
        import torch
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(SKIPPED)
    if not torch.cuda.is_available():
        print("skipped: torch sees no GPU")
        sys.exit(SKIPPED)


def main():
    what, *paths = sys.argv[1:]
    paths = [pathlib.Path(path) for path in paths]
    if what == "make":
        make(*paths)
    elif what == "compare":
        compare(paths)
    else:
        require_gpu()
        if what == "batches":
            check_batches(*paths)
            return
        with tempfile.TemporaryDirectory() as folder:
            make(pathlib.Path(folder))
            check_batches(pathlib.Path(folder))


if __name__ == "__main__":
    main()
