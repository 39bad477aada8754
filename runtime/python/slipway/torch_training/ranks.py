"""Who takes part: a slipway.Group, a group of torch.distributed, or without one all ranks there are."""

import torch.distributed

from slipway import _job, collectives


def in_torch():
    return torch.distributed.is_available() and torch.distributed.is_initialized()


class Ranks:
    """Of a slipway.Group or a group of torch.distributed. None: all of the job, else of torch, else this process."""

    def __init__(self, group=None):
        self._group = group
        self._ours = isinstance(group, collectives.Group) or group is None and _job.in_job()
        self._alone = not self._ours and not in_torch()

    def size(self):
        if self._alone:
            return 1
        return collectives.size_of(self._group) if self._ours else torch.distributed.get_world_size(self._group)

    def allreduce(self, numbers, op="sum"):
        """"sum" or "max" over all ranks, in place. Collective."""
        if self._ours:
            collectives.allreduce(numbers, op, self._group)
        elif not self._alone:
            torch.distributed.all_reduce(numbers, getattr(torch.distributed.ReduceOp, op.upper()), group=self._group)
        return numbers
