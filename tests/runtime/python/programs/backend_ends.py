"""A program of DistributedDataParallel in which rank 1 of three does what the first argument says, in the third step.

The others print the error that they get, and end with status 7.
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist

import slipway.torch


def misbehave(how, model):
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how in ("leaves", "ends"):
        sys.exit(0)
    if how == "raises":
        raise ValueError("rank 1 has a bad batch")
    if how == "receives":
        time.sleep(1)
        os._exit(3)
    if how == "differs":
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 5))


def main(how):
    torch.set_num_threads(1)
    dist.init_process_group("slipway")
    assert slipway.torch.torch_backend.register()  # once more does no harm
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(300, 40))
    for step in range(6):
        if step == 3 and dist.get_rank() == 1:
            misbehave(how, model)
        if step == 3 and how in ("receives", "ends"):
            dist.recv(torch.empty(3), 1)
        model(torch.ones(2, 300)).sum().backward()
    print(f"rank {dist.get_rank()} done", flush=True)


try:
    main(sys.argv[1])
except RuntimeError as error:
    print(f"rank {dist.get_rank()} {type(error).__name__}: {error}", flush=True)
    os._exit(7)
