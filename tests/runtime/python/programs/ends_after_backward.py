"""Breaks off after a backward() without step(): on all ranks, or with "differs" on rank 0 alone."""
import sys

import torch

import slipway
import slipway.torch

torch.set_num_threads(1)
slipway.init()
model = torch.nn.Linear(64, 64)
optimizer = slipway.torch.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01), model.named_parameters())
model(torch.ones(2, 64)).sum().backward()
optimizer.step()
optimizer.zero_grad()
if sys.argv[1:] != ["differs"] or slipway.rank() == 0:
    model(torch.ones(2, 64)).sum().backward()
print("trained", flush=True)
