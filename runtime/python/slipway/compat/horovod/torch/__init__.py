"""In place of horovod.torch: `import slipway.compat.horovod.torch as hvd`.

All ranks must ask for operations in the same order; where they do not, each gets a MismatchError that says who asked
for what. docs/coming-from/horovod.md says what else differs.
"""

import importlib

import torch

from slipway import objects
from slipway import torch as slipway_torch
from slipway.compat._missing import names_not_there
from slipway.compat.horovod import __version__
from slipway.compat.horovod._differentiable import (allgather, allreduce, alltoall, broadcast, grouped_allgather,
                                                    grouped_allreduce, grouped_reducescatter, reducescatter)
from slipway.compat.horovod._job import (ProcessSet, add_process_set, cross_rank, cross_size, get_process_set_ids,
                                         get_process_set_ids_and_ranks, global_process_set, init, is_homogeneous,
                                         is_initialized, local_rank, local_size, rank, remove_process_set, shutdown,
                                         size)
from slipway.compat.horovod._operations import (Average, Compression, Max, Min, Product, ReduceOp, Sum,
                                                allgather_async, allreduce_, allreduce_async, allreduce_async_,
                                                alltoall_async, ask, ask_named, barrier, broadcast_, broadcast_async,
                                                broadcast_async_, chosen_op, grouped_allgather_async,
                                                grouped_allreduce_, grouped_allreduce_async, grouped_allreduce_async_,
                                                grouped_reducescatter_async, join, joined_actions, poll,
                                                reducescatter_async, root_in, synchronize)
from slipway.compat.horovod.common.exceptions import HorovodInternalError
from slipway.compat.horovod.common.util import (check_extension, check_num_rank_power_of_2, gpu_available,
                                                num_rank_is_power_2, split_list)
from slipway.errors import ArgumentError, NotSupportedError, StateError
from slipway.torch import SyncBatchNorm

__all__ = [
    "Average", "Compression", "DistributedOptimizer", "HorovodInternalError", "Max", "Min", "ProcessSet", "Product",
    "ReduceOp", "Sum", "SyncBatchNorm", "__version__", "add_process_set", "allgather", "allgather_async",
    "allgather_object", "allreduce", "allreduce_", "allreduce_async", "allreduce_async_", "alltoall", "alltoall_async",
    "barrier", "broadcast", "broadcast_", "broadcast_async", "broadcast_async_", "broadcast_object",
    "broadcast_optimizer_state", "broadcast_parameters", "check_extension", "check_num_rank_power_of_2", "cross_rank",
    "cross_size", "get_process_set_ids", "get_process_set_ids_and_ranks", "global_process_set", "gpu_available",
    "grouped_allgather", "grouped_allgather_async", "grouped_allreduce", "grouped_allreduce_",
    "grouped_allreduce_async", "grouped_allreduce_async_", "grouped_reducescatter", "grouped_reducescatter_async",
    "init", "is_homogeneous", "is_initialized", "join", "local_rank", "local_size", "mpi_threads_supported",
    "num_rank_is_power_2", "poll", "rank", "reducescatter", "reducescatter_async", "remove_process_set", "shutdown",
    "size", "split_list", "synchronize"]

_name_not_there = names_not_there(__name__, {
    "Adasum": "Adasum is not there; use op=hvd.Average with a learning rate that is scaled for the number of ranks",
    "sparse_allreduce_async": "sparse tensors are not exchanged; use hvd.allreduce(tensor.to_dense())",
    "start_timeline": "set trace.chrome in the configuration: the timeline is attempt-N/trace.json",
    "stop_timeline": "set trace.chrome in the configuration: the timeline is attempt-N/trace.json",
    "broadcast_object_fn": "use hvd.broadcast_object",
    "run": "`slipway run` or mpirun starts the ranks",
})


def __getattr__(name):
    if name == "elastic":
        importlib.import_module(f"{__name__}.elastic")  # an error that says what to use instead
    return _name_not_there(name)


def mpi_threads_supported():
    """The operations of a program may come from any of its threads."""
    return True


def mpi_enabled():
    return True


def mpi_built(verbose=False):
    return True


def _not_built(verbose=False):
    return False


gloo_enabled = gloo_built = ddl_built = ccl_built = _not_built


def cuda_built(verbose=False):
    """Whether tensors of a GPU of NVIDIA are exchanged here: torch sees one. The library needs no CUDA to be built."""
    return torch.cuda.is_available() and torch.version.hip is None


