"""A script of DistributedDataParallel; the argument is the backend. Prints rank, losses and a weight."""

import importlib
import sys

import torch
import torch.distributed as dist

if sys.argv[1] == "slipway":
    importlib.import_module("slipway.torch")

torch.set_num_threads(1)
dist.init_process_group(sys.argv[1])
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(30, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
generator = torch.Generator().manual_seed(10 + dist.get_rank())
losses = []
for step in range(5):
    loss = model(torch.randn(4, 30, generator=generator)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(f"{loss.item():.5f}")
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {' '.join(losses)} {model.module.weight[0, 0].item():.5f}",
      flush=True)
dist.destroy_process_group()
