"""A script for Cray's plugin with torch: the last quarter of the steps is synchronous. finalize is left to the end."""
import dl_comm as mc
import torch

STEPS = 40

mc.init_mpi()
torch.manual_seed(mc.get_rank())
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
mc.init(2, 2, sum(p.numel() for p in model.parameters()))
mc.config_team(1, 0, ksteps=-STEPS // 4, max_steps=STEPS, verbosity=0, perf_freq=100)
mc.broadcast([p.detach() for p in model.parameters()], 0)

for step in range(STEPS):
    x = torch.randn(32, 3)
    loss = ((model(x) - (x.sum(1, keepdim=True) + 3))**2).mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter, gradient in zip(model.parameters(), mc.gradients([p.grad for p in model.parameters()], 1)):
        parameter.grad = gradient
    optimizer.step()

assert mc.check_buffers_match([p.detach() for p in model.parameters()], 1) == 0
if mc.get_rank() == 0:
    print("done", round(model.bias.item(), 2))
