"""Saves a checkpoint after each step into a folder. Arguments: folder, steps, what goes wrong with the last one."""

import hashlib
import os
import signal
import sys
import threading
import time

import torch
from torch.optim.swa_utils import AveragedModel

folder, steps, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if how == "gloo":
    import slipway.checkpoint
    torch.distributed.init_process_group("gloo")
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
else:
    import slipway
    slipway.init()
    rank, size = slipway.rank(), slipway.size()

from slipway.checkpoint import _writing  # noqa: E402

torch.set_num_threads(1)
torch.manual_seed(1)
model = torch.nn.Linear(300, 100)
optimizer = torch.optim.Adam(model.parameters())
average = AveragedModel(model, avg_fn=lambda mean, new, count: 0.9 * mean + 0.1 * new)
store = _writing._store


def digest():
    tensors = [*model.state_dict().values(), *average.state_dict().values(),
               *(each for state in optimizer.state_dict()["state"].values() for each in state.values())]
    return hashlib.sha256(b"".join(each.numpy().tobytes() for each in tensors)).hexdigest()[:16]


def train():
    optimizer.zero_grad()
    model(torch.ones(1, 300)).sum().backward()
    optimizer.step()
    average.update_parameters(model)


def dies(job):
    """A thread that stops in the middle of its file, and a process that ends then."""
    job.prepared.mkdir(parents=True, exist_ok=True)
    (job.prepared / "half").write_bytes(b"1" * 100)
    os.kill(os.getpid(), signal.SIGKILL)


def hangs(job):
    if rank == 0:
        print("writing", flush=True)
    store(job)
    threading.Event().wait()


found = slipway.checkpoint.load(model, optimizer, average=average, folder=folder)
print(f"rank {rank} of {size} begins at {found.step if found else 0}: {digest() if found else '-'}", flush=True)
for step in range(found.step + 1 if found else 1, steps + 1):
    train()
    if step == steps and (how == "dies" and rank == size - 1 or how == "hangs"):
        slipway.checkpoint.wait()
        _writing._store = {"dies": dies, "hangs": hangs}[how]
    if step == steps and how == "grows":  # beyond what the file system has
        model.register_parameter("large", torch.nn.Parameter(torch.zeros(4 << 20)))
    slipway.checkpoint.save(model, optimizer, average=average, step=step, folder=folder)
    if how == "slow":
        time.sleep(0.3)
try:
    slipway.checkpoint.wait()
except slipway.SlipwayError as error:
    print(f"rank {rank} {type(error).__name__}: {error}", flush=True)
    sys.exit(0 if how == "grows" else 9)
print(f"rank {rank} of {size} ends at {steps}: {digest()}", flush=True)
if how == "gloo":  # its worker threads may otherwise abort the process while the interpreter ends
    torch.distributed.destroy_process_group()
