"""slipway.checkpoint.save: what runs in the training loop. It copies this rank's part to RAM; a thread writes it."""

import atexit
import contextlib
import math
import mmap
import operator
import os
import pathlib
import secrets
import sys
import time

import torch

from slipway import _job, _library
from slipway.checkpoint import _folder, _ranks, _shares, _state, _writing
from slipway.errors import (ArgumentError, FileError, LibraryError, MismatchError, MpiError, SlipwayError, StalledError,
                            StateError)

SHARED = "state.pickle"


def own_file(rank):
    return f"rank-{rank:05}.pickle"


class _Memory:
    """Copies lie in the same memory each time: touching new pages costs more than copying. Large pages copy faster."""

    tensor = torch.empty(0, dtype=torch.uint8)

    @classmethod
    def of(cls, size):
        if cls.tensor.numel() < size:
            pages = mmap.mmap(-1, size)
            with contextlib.suppress(OSError):
                pages.madvise(mmap.MADV_HUGEPAGE)
            cls.tensor = torch.frombuffer(pages, dtype=torch.uint8)
        return cls.tensor[:size]


class _Last:
    """The save() before, until all ranks know how it ended."""

    write = None


def load_library():
    """Checksums are libslipway's where it can be loaded; gloo and NCCL need no libslipway."""
    try:
        _library.library()
    except LibraryError:
        pass


def _keep_of(keep):
    if keep is None:
        wanted = _job.configuration().get("checkpoint", {})
        keep = {"last": wanted.get("keep", 2), "best": wanted.get("keep_best")}
    return _folder.Keep.of(keep)


def _place_of(folder):
    place = folder or os.environ.get("SLIPWAY_CHECKPOINT_DIR")
    if not place:
        raise StateError("there is no folder for checkpoints: SLIPWAY_CHECKPOINT_DIR is not set\n  next: start the program "
                         "with `slipway run`, or give folder=")
    return pathlib.Path(place).absolute()


def _whole(step):
    """`step`, also of NumPy or torch, as an int."""
    try:
        number = operator.index(step)
    except TypeError:
        number = -1
    if number < 0:
        raise ArgumentError(f"step is {step!r}, not a number from 0")
    return number


def _manifest_of(step, epoch, metrics, keep):
    step = _whole(step)
    if not math.isfinite(epoch):
        raise ArgumentError(f"epoch is {epoch!r}, not a finite number")
    numbers = {name: float(value) for name, value in (metrics or {}).items()}
    manifest = {"step": step, "epoch": float(epoch), "world_size": _ranks.size(),
                "spec_hash": _job.configuration().get("spec_hash", ""),
                "metrics": {name: value if math.isfinite(value) else None for name, value in numbers.items()}}
    return {**manifest, "keep_best": {"metric": keep.metric, "goal": keep.goal}} if keep.metric else manifest


def _first_failure(failures):
    return next((failure for failure in failures if failure), "")


def _raise_failure(step, place, failure):
    newest = next(reversed(_folder.published(place)), None)
    raise FileError(f"the checkpoint of step {step} is not published: {failure}\n  next: free space or mend the file system, "
                    f"then save again; the newest checkpoint is {newest.name if newest else 'none'}")


def settle():
    """Returns when the last save() is published and all ranks know it. Collective. Errors: FileError, on all ranks."""
    write, _Last.write = _Last.write, None
    if write is None:
        return
    write.stored.wait()
    failure = _first_failure(_ranks.exchange(write.failure))
    if failure:
        write.give_up(failure)
    write.join()
    failure = _first_failure(_ranks.exchange(write.failure))
    if failure:
        write.remove()
        _raise_failure(write.job.step, write.job.prepared.parent, failure)


def _capture(parts, extra, rank):
    """What this rank has to save, and None or the error that all ranks are to raise. Collective."""
    place = f"slipway.checkpoint.save: on rank {rank}: "
    try:
        return _state.capture(parts, extra, rank), None
    except (MpiError, StalledError):  # nothing can be exchanged any more
        raise
    except SlipwayError as error:
        failure, cause = type(error)(f"{place}{error}"), error
    except Exception as error:  # of any kind: the program's own objects take part
        failure, cause = ArgumentError(f"{place}{type(error).__name__}: {error}"), error
    failure.__cause__ = cause
    return _state.Captured(), failure


def _agree(step, digest, own_failure):
    """The name of the prepared folder, by rank 0. Collective.

    Errors, on all ranks: MismatchError; that of the first rank that has a failure of its own.
    """
    answers = _ranks.exchange((step, digest, secrets.token_hex(4), own_failure))
    failure = _first_failure([failure for *_, failure in answers])
    if failure:
        raise failure from getattr(own_failure, "__cause__", None)
    for rank, (other_step, other_digest, *_) in enumerate(answers):
        if other_step != answers[0][0]:
            raise MismatchError(f"slipway.checkpoint.save: rank {rank} saves step {other_step}, rank 0 step {answers[0][0]}")
        if other_digest != answers[0][1]:
            raise MismatchError(f"slipway.checkpoint.save: rank {rank} has tensors of other shapes than rank 0; save the same "
                                "model and optimizer on all ranks, after the same steps")
    return answers[0][2]


def _snapshot(tensors):
    """This rank's part of the tensors, in memory of its own."""
    begin, end = _shares.bounds(sum(_shares.sizes_of(tensors)), _ranks.rank(), _ranks.size())
    memory = _Memory.of(end - begin)
    _shares.copy_part(tensors, begin, end, memory)
    return memory


def save(parts, *, step, epoch=0.0, extra=None, metrics=None, keep=None, folder=None):
    begun = time.monotonic()
    place, keep = _place_of(folder), _keep_of(keep)
    manifest = _manifest_of(step, epoch, metrics, keep)
    settle()
    load_library()
    rank, step = _ranks.rank(), manifest["step"]
    state, failure = _capture(parts, extra, rank)
    token = _agree(step, state.digest(), failure)
    files = {own_file(rank): state.own, **({SHARED: state.shared} if rank == 0 else {})}
    job = _writing.Job(prepared=_folder.prepared_of(place, step, token), rank=rank, manifest=manifest, keep=keep,
                       memory=_snapshot(state.tensors), files=files, begun=begun)
    _Last.write = _writing.Write(job)
    _Last.write.start()


def _report_what_nobody_was_told():
    """At the end of a program that called neither save() nor wait() again."""
    write = _Last.write
    if write is not None and write.failure:
        print(f"slipway: warning: the checkpoint of step {write.job.step} is not published: {write.failure}", file=sys.stderr)
        write.remove()


atexit.register(_report_what_nobody_was_told)
