"""Gradients that torch makes where they are exchanged: in memory that is lent to its allocator."""

import ctypes
import functools
import threading
import weakref

import torch

from slipway import _calls, _job

# Below it a copy costs less than to look after a loan.
_LEAST_BYTES = 4096

# Address -> what keeps the memory alive. A tensor may live in it longer than the optimizer whose memory it was.
_lent = {}
_left_behind = set()

# Calls a function once the backward is done that this thread works for. Not after an error.
_at_the_end_of_backward = getattr(torch.autograd.Variable._execution_engine, "queue_callback", None)


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

    The memory of a slot is lent when no tensor lies there, and may then hold the gradient of any parameter, until it is
    taken back.
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
        self._thread = None  # of backward, while lending
        self._leave = weakref.finalize(self, _left_behind.update, [slot.view.data_ptr() for slot in slots])
        self._leave.atexit = False

    def begin(self):
        """Backward has begun, in this thread."""
        _sweep()
        for slot in self._slots:  # torch takes first what is lent last
            if not slot.submitted and slot.is_unused():
                _lend(slot.view)
        self._set(True)
        self._thread = threading.get_ident()
        if _at_the_end_of_backward is not None:
            _at_the_end_of_backward(self._end_with_backward)

    def end(self):
        if self.lending:
            self._set(False)

    def _end_with_backward(self):
        """Backward may end in a thread of a GPU, and lending is a matter of each thread."""
        if threading.get_ident() == self._thread:
            self.end()

    def close(self):
        self.end()
        self._leave()
        _sweep()

    def _set(self, on):
        _calls.ask("slipway_torch_lending", int(on))
        self.lending = on


def is_lent(address):
    """Whether torch has made what lies there, if that is a gradient."""
    return address in _lent


def is_alone(gradient):
    """Whether nothing else uses its memory. While its hook runs, backward itself does."""
    return _users(gradient) == _users_of_one()


_ask = functools.partial(_calls.int_from, by=_calls.call_beside)


def _can_lend(view):
    _lend(view)
    return is_lent(view.data_ptr()) and take(view.data_ptr())


def _lend(view):
    address = view.data_ptr()
    if address not in _lent and _ask("slipway_torch_lend", address, view.numel() * view.element_size()):
        _lent[address] = view


def take(address):
    """Makes memory its owner's again; False while a tensor lies there."""
    if address in _lent and _ask("slipway_torch_take_back", address):
        _lent.pop(address, None)
    return address not in _lent


def _sweep():
    """Takes back what optimizers that are gone or closed have lent, once the last tensors there are gone, too."""
    if _left_behind:
        _left_behind.difference_update([address for address in list(_left_behind) if take(address)])


_calls.at_finalize.append(lambda: _left_behind.update(_lent))
