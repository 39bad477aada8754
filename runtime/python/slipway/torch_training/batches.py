"""Gradients on a GPU on their way to the exchange, several at a time.

A call costs the CPU more time than a small gradient takes to travel: one copy by torch and one call of the library take
all that backward has made since the last one.
"""

import contextlib

import torch

from slipway._arrays import stream_on

# Half of a bucket that the CPU adds up, so that its copies begin before its last gradient is made. As kMostBytesOnGpu
# of the trainers in C++. At the speed of most links the calls for a batch take as long, some 70 us. Buckets of
# `direct`, of 32 MiB, are made of many batches.
MOST_BYTES = 2 << 20


def _on(stream, device):
    """For work on a stream of the device; `stream`: as stream_on() gives it."""
    if stream == stream_on(device):
        return contextlib.nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(stream, device) if stream else torch.cuda.default_stream(device))


def _copy(targets, sources):
    """All of them by one kernel where this torch can."""
    if hasattr(torch, "_foreach_copy_"):
        torch._foreach_copy_(targets, sources)
    else:
        for target, source in zip(targets, sources):
            target.copy_(source)


class Batch:
    """Gradients that backward has made, and the exchange does not know of yet. Each is a slot of the optimizer."""

    def __init__(self, team, device):
        self._team, self._device = team, device
        self._forget()

    def _forget(self):
        self._stream, self._indices, self._slots, self._bytes = 0, [], [], 0

    def add(self, index, slot):
        """This gradient is made, once the thread's stream has done what it was given so far."""
        stream = stream_on(self._device)
        if self._indices and stream != self._stream:
            self.hand_over()
        self._stream = stream
        slot.note(slot.parameter.grad)
        self._indices.append(index)
        self._slots.append(slot)
        self._bytes += slot.bytes
        if self._bytes >= MOST_BYTES:
            self.hand_over()

    def hand_over(self):
        """Copies the gradients to where they are exchanged, and submits them."""
        if not self._indices:
            return
        stream, indices, slots = self._stream, self._indices, self._slots
        self._forget()
        try:
            self._move([slot for slot in slots if not slot.holds(slot.given)], stream)
        except RuntimeError:
            for slot in slots:
                slot.require_like()
            raise
        self._team.submit_many(indices, stream)

    def _move(self, slots, stream):
        if slots:
            with torch.no_grad(), _on(stream, self._device):
                _copy([slot.view for slot in slots], [slot.given for slot in slots])
        for slot in slots:
            slot.give()
