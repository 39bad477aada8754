"""torch.distributed backend "slipway": scripts of DistributedDataParallel run on libslipway with two lines changed.

    import slipway.torch                                    # registers the backend
    torch.distributed.init_process_group("slipway")
    model = torch.nn.parallel.DistributedDataParallel(model)

Tensors of the CPU and of CUDA devices. Works under `slipway run`, mpirun and torchrun.
docs/how-to/use-ddp-unchanged.md.
"""

import sys
import weakref

import torch.distributed

_groups = weakref.WeakSet()
_state = {"ends": False}


def _create(store, rank, size, timeout):
    """What torch calls on each member of a new group."""
    from slipway.torch_backend.members import Members, at_end
    from slipway.torch_backend.process_group import SlipwayProcessGroup
    group = SlipwayProcessGroup(Members(store, rank, size, timeout), rank, size, timeout)
    _groups.add(group)
    if not _state["ends"]:
        _state["ends"] = True
        at_end(lambda: [each.drain() for each in list(_groups)])
    return group


def register():
    """Once: makes the name known to torch.distributed. False where this torch has no distributed package."""
    if not torch.distributed.is_available():
        return False
    from slipway.torch_backend import rendezvous
    backend = torch.distributed.Backend
    if not hasattr(backend, "SLIPWAY"):
        _register_with(backend.register_backend)
        rendezvous.install(sys.modules.get("torch.distributed.rendezvous"))
    return True


def _register_with(function):
    """Newer versions are told for which devices a backend is."""
    try:
        function("slipway", _create, devices=["cpu", "cuda"])
    except TypeError:
        function("slipway", _create)
