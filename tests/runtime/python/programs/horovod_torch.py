"""A script for Horovod: what its examples do, small."""
import argparse

import torch
import torch.nn.functional as F
import horovod.torch as hvd

parser = argparse.ArgumentParser()
parser.add_argument("--fp16-allreduce", action="store_true")
parser.add_argument("--use-adasum", action="store_true")
parser.add_argument("--batches-per-allreduce", type=int, default=1)
args = parser.parse_args()


def metric_average(value, name):
    return hvd.allreduce(torch.tensor(value), name=name).item()


hvd.init()
torch.manual_seed(42 + hvd.rank())
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
lr_scaler = hvd.size() if not args.use_adasum else 1
optimizer = torch.optim.SGD(model.parameters(), lr=0.02 * lr_scaler, momentum=0.5)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
compression = hvd.Compression.fp16 if args.fp16_allreduce else hvd.Compression.none
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), compression=compression,
                                     backward_passes_per_step=args.batches_per_allreduce,
                                     op=hvd.Adasum if args.use_adasum else hvd.Average)
resume_from_epoch = hvd.broadcast(torch.tensor(0), root_rank=0, name="resume_from_epoch").item()

for epoch in range(resume_from_epoch, 2):
    model.train()
    for step in range(10):
        optimizer.zero_grad()
        for _ in range(args.batches_per_allreduce):
            data = torch.randn(16, 6)
            loss = F.cross_entropy(model(data), (data.sum(1) > 0).long())
            loss.div_(args.batches_per_allreduce)
            loss.backward()
        optimizer.synchronize()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        with optimizer.skip_synchronize():
            optimizer.step()
    average = metric_average(loss.item(), "avg_loss")
    if hvd.rank() == 0:
        print(f"epoch {epoch}: loss {average:.4f}")

everyone = hvd.allgather_object([p.sum().item() for p in model.parameters()])
assert all(sums == everyone[0] for sums in everyone), everyone
if hvd.rank() == 0:
    print("done on", hvd.size(), "ranks,", hvd.local_size(), "on this node")
