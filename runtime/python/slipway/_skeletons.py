"""State dicts of PyTorch in two parts: their tensors, and a skeleton that says where these belong."""

import torch

from slipway.torch_training.layouts import is_gapless, row_major


class Placeholder:
    """Stands for a tensor that is sent on its own."""

    strides = None  # row-major; also of checkpoints of earlier versions

    def __init__(self, index, tensor):
        self.index, self.shape, self.dtype = index, tuple(tensor.shape), tensor.dtype
        if tensor.layout is torch.strided and is_gapless(tensor) and tensor.stride() != row_major(tensor.shape):
            self.strides = tensor.stride()

    def laid_out(self, tensor):
        """`tensor`, which is row-major, with the strides of the one that this stands for."""
        if self.strides is None:
            return tensor
        return torch.empty_strided(self.shape, self.strides, dtype=self.dtype).copy_(tensor)


def take_out(value, tensors):
    """`value` with a placeholder for each tensor, which goes to `tensors`."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return Placeholder(len(tensors) - 1, value)
    if isinstance(value, dict):
        return {key: take_out(entry, tensors) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(take_out(entry, tensors) for entry in value)
    return value


def placeholders(value):
    if isinstance(value, Placeholder):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from placeholders(entry)


def put_in(value, tensors):
    if isinstance(value, Placeholder):
        return tensors[value.index]
    if isinstance(value, dict):
        return {key: put_in(entry, tensors) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(put_in(entry, tensors) for entry in value)
    return value
