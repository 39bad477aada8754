"""Who takes part in a checkpoint: the ranks of Slipway's job, else those of torch.distributed, else this process alone."""

import torch.distributed

from slipway import _job, _library, objects


def _in_job():
    return _library.loaded() and _job.initialized()


def _in_torch():
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def rank():
    if _in_job():
        return _job.rank()
    return torch.distributed.get_rank() if _in_torch() else 0


def size():
    if _in_job():
        return _job.size()
    return torch.distributed.get_world_size() if _in_torch() else 1


def exchange(value):
    """The values of all ranks, in rank order. Collective."""
    if _in_job():
        return objects.allgather_object(value)
    if not _in_torch():
        return [value]
    values = [None] * size()
    torch.distributed.all_gather_object(values, value)
    return values
