"""An exponential moving average of weights: that of trainers/common/weight_average.h."""

import contextlib

import torch


def decay_at(decay, update):
    """What the average keeps at its update number `update`, from 0. So an average with a long memory does not hold on to
    the first weights."""
    return min(decay, (1 + update) / (10 + update))


class WeightAverage:
    """Weights have the same bits on all ranks, and so have their averages: nothing is exchanged. Running statistics are
    averaged with them; those of rank 0 count, as without averages."""

    def __init__(self, decay, model):
        """Begins as a copy of what the model holds."""
        self.decay, self.model, self.updates = decay, model, 0
        running = [values for values in model.buffers() if values.is_floating_point()]
        self._tensors = [*model.parameters(), *running]
        self._averages = [values.detach().clone() for values in self._tensors]

    @torch.no_grad()
    def update(self):
        """After a step of the optimizer."""
        share = 1 - decay_at(self.decay, self.updates)
        for average, values in zip(self._averages, self._tensors):
            average.lerp_(values, share)
        self.updates += 1

    @torch.no_grad()
    def restart(self):
        """As new: a copy of what the model holds now."""
        for average, values in zip(self._averages, self._tensors):
            average.copy_(values)
        self.updates = 0

    @torch.no_grad()
    def swap(self):
        """Weights and averages change places. The model's memory stays where it is."""
        for average, values in zip(self._averages, self._tensors):
            weights = values.clone()
            values.copy_(average)
            average.copy_(weights)


@contextlib.contextmanager
def in_place(average):
    """In the block the model holds the averages; its weights where `average` is None."""
    if average is None:
        yield
        return
    average.swap()
    try:
        yield
    finally:
        average.swap()
