"""Breaks off after a backward() without step(): on all ranks, or with "differs" on rank 0 alone. With "beside", another
optimizer before it is in flight on all ranks."""
import sys

import torch

import slipway
import slipway.torch

torch.set_num_threads(1)
slipway.init()


def make(team):
    model = torch.nn.Linear(64, 64)
    inner = torch.optim.SGD(model.parameters(), lr=0.01)
    return model, slipway.torch.DistributedOptimizer(inner, model.named_parameters(), team=team)


if "beside" in sys.argv:
    beside, _ = make("a team before it")
    beside(torch.ones(2, 64)).sum().backward()
model, optimizer = make("optimizer 1")
model(torch.ones(2, 64)).sum().backward()
optimizer.step()
optimizer.zero_grad()
if "differs" not in sys.argv or slipway.rank() == 0:
    model(torch.ones(2, 64)).sum().backward()
print("trained", flush=True)
