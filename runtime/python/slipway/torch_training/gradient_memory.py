"""Gradients that torch makes where they are exchanged: in memory that is lent to its allocator."""

import ctypes
import functools
import weakref

import torch

from slipway import _calls, _job

# Below it a copy costs less than to look after a loan.
_LEAST_BYTES = 4096

# Address -> what keeps the memory alive. A tensor may live in it longer than the optimizer whose memory it was.
_lent = {}
_left_behind = set()


def _users(tensor):
    """References by C++ to its storage. torch has no function for it in all its versions: the number follows the pointer
    to the table of virtual functions."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor._storage()
    return ctypes.c_uint32.from_address(storage._cdata + ctypes.sizeof(ctypes.c_void_p)).value


@functools.cache
def _users_of_one():
    """_users() of a tensor whose memory is its own; None where that cannot be told."""
    tensor = torch.zeros(1, device="cpu")
    alone = _users(tensor)
    alias = tensor.view(1)
    told = _users(tensor) == alone + 1
    del alias
    return alone if told and _users(tensor) == alone else None


class GradientMemory:
    """The memory of an optimizer's large gradients, lent to torch while backward runs.

    A slot has a parameter and its view, the tensor that the gradient may be copied to. The memory of the view is either
    lent, and then may hold the gradient of any parameter, or it is the view's.
    """

    @classmethod
    def of(cls, slots):
        """None: torch cannot make gradients in memory of others here, or has no large ones."""
        large = [slot for slot in slots if slot.view.numel() * slot.view.element_size() >= _LEAST_BYTES]
        if not large or large[0].view.device.type != "cpu" or _job.size() == 1:
            return None
        return cls(large) if _users_of_one() is not None and _can_lend(large[0].view) else None

    def __init__(self, slots):
        self._slots = slots
        self.lending = False
        self._leave = weakref.finalize(self, _left_behind.update, [slot.view.data_ptr() for slot in slots])
        self._leave.atexit = False

    def begin(self):
        """Backward has begun, in this thread."""
        _sweep()
        for slot in reversed(self._slots):
            if slot.parameter.grad is not slot.view and not slot.submitted:
                _lend(slot.view)
        self._set(True)

    def end(self):
        if self.lending:
            self._set(False)

    def close(self):
        self.end()
        self._leave()
        _sweep()

    def _set(self, on):
        _calls.ask("slipway_torch_lending", int(on))
        self.lending = on

    def holds(self, gradient):
        """Whether it was made in what was lent."""
        return gradient.data_ptr() in _lent

    def is_alone(self, gradient):
        """Whether nothing else uses its memory. While its hook runs, backward itself does."""
        return _users(gradient) == _users_of_one()

    def take(self, view):
        """Makes `view` its owner's again; False while a tensor lies there."""
        return _take(view.data_ptr())


_ask = functools.partial(_calls.int_from, by=_calls.call_beside)


def _can_lend(view):
    _lend(view)
    return view.data_ptr() in _lent and _take(view.data_ptr())


def _lend(view):
    address = view.data_ptr()
    if address not in _lent and _ask("slipway_torch_lend", address, view.numel() * view.element_size()):
        _lent[address] = view


def _take(address):
    if address in _lent and _ask("slipway_torch_take_back", address):
        del _lent[address]
    return address not in _lent


def _sweep():
    """Takes back what optimizers that are gone or closed have lent, once the last tensors there are gone, too."""
    if _left_behind:
        _left_behind.difference_update([address for address in _left_behind if _take(address)])


_calls.at_finalize.append(lambda: _left_behind.update(_lent))
