"""Teams: named sets of arrays, usually the gradients of one model, that are exchanged together."""

import contextlib
import ctypes
import json

from slipway import _calls
from slipway._arrays import finished, is_torch, memory_of, name_of, new_like, stream_of, tensor_list
from slipway.collectives import named
from slipway.errors import ArgumentError, MismatchError, NotFiniteError, NotSupportedError, StateError
from slipway.memory import DeviceBlock, alloc_like, block_of

# The library writes into the arrays of a registered team, whether or not the program still holds them, and whether or
# not they still lie there: torch moves tensors. By the name of the team, what keeps that memory alive.
_registered = {}


class Team:
    """Arrays that are exchanged together. `arrays`: a dict by name, pairs, or a list; they are changed in place. The last
    ones are exchanged first: list them in the order of the forward pass.

    All lie in CPU memory, or all on one GPU. Of a GPU, an array is submitted as this thread's current stream of torch
    or CuPy makes it (the default stream for other arrays), and the current stream of wait() goes on with the result.

    Settings, for those of the configuration: mode "sync" or "delayed", lag, sync_first, sync_last, accumulate, compress
    "none", "bf16" or "fp16", clip_norm, check_finite, bucket_bytes, gpu_exchange, op "mean" or "sum". Another name is
    an ArgumentError that suggests the nearest one. Collective.
    """

    def __init__(self, name, arrays, total_steps=0, **settings):
        self.name = name
        self._text = name.encode()
        self._indices = {}
        self._elsewhere = {}  # index -> the array in its stead; the library writes to it until wait() returns
        pairs = named(arrays)
        self.arrays = [array for _, array in pairs]
        for index, (array_name, array) in enumerate(pairs):
            memory_of(array)
            self._indices[array_name] = index
        tensors, kept = tensor_list([(array_name, _alias(array)) for array_name, array in pairs])
        self._memories = [memory for memory, _, _ in kept]
        self._unordered = next((memory for memory in self._memories if memory.address and memory.names_no_stream), None)
        self._movable = {index: (array, self._memories[index].address) for index, array in enumerate(self.arrays)
                         if is_torch(array)}
        _calls.call("slipway_register", self._text, tensors, len(kept), total_steps)
        _registered[name] = kept, [block_of(memory.address) for memory in self._memories], self._elsewhere
        try:
            self.configure(**settings)
        except ArgumentError:  # on all ranks
            self.unregister()
            raise

    def configure(self, **settings):
        """Changes settings before the first exchange; None leaves one as it is. Collective."""
        chosen = {key: value for key, value in settings.items() if value is not None}
        if chosen:
            _calls.call("slipway_configure_team", self._text, json.dumps(chosen).encode())

    def unregister(self):
        """Forgets the team, after what is in flight has come. Collective."""
        _calls.call("slipway_unregister", self._text)
        _registered.pop(self.name, None)

    def submit(self, array):
        """The array of this name or index is final for this step and may be exchanged: any order, any thread. Local."""
        if isinstance(array, str):
            if array not in self._indices:
                raise ArgumentError(f"team '{self.name}' has no array '{array}'")
            array = self._indices[array]
        if array in self._movable:
            self._require_there(array, *self._movable[array])
        stream = stream_of(self.arrays[array]) if 0 <= array < len(self.arrays) else 0
        _calls.call_beside("slipway_submit_on_stream", self._text, array, stream)

    def submit_many(self, indices, stream=None):
        """submit() of several arrays by their indices, in one call. `stream`: that of a GPU which makes them. Local."""
        _calls.call_beside("slipway_submit_many_on_stream", self._text, (ctypes.c_int * len(indices))(*indices),
                           len(indices), self._stream() if stream is None else stream)

    def submit_from(self, index, array):
        """Copies `array` into that of this index, which lies in CPU memory, and submits that. Local."""
        memory = self._like(index, memory_of(array, False))
        _calls.call_beside("slipway_submit_from", self._text, index, memory.address)

    def submit_at(self, index, array):
        """Submits `array` in this step instead of that of this index; the result comes to `array`. Local.

        In memory of alloc() it is exchanged where it lies; elsewhere, copied by parts.
        """
        memory = self._like(index, memory_of(array))
        _calls.call_beside("slipway_submit_at", self._text, index, memory.address)
        self._elsewhere[index] = array

    def _like(self, index, memory):
        """`memory`, if it is like that of the array of this index."""
        own = self._memories[index]
        if memory.shape != own.shape or memory.dtype != own.dtype:
            raise MismatchError(f"team '{self.name}': array {index} is of shape {own.shape} and {name_of(own.dtype)}, "
                                f"and what is submitted for it of {memory.shape} and {name_of(memory.dtype)}")
        return memory

    def _require_there(self, index, array, address):
        """torch gives a tensor other memory when the program sets tensor.data, or calls share_memory_() for example."""
        if array.data_ptr() != address:
            raise StateError(f"team '{self.name}': array {index} has other memory than when the team was made; make a "
                             "new team after tensors were converted or moved")

    def wait(self):
        """Submits what was not, and returns when the arrays hold the result of this step: on a GPU, for later work of
        the current stream. Collective."""
        for index, (array, address) in self._movable.items():
            if index not in self._elsewhere:
                self._require_there(index, array, address)
        stream = self._stream()
        try:
            _calls.call("slipway_wait_on_stream", self._text, stream)
        finally:
            self._elsewhere.clear()
        if self._unordered is not None:
            finished(self._unordered, stream)

    def _stream(self):
        return stream_of(self.arrays[0]) if self.arrays else 0

    def gradients(self):
        """One step: submits all and waits; returns delivered(). Collective."""
        self.wait()
        return self.delivered()

    def delivered(self):
        """Whether the last wait gave something to apply: not in the first delayed steps, nor in accumulating passes."""
        return bool(_calls.int_from("slipway_delivered", self._text))

    def norm(self):
        """The global norm before clipping, of the last step of a team with clip_norm. Local."""
        result = ctypes.c_double()
        _calls.call("slipway_gradient_norm", self._text, ctypes.byref(result))
        return result.value

    def state_save(self):
        """Step count and gradients in flight, as bytes for a checkpoint of this rank. Collective."""
        size = ctypes.c_size_t()
        _calls.call("slipway_state_save", self._text, None, ctypes.byref(size))
        buffer = bytearray(max(1, size.value))
        _calls.call("slipway_state_save", self._text, memory_of(buffer, bytes_too=True).address, ctypes.byref(size))
        return bytes(buffer[:size.value])

    def state_load(self, state):
        """Takes what state_save of the same arrays and settings gave. Collective."""
        buffer = memoryview(bytes(state) or b"\0")
        _calls.call("slipway_state_load", self._text, memory_of(buffer, False, bytes_too=True).address, len(state))


