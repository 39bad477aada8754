"""Buckets of DistributedDataParallel in memory that all ranks of the node reach: they are exchanged where they are.

DDP allocates its buckets itself, and exchanges the same ones at each step. At the first exchange of one, torch moves it
to shared memory (as share_memory_() does: every tensor in it goes along), and the library takes that over.
"""

import collections
import os

from slipway import _calls

# Where torch makes shared memory. A program that finds this file system full while it writes is ended.
_FILE_SYSTEM = "/dev/shm"
# A program whose tensors are new at each step is left alone after so many.
_MOST_MOVES = 256
# What was not exchanged for so many calls belongs to a model that is gone.
_FORGOTTEN_AFTER = 1000


def called_by_backward(frame):
    """Whether torch's engine, and not the program, makes the call whose frame this is."""
    caller = frame.f_back
    return caller is not None and caller.f_globals.get("__name__", "").startswith("torch.autograd")


def _room_for(size):
    """Whether there is room on all ranks of the node, and as much again for others."""
    try:
        there = os.statvfs(_FILE_SYSTEM)
    except OSError:
        return False
    return there.f_bavail * there.f_frsize > 2 * size * _calls.ask("slipway_local_size")


def _storage(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()


def _bytes(tensor):
    return tensor.numel() * tensor.element_size()


class Buckets:
    """Tensors that were moved. A tensor is held here, so that its address is its own until the library gives it up."""

    def __init__(self):
        self._held = collections.OrderedDict()  # address -> tensor; first what was not used for longest
        self._used = {}  # address -> clock of the last exchange
        self._clock = self._moves = 0

    def place(self, tensor):
        """Before an exchange of a dense tensor of the CPU, in the thread that asks for it. Local."""
        self._clock += 1
        if tensor.data_ptr() not in self._held and self._may_move(tensor):
            self._move(tensor)
        if tensor.data_ptr() in self._held:
            self._held.move_to_end(tensor.data_ptr())
            self._used[tensor.data_ptr()] = self._clock
        while self._held and self._used[next(iter(self._held))] < self._clock - _FORGOTTEN_AFTER:
            self._give_up()

    def _may_move(self, tensor):
        """A tensor that is a part of something stays where it is, and so does one for which memory is short."""
        storage = _storage(tensor)
        whole = storage.data_ptr() == tensor.data_ptr() and storage.nbytes() == _bytes(tensor)
        return (whole and hasattr(storage, "_share_fd_cpu_") and self._moves < _MOST_MOVES
                and _room_for(_bytes(tensor)))

    def _move(self, tensor):
        self._moves += 1
        try:
            descriptor, size = _storage(tensor)._share_fd_cpu_()
            _calls.call("slipway_adopt", tensor.data_ptr(), size, descriptor)
        except RuntimeError:  # torch has no descriptor or memory for it, or the library refuses it
            return  # it is exchanged by copies, as before
        self._held[tensor.data_ptr()] = tensor.detach()

    def _give_up(self):
        address, tensor = self._held.popitem(last=False)
        del self._used[address]
        _calls.call("slipway_free", address)
        del tensor  # not before

    def forget(self):
        """At the end of the job, when the library has given everything up."""
        self._held.clear()
        self._used.clear()

    def holds(self, tensor):
        """Whether all ranks of the node reach the bytes of `tensor`. Any thread."""
        held = self._held.get(tensor.data_ptr())
        return held is not None and _bytes(tensor) <= _bytes(held)


shared = Buckets()
_calls.at_finalize.append(shared.forget)
