"""Tells signal from background in small calorimeter images, on any number of ranks. Put your own model in place of
make_model(). What Slipway gives is marked by its name."""

import argparse
import pathlib
import sys

try:
    import torch
    from torch import nn

    import slipway
    import slipway.data
    import slipway.torch
except ModuleNotFoundError as missing:
    step = ("start it by `slipway run experiment.yaml`" if missing.name == "slipway" else
            "install it there, or name a Python that has it: PYTHON=/usr/bin/python3 slipway run experiment.yaml")
    sys.exit(f"train.py: {sys.executable} has no module {missing.name}: {step}")

# A tenth of the training records chooses between settings; the test records are for the end.
TRAINED_ON = {"fraction": 0.1, "seed": 1, "part": "train"}
SET_ASIDE = {**TRAINED_ON, "part": "validation"}
FIELDS = [{"name": "image", "type": "float32", "shape": [3, 16, 16]}, "label"]


def make_model():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 8 * 8, 2))


def accuracy(model, dataset, **options):
    """Every record once, over all ranks."""
    right = records = 0
    with torch.no_grad():
        for batch in slipway.data.open(dataset, fields=FIELDS, batch=64, order="in_order", remainder="pad", epochs=1,
                                       **options):
            tensors, count = batch.torch(), batch.valid_count
            found = model(torch.log1p(tensors["image"][:count])).argmax(1)
            right += found.eq(tensors["label"][:count]).sum().item()
            records += count
    right, records = slipway.allreduce(torch.tensor([right, records], dtype=torch.float64)).tolist()
    return right / records


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.003)
    arguments = parser.parse_args()

    slipway.init()
    torch.manual_seed(1)
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=arguments.lr)
    batches = slipway.data.open("train", fields=FIELDS, batch=arguments.batch_size, seed=1, split=TRAINED_ON)
    epoch = step = 0
    checkpoint = slipway.resume_from()
    if checkpoint:
        saved = torch.load(pathlib.Path(checkpoint) / "state.pt")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        batches.position, epoch, step = saved["position"], saved["epoch"], saved["step"]

    optimizer = slipway.torch.DistributedOptimizer(optimizer, model.named_parameters())
    slipway.torch.broadcast_parameters(model.state_dict())
    stop = False
    while epoch < arguments.epochs and not stop:
        losses = []
        for batch in batches:  # one epoch
            tensors = batch.torch()
            loss = nn.functional.cross_entropy(model(torch.log1p(tensors["image"])), tensors["label"])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
            losses.append(loss.item())
            stop = slipway.stop_requested()
            if stop:
                break
        if not stop:
            epoch += 1
            loss = slipway.average(sum(losses) / len(losses))
            validation = accuracy(model, "train", split=SET_ASIDE)
            slipway.report(step, train_loss=loss, validation_accuracy=validation, epoch=epoch)
            if slipway.rank() == 0:
                print(f"epoch {epoch}  loss {loss:.4f}  validation accuracy {validation:.4f}")
        with slipway.checkpoint(step, epoch) as folder:
            if slipway.rank() == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch,
                            "step": step, "position": batches.position}, pathlib.Path(folder) / "state.pt")
    if not stop:
        test = accuracy(model, "test")
        slipway.report(step, test_accuracy=test, epoch=epoch)
        if slipway.rank() == 0:
            print(f"test accuracy {test:.4f}")


if __name__ == "__main__":
    main()
