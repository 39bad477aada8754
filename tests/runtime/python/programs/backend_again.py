"""Makes the group of backend "slipway" three times, and calls slipway.init() although the backend has joined."""

import os

import torch
import torch.distributed as dist

import slipway.torch

torch.set_num_threads(1)
ports = []
for _ in range(3):
    dist.init_process_group("slipway")
    ones = torch.ones(2)
    dist.all_reduce(ones)
    assert ones.tolist() == [dist.get_world_size()] * 2
    ports.append(os.environ["MASTER_PORT"])
    dist.destroy_process_group()
slipway.init()
try:
    slipway.init({"resilience": {"stall_after_s": 20}})
except slipway.StateError as error:
    print(f"rank {slipway.rank()}: {error}", flush=True)
assert slipway.average(slipway.rank()) == (slipway.size() - 1) / 2
print(f"rank {slipway.rank()} with {len(ports)} groups", flush=True)
