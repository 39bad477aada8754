"""A script for the torch module of Cray's plugin: the optimizer does what there is to do."""
import dl_comm.torch as cdl
import torch

STEPS = 60

torch.manual_seed(cdl.get_rank())
model = torch.nn.Linear(3, 1)
optimizer = cdl.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), nstep=STEPS, nteam=1,
                                     nthread_per_team=2, freq=20)
for step in range(STEPS):
    x = torch.randn(32, 3)
    loss = ((model(x) - (x.sum(1, keepdim=True) + 3))**2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

assert cdl.check_buffers_match([p.detach() for p in model.parameters()], 1) == 0
if cdl.get_rank() == 0:
    print("ranks", cdl.get_nranks(), "done", round(model.bias.item(), 2))
