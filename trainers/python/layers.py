"""Layers that several networks use."""

import torch


class Function(torch.nn.Module):
    """A function as a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, values):
        return self.function(values)


@torch.no_grad()
def draw_weights(model, slope):
    """Weights by He et al. 2015 for layers that are followed by max(x, slope x), biases 0: however many layers there
    are, what passes them keeps its size. (Torch's own are smaller: after seven convolutions nothing is left.)"""
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.zeros_(parameter)
        else:
            torch.nn.init.kaiming_normal_(parameter, slope)
    return model
