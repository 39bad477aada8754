"""What a checkpoint holds of a training: the objects of PyTorch as plain state, and back.

Weights, averaged weights and the optimizer's tensors are the same on all ranks, so each rank stores a part of them.
Buffers (running statistics) may differ, so they are those of rank 0, like scheduler, scaler, sampler and extra. Random
numbers and the gradients of an exchange on their way belong to each rank.
"""

import hashlib
import io
import pickle
import random
import sys
import types
import weakref

import torch

from slipway import _skeletons
from slipway.checkpoint import _structures
from slipway.errors import ArgumentError, FileError, SlipwayError, StateError


class Captured:
    """`tensors` are those of the training itself, not copied; `shared` and `own` are bytes of now."""

    def __init__(self, tensors=(), shared=b"", own=b""):
        self.tensors, self.shared, self.own = tensors, shared, own

    def digest(self):
        """Differs between ranks whose tensors have other shapes."""
        return hashlib.sha256(repr([(tuple(each.shape), each.dtype) for each in self.tensors]).encode()).hexdigest()


def _without_wrapper(model):
    wrapped = isinstance(model, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel))
    return model.module if wrapped else model


def _model_state(model, tensors):
    model = _without_wrapper(model)
    state = model.state_dict()
    buffers = {name for name, _ in model.named_buffers()}
    return {"weights": _skeletons.take_out({k: v for k, v in state.items() if k not in buffers}, tensors),
            "buffers": {name: state[name] for name in buffers if name in state},
            "metadata": getattr(state, "_metadata", None)}


def _average_state(average, tensors):
    """Of an AveragedModel or another module, or of what has a state_dict() of its own."""
    if isinstance(average, torch.nn.Module):
        return _model_state(average, tensors)
    return _skeletons.take_out(average.state_dict(), tensors)


def _exchange_state(optimizer):
    """None: not a DistributedOptimizer."""
    return optimizer.exchange_state() if hasattr(optimizer, "exchange_state") else None


def _require_state(name, part):
    """Errors: ArgumentError: names the part that has no state_dict(). A sampler needs none."""
    for label, _, each in _structures.each_of(name, part):
        if name != "sampler" and not hasattr(each, "state_dict"):
            raise ArgumentError(f"{label} is of type {type(each).__name__}, which has no state_dict()")


def _optimizer_state(optimizer, tensors, rank):
    if not hasattr(optimizer, "consolidate_state_dict"):
        return _skeletons.take_out(optimizer.state_dict(), tensors)
    optimizer.consolidate_state_dict(to=0)  # ZeroRedundancyOptimizer: each rank has a part of it
    return optimizer.state_dict() if rank == 0 else None


def _scheduler_state(state):
    """Without what refers to the scheduler itself, and so to its optimizer: load_state_dict keeps what is there.

    OneCycleLR has a bound method in its state, CyclicLR a weak reference. SequentialLR has states of other schedulers.
    """
    if type(state) is dict:  # not a Counter: MultiStepLR has one
        return {name: _scheduler_state(value) for name, value in state.items()
                if not isinstance(value, (types.MethodType, weakref.ReferenceType))}
    return [_scheduler_state(each) for each in state] if type(state) is list else state


def _sampler_state(sampler):
    """A position in the data must be the same on all ranks."""
    if hasattr(sampler, "state_dict"):
        return sampler.state_dict()
    for name in ("position", "epoch"):  # slipway.data; DistributedSampler
        if hasattr(sampler, name):
            return {name: getattr(sampler, name)}
    raise ArgumentError(f"a sampler of type {type(sampler).__name__} has no state that could be saved: it needs state_dict() "
                        "and load_state_dict(), position, or set_epoch()")


def _random_state():
    state = {"python": random.getstate(), "torch": torch.get_rng_state()}
    if "numpy" in sys.modules:
        state["numpy"] = sys.modules["numpy"].random.get_state()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def _is_elsewhere(value):
    """A pickled tensor of a GPU would come back on the GPU of that number, on every rank."""
    return isinstance(value, torch.Tensor) and value.device.type != "cpu"


class _Pickler(pickle.Pickler):
    """Tensors of a GPU become those of the CPU; load_state_dict brings them back to where the model is."""

    def reducer_override(self, value):
        return value.detach().cpu().__reduce_ex__(pickle.DEFAULT_PROTOCOL) if _is_elsewhere(value) else NotImplemented


def _pickled(value):
    file = io.BytesIO()
    _Pickler(file).dump(value)
    return file.getvalue()


def _packed(values):
    """Errors: ArgumentError: names the value that cannot be pickled."""
    try:
        return _pickled(values)
    except Exception as error:  # of any kind: the program's own objects take part
        what = _first_that_fails(values)
        raise ArgumentError(f"{what} cannot be pickled: {type(error).__name__}: {error}") from error


def _first_that_fails(values):
    for name, value in values.items():
        try:
            _pickled(value)
        except Exception:
            return name
    return "the state"


