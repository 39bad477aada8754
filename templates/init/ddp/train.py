"""DistributedDataParallel as PyTorch has it, on any number of ranks. Put your own model in place of make_model(), and
your own data in place of make_data(). What Slipway gives is marked by its name."""

import argparse
import hashlib
import os
import sys

try:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    import slipway.torch
except ModuleNotFoundError as missing:
    step = ("start it by `slipway run experiment.yaml`, or set PYTHONPATH as README.md says" if missing.name == "slipway"
            else "install it there, or name a Python that has it: PYTHON=/usr/bin/python3 slipway run experiment.yaml")
    sys.exit(f"train.py: {sys.executable} has no module {missing.name}: {step}")


def make_model():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))


def make_data(records, seed):
    """Points in eight dimensions; the class says whether they lie within a ball."""
    points = torch.randn(records, 8, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(points, (points.square().sum(1) < 7.3).long())


def mean_over_ranks(*sums):
    """The first sums divided by the last, which counts."""
    totals = torch.tensor(sums, dtype=torch.float64)
    dist.all_reduce(totals)
    return (totals[:-1] / totals[-1]).tolist()


def accuracy(model, points, labels):
    """Each rank looks at its share of the records."""
    share = slice(dist.get_rank(), None, dist.get_world_size())
    with torch.no_grad():
        right = model(points[share]).argmax(1).eq(labels[share]).sum().item()
    return mean_over_ranks(right, len(labels[share]))[0]


def require_same_weights(model):
    """DistributedDataParallel keeps the weights of all ranks equal, to the bit. This is the proof."""
    digest = hashlib.sha256()
    for weights in model.state_dict().values():
        digest.update(weights.numpy().tobytes())
    digests = [None] * dist.get_world_size()
    dist.all_gather_object(digests, digest.hexdigest())
    different = [rank for rank, other in enumerate(digests) if other != digests[0]]
    if different:
        sys.exit(f"train.py: the weights of ranks {different} are not those of rank 0")


def train_epoch(model, optimizer, batches):
    total = records = 0
    for points, labels in batches:
        loss = nn.functional.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        records += len(labels)
    return mean_over_ranks(total, records)[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    arguments = parser.parse_args()

    os.environ.setdefault("SLIPWAY_CHECKPOINT_DIR", "checkpoints")
    dist.init_process_group("slipway")
    torch.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr, momentum=0.9)
    data, test = make_data(4000, seed=1), make_data(1000, seed=2)
    sampler = DistributedSampler(data, seed=1)
    batches = DataLoader(data, batch_size=arguments.batch_size, sampler=sampler)
    found = slipway.checkpoint.load(model, optimizer)
    epoch, stop = found.step if found else 0, False
    while epoch < arguments.epochs and not stop:
        sampler.set_epoch(epoch)
        loss = train_epoch(model, optimizer, batches)
        epoch += 1
        found = accuracy(model.module, *test.tensors)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}  ranks {dist.get_world_size()}  loss {loss:.4f}  accuracy {found:.4f}", flush=True)
        slipway.checkpoint.save(model, optimizer, step=epoch, epoch=epoch)  # written while the next epoch runs
        stop = slipway.stop_requested()
    slipway.checkpoint.wait()
    require_same_weights(model.module)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