def rocm_built(verbose=False):
    """Whether tensors of a GPU of AMD are exchanged here: torch sees one."""
    return torch.cuda.is_available() and torch.version.hip is not None


def nccl_built(verbose=False):
    """Whether `gpu_exchange: nccl` finds NCCL or RCCL here: torch sees a GPU, and brings that library."""
    return torch.cuda.is_available() and torch.distributed.is_available() and torch.distributed.is_nccl_available()


def broadcast_parameters(params, root_rank=0, process_set=global_process_set):
    """A state_dict, or pairs of name and parameter, from `root_rank` to all. Collective."""
    params = dict(slipway_torch.pairs_of(params, "broadcast_parameters"))
    root = root_in(process_set, root_rank)
    synchronize(ask(f"broadcast_parameters from {root_rank}",
                    lambda group: slipway_torch.broadcast_parameters(params, root, group), process_set,
                    tensors=[value for value in params.values() if isinstance(value, torch.Tensor)]))


def broadcast_optimizer_state(optimizer, root_rank=0, model=None, process_set=global_process_set):
    """Collective."""
    root = root_in(process_set, root_rank)
    synchronize(ask(f"broadcast_optimizer_state from {root_rank}",
                    lambda group: slipway_torch.broadcast_optimizer_state(optimizer, root, group), process_set))


def broadcast_object(obj=None, root_rank=0, name=None, process_set=global_process_set):
    """Collective."""
    root = root_in(process_set, root_rank)
    return synchronize(ask_named("broadcast_object", name, f"from {root_rank}",
                                 lambda group: objects.broadcast_object(obj, root, group), process_set))


def allgather_object(obj, name=None, process_set=global_process_set):
    """Collective."""
    return synchronize(ask_named("allgather_object", name, "", lambda group: objects.allgather_object(obj, group),
                                 process_set))


class DistributedOptimizer(slipway_torch.DistributedOptimizer):
    """Wraps an optimizer: step() applies the mean (or sum) of the gradients over all ranks. Collective.

    num_groups, groups and gradient_predivide_factor change nothing here: buckets have a fixed order anyhow, and 16-bit
    gradients are added in float32. So does sparse_as_dense: gradients are exchanged dense. As in Horovod, every
    parameter has a gradient of zeros before the first backward.
    """

    def __init__(self, optimizer, named_parameters=None, compression=Compression.none, backward_passes_per_step=1,
                 op=Average, gradient_predivide_factor=1.0, num_groups=0, groups=None, sparse_as_dense=False,
                 process_set=global_process_set):
        if process_set is not global_process_set:
            raise NotSupportedError("DistributedOptimizer works on all ranks; with a process set use "
                                    "hvd.grouped_allreduce_ on the gradients before optimizer.step()")
        op = chosen_op(op)
        if op not in (Average, Sum):
            raise ArgumentError(f"DistributedOptimizer: op is {op.name}; there are Average and Sum")
        if isinstance(optimizer, torch.optim.SparseAdam):
            raise NotSupportedError("SparseAdam takes sparse gradients only, and here they are exchanged dense: use "
                                    "torch.optim.Adam")
        if not hasattr(compression, "setting"):
            raise NotSupportedError("compression: there are hvd.Compression.none and hvd.Compression.fp16")
        super().__init__(optimizer, named_parameters, backward_passes_per_step=backward_passes_per_step,
                         compression=compression.setting, sparse_as_dense=True,
                         op="mean" if op == Average else "sum")
        for slot in self._slots:
            slot.parameter.grad = slot.hand_out()

    def set_backward_passes_per_step(self, passes):
        """From the next backward on."""
        if any(slot.passes > 0 for slot in self._slots):
            raise StateError("set_backward_passes_per_step() between backward and step(): call it after step()")
        self._passes = slipway_torch.checked_passes(passes)

    def _make_team(self, name, total_steps, settings):
        make = super()._make_team
        return synchronize(ask(f"DistributedOptimizer of {len(self._slots)} parameters",
                               lambda group: self._joining(make(name, total_steps, settings))))

    def _joining(self, team):
        """A rank that has joined takes part with zeros."""
        def zeros():
            for index, slot in enumerate(self._slots):
                slot.parameter.grad = None
                slot.submit(team, index, sparse_as_dense=True)
            team.wait()
            for slot in self._slots:
                slot.end_step()
        joined_actions[team.name] = zeros
        return team

    def _wait(self):
        wait = super()._wait
        return synchronize(ask(f"step of {self.team.name}", lambda group: wait(), zeros=(self.team.name,),
                               tensors=[self._flat]))