def capture(parts, extra, rank):
    """Collective where the optimizer's state is: that comes first, so a rank that fails later has taken part.

    Errors: ArgumentError, on this rank alone: something cannot be pickled, or a sampler has no state.
    """
    tensors, own = [], {}
    shared = {"extra": extra, "structures": {name: _structures.of(part) for name, part in parts.items()}}
    captors = {"optimizer": lambda each: _optimizer_state(each, tensors, rank),
               "model": lambda each: _model_state(each, tensors),
               "average": lambda each: _average_state(each, tensors),
               "scheduler": lambda each: _scheduler_state(each.state_dict()),
               "scaler": lambda each: each.state_dict(),
               "sampler": _sampler_state}
    if parts["optimizer"] is not None:
        own["exchange"] = _structures.mapped(_exchange_state, parts["optimizer"])
    for name, captor in captors.items():
        if parts[name] is not None:
            _require_state(name, parts[name])
            shared[name] = _structures.mapped(captor, parts[name])
    if parts["rng"]:
        own["rng"] = _random_state()
    return Captured(tensors, _packed(shared) if rank == 0 else b"", _packed(own))


def _restore_model(model, state):
    merged = {**state["weights"], **state["buffers"]}
    whole = type(_without_wrapper(model).state_dict())(merged)
    if state["metadata"] is not None:
        whole._metadata = state["metadata"]
    _without_wrapper(model).load_state_dict(whole)


def _restore_average(average, state):
    if isinstance(average, torch.nn.Module):
        _restore_model(average, state)
    else:
        average.load_state_dict(state)


def _restore_sampler(sampler, state):
    if hasattr(sampler, "load_state_dict"):
        sampler.load_state_dict(state)
    elif "position" in state:
        sampler.position = state["position"]
    else:
        sampler.set_epoch(state["epoch"])


def _restore_random(state):
    random.setstate(state["python"])
    torch.set_rng_state(state["torch"])
    if "numpy" in state:
        import numpy
        numpy.random.set_state(state["numpy"])
    if "cuda" in state and torch.cuda.is_available() and torch.cuda.device_count() == len(state["cuda"]):
        torch.cuda.set_rng_state_all(state["cuda"])


def fill(shared, stream):
    """The skeleton of a checkpoint with its tensors."""
    places = sorted(_skeletons.placeholders(shared), key=lambda place: place.index)
    return _skeletons.put_in(shared, [place.laid_out(stream.tensor(place.shape, place.dtype)) for place in places])


def _require(name, part, shared, folder):
    """Errors: FileError, ArgumentError."""
    _require_state(name, part)
    if name not in shared:
        raise FileError(f"the checkpoint '{folder}' holds no {name}: it was saved without one\n  next: load without {name}, "
                        "or continue from a checkpoint that has it")
    saved, given = shared.get("structures", {}).get(name), _structures.of(part)  # earlier versions had single ones only
    if not _structures.same(saved, given):
        raise ArgumentError(f"{name}: the checkpoint '{folder}' was saved with {_structures.text_of(saved)}, and "
                            f"load() was given {_structures.text_of(given)}\n  next: hand over to load() what save() "
                            "was given")


def _require_loadable(optimizers):
    """Errors: StateError: gradients of now would be applied to the weights of the checkpoint."""
    for label, _, each in optimizers:
        if hasattr(each, "exchange_state") and each.begun and each.keeps_gradients:
            raise StateError(f"the {label} has made steps, and gradients of mode 'delayed' are on their way; nothing "
                             "was loaded\n  next: close() it, wrap the optimizer again, then load")


def _restore_exchange(optimizer, state):
    """Where steps were made since wrapping, no gradients are on their way, and only a step count would be loaded."""
    if state is not None and hasattr(optimizer, "load_exchange_state") and not optimizer.begun:
        optimizer.load_exchange_state(state)


def _put_in_place(label, restore_one, part, state, folder):
    """Errors: FileError: names the part that has other shapes or names than the checkpoint."""
    try:
        restore_one(part, state)
    except SlipwayError:
        raise
    except (RuntimeError, ValueError, KeyError) as error:  # torch's, of load_state_dict()
        raise FileError(f"the checkpoint '{folder}' does not fit the {label}: {error}\n  next: build it as the program "
                        "that saved it did") from error


def restore(parts, shared, own, folder):
    """`own`: what this rank stored, or None when there was no such rank. Collective where the optimizer's state is.

    Errors: FileError, ArgumentError, StateError: nothing is restored, except where shapes or names do not fit.
    """
    restorers = {"model": _restore_model, "average": _restore_average, "sampler": _restore_sampler,
                 **dict.fromkeys(("optimizer", "scheduler", "scaler"), lambda each, state: each.load_state_dict(state))}
    given = {name: _structures.each_of(name, parts[name]) for name in restorers if parts[name] is not None}
    for name in given:
        _require(name, parts[name], shared, folder)
    optimizers = given.get("optimizer", [])
    _require_loadable(optimizers)
    for name, several in given.items():
        for label, key, each in several:
            _put_in_place(label, restorers[name], each, _structures.at(shared[name], key), folder)
    if own and "exchange" in own:
        for _, key, each in optimizers:
            _restore_exchange(each, _structures.at(own["exchange"], key))
    if own and parts["rng"] and "rng" in own:
        _restore_random(own["rng"])
