"""How tensors lie in memory: torch gives a gradient the strides of its parameter, channels_last for example."""

import torch


def is_gapless(tensor):
    """Whether its elements fill a piece of memory, each once, in any order of its dimensions.

    torch says: non-overlapping and dense.
    """
    expected = 1
    for stride, length in sorted(zip(tensor.stride(), tensor.shape)):
        if length == 1:
            continue
        if stride != expected:
            return tensor.numel() == 0
        expected *= length
    return True


def row_major(shape):
    """The strides of a new tensor."""
    return torch.empty(shape, device="meta").stride()


def strides_of_gradient(parameter):
    """What torch gives the gradient of a parameter; fused optimizers rely on it."""
    return parameter.stride() if is_gapless(parameter) else row_major(parameter.shape)


def has_strides(tensor, strides):
    """A dimension of length 1 may have any stride."""
    return len(strides) == tensor.dim() and all(
        length == 1 or own == wanted for length, own, wanted in zip(tensor.shape, tensor.stride(), strides))


def order_in_memory(tensor):
    """The dimensions of a gapless tensor from the outermost to the innermost; None: as they are."""
    if tensor.is_contiguous():
        return None
    return sorted(range(tensor.dim()), key=lambda dimension: -tensor.stride(dimension))
