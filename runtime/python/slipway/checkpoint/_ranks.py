"""Who takes part in a checkpoint: the ranks of Slipway's job, else those of torch.distributed, else this process alone."""

import torch.distributed

from slipway import _job, objects
from slipway.torch_training.ranks import in_torch


def rank():
    if _job.in_job():
        return _job.rank()
    return torch.distributed.get_rank() if in_torch() else 0


def size():
    if _job.in_job():
        return _job.size()
    return torch.distributed.get_world_size() if in_torch() else 1


def exchange(value):
    """The values of all ranks, in rank order. Collective."""
    if _job.in_job():
        return objects.allgather_object(value)
    if not in_torch():
        return [value]
    values = [None] * size()
    torch.distributed.all_gather_object(values, value)
    return values