def _alias(array):
    """The memory that an array has now, and keeps, as an array."""
    return array.detach() if is_torch(array) else array


class CopiedTeam:
    """A team with its own arrays in slipway_alloc memory, for programs whose gradients are new arrays at each step."""

    def __init__(self, name, arrays, total_steps=0, **settings):
        _require_arrays(name, arrays)
        self.views = [alloc_like(array) for array in arrays]
        for array, view in zip(arrays, self.views):
            if isinstance(view, DeviceBlock):
                raise NotSupportedError(f"team '{name}': {type(array).__name__} is in GPU memory, and of none of torch, "
                                        "CuPy and Numba: make a slipway.Team of the arrays, or hand over cupy.asarray(array)")
        self.team = Team(name, self.views, total_steps, **settings)
        self.delivered = True

    def exchange(self, arrays):
        """Hands `arrays` in and exchanges: what comes stands in `views`. True when it is to be applied. Collective."""
        _require_arrays(self.team.name, arrays)
        given, wanted = ([(tuple(array.shape), str(array.dtype)) for array in some] for some in (arrays, self.views))
        if given != wanted:
            pairs = enumerate(zip(given, wanted))
            different = next((i for i, (a, b) in pairs if a != b), min(len(given), len(wanted)))
            raise MismatchError(f"team '{self.team.name}': array {different} of {len(given)} is not as in the first "
                                f"call ({len(wanted)} arrays): the list must be the same at each step")
        for view, array in zip(self.views, arrays):
            # Where nothing was delivered the views hold zeros, or with `accumulate` the sum of the passes so far.
            _set(view, array if self.delivered else view + (array.detach() if is_torch(array) else array))
        self.delivered = self.team.gradients()
        return self.delivered

    def results(self):
        """New arrays with what came; zeros where nothing is to be applied."""
        arrays = [new_like(view, tuple(view.shape)) for view in self.views]
        for array, view in zip(arrays, self.views):
            _set(array, view if self.delivered else 0)
        return arrays


def _require_arrays(team, arrays):
    for index, array in enumerate(arrays):
        if array is None:
            raise ArgumentError(f"team '{team}': array {index} is None; hand over zeros where there is no gradient")
        described = hasattr(array, "dtype") or hasattr(array, "__cuda_array_interface__")
        if not hasattr(array, "shape") or not described:
            raise ArgumentError(f"team '{team}': array {index} is of type {type(array).__name__}, which is no array")


def _set(target, source):
    """target[...] = source, for arrays of one kind and shape or a number."""
    (target.detach() if is_torch(target) else target)[...] = source.detach() if is_torch(source) else source


_copied = {}


def gradients(arrays, team="gradients", **settings):
    """The mean of a list of arrays over all ranks, in place; the list is the same at each step. `settings` as for Team.

    False when there is nothing to apply: in the first delayed steps, and in passes that only accumulate; the arrays are
    zero then. Collective.
    """
    if team not in _copied:
        _copied[team] = CopiedTeam(team, arrays, **settings)
    delivered = _copied[team].exchange(arrays)
    for array, view in zip(arrays, _copied[team].views):
        _set(array, view if delivered else 0)
    return delivered


def _complete_steps():
    """Completes steps that all ranks have begun; returns the names of their teams. Forgets other teams. Collective."""
    names = []
    for name in list(_registered):
        try:
            _calls.call("slipway_unregister", name.encode())
        except StateError:  # on all ranks: a step is in flight
            names.append(name)
            with contextlib.suppress(NotFiniteError):  # the step is dropped on all ranks
                _calls.call("slipway_wait", name.encode())
    return names


_calls.at_finalize += [_registered.clear, _copied.clear]
_calls.complete_steps.append(_complete_steps)
