"""In place of the plugin's torch module.

`import slipway.compat.cray.torch as cdl` for `import dl_comm.torch as cdl`; all of slipway.compat.cray is here, too.
"""

import slipway
from slipway import torch as slipway_torch
from slipway.compat import cray
from slipway.compat.cray import (average, barrier, broadcast, check_buffers_match, config_team, finalize, gradients,
                                 init, init_mpi, schedule)
from slipway.compat.cray._reports import Waiting, agree, tell_schedule
from slipway.errors import ArgumentError

__all__ = ["DistributedOptimizer", "average", "barrier", "broadcast", "check_buffers_match", "config_team", "finalize",
           "get_nranks", "get_rank", "gradients", "init", "init_mpi", "schedule"]


def get_rank():
    """Joins the job if nothing has: scripts ask this first. The first call is collective."""
    init_mpi()
    return cray.get_rank()


def get_nranks():
    """As get_rank."""
    init_mpi()
    return cray.get_nranks()


class DistributedOptimizer(slipway_torch.DistributedOptimizer):
    """Wraps an optimizer of torch, and gives all ranks the parameters of rank 0. Joins the job if need be. Collective.

    The share `warmup` of the `nstep` steps is synchronous (the first ones, or the last ones if negative), and the
    others are pipelined by one; without nstep all are synchronous. At `verb` 2 the waiting time is told every `freq`
    steps. `nteam` and `nthread_per_team` change nothing: an optimizer is a team, and a team has one thread.
    """

    def __init__(self, optimizer, nstep=0, nteam=1, nthread_per_team=2, warmup=0.10, verb=2, freq=100):
        steps = int(nstep or 0)
        if steps < 0 or nteam < 1 or nthread_per_team < 1:
            raise ArgumentError(f"DistributedOptimizer: nstep {steps}, nteam {nteam}, nthread_per_team "
                                f"{nthread_per_team}: steps count from 0, teams and threads from 1")
        init_mpi()
        agree("DistributedOptimizer", [steps, float(warmup), int(verb), int(freq)])
        settings = schedule(int(warmup * steps), steps)
        super().__init__(optimizer, total_steps=steps, **settings)
        self._waiting = Waiting(self.team.name, int(verb), int(freq))
        tell_schedule(self.team.name, settings, steps, verb)
        self.broadcast_parameters()

    def broadcast_parameters(self, root=0):
        """Gives all ranks the parameters of rank `root`. Collective."""
        parameters = [p.detach() for group in self.param_groups for p in group["params"]]
        slipway_torch.broadcast_tensors({f"parameter {index}": p for index, p in enumerate(parameters)}, root)

    def _wait(self):
        with self._waiting.measured():
            return super()._wait()
