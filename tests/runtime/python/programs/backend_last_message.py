"""Rank 1 ends without waiting for what it sends. Rank 0 receives that, then in vain, and sends what nobody receives."""

import torch
import torch.distributed as dist

import slipway.torch

COUNT = 10_000_000

dist.init_process_group("slipway")
if dist.get_rank() == 1:
    dist.isend(torch.arange(COUNT), 0)
else:
    received = torch.empty(COUNT, dtype=torch.int64)
    dist.recv(received, 1)
    assert torch.equal(received, torch.arange(COUNT))
    try:
        dist.recv(received, 1)
    except slipway.StalledError as error:
        print(f"received {COUNT}, then: {type(error).__name__}: {error}", flush=True)
    dist.send(received[:3], 1)
    print("sent", flush=True)
