"""Checkpoints: a folder that the program fills, or the state of a training in PyTorch by one call.

    with slipway.checkpoint(step, epoch) as folder: ...               # each rank writes its files into folder

    found = slipway.checkpoint.load(model, optimizer, scheduler, sampler)     # None: start fresh
    for step in range(found.step if found else 0, steps):
        ...
        slipway.checkpoint.save(model, optimizer, scheduler, sampler, step=step + 1)
    slipway.checkpoint.wait()

save() copies to RAM and returns; threads write what each rank holds of it. docs/reference/python-api.md.
"""

import sys
import types

from slipway import records


def save(model=None, optimizer=None, scheduler=None, sampler=None, rng=True, *, average=None, scaler=None, **more):
    """Copies the state to RAM and has it written in the background. Collective. Each object may be a list, a tuple or a
    dict of several. `average`: averaged weights, such as an AveragedModel. `scaler`: a GradScaler. `more`, of which
    step is needed: step, epoch, extra (anything that can be pickled; of rank 0), metrics {name: number}, keep (2, or
    {"last": 2, "best": {"metric": "val_loss", "goal": "minimize"}}), folder (instead of SLIPWAY_CHECKPOINT_DIR).

    Errors: FileError, the same on all ranks, when the checkpoint before this one could not be written; nothing is then
    saved, and this call may be repeated. MismatchError, StateError, ArgumentError.
    """
    from slipway.checkpoint import _saving
    _saving.save(_parts(model, optimizer, scheduler, sampler, rng, average, scaler), **more)


def load(model=None, optimizer=None, scheduler=None, sampler=None, rng=True, *, average=None, scaler=None, folder=None):
    """Puts in place what the newest checkpoint holds, also with another number of ranks. Returns a Loaded (step, epoch,
    extra, metrics, world_size, folder), or None: start fresh. Collective. Under the launcher the checkpoint is the one
    that it names, else the newest valid one of `folder` or SLIPWAY_CHECKPOINT_DIR. `folder` may also be one checkpoint.

    Errors: FileError: damaged, another program's, of other shapes, or `folder` names a checkpoint that is not there.
    ArgumentError: save() was given another structure. StateError: `optimizer` has delayed gradients on their way.
    """
    from slipway.checkpoint import _loading
    return _loading.load(_parts(model, optimizer, scheduler, sampler, rng, average, scaler), folder)


def _parts(model, optimizer, scheduler, sampler, rng, average, scaler):
    return {"model": model, "average": average, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler,
            "sampler": sampler, "rng": rng}


def wait():
    """Returns when the last save() is published. Collective. Errors: FileError when it could not be written."""
    saving = sys.modules.get("slipway.checkpoint._saving")
    if saving is not None:
        saving.settle()


class _Callable(types.ModuleType):
    def __call__(self, step, epoch):
        """`with checkpoint(step, epoch) as folder:` write, and it is published unless an exception came. Collective."""
        wait()
        return records.checkpoint(step, epoch)


sys.modules[__name__].__class__ = _Callable
