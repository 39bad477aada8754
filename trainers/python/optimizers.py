"""How gradients become steps: the optimizers of trainers/common/optimizers.h."""

import torch


def has_scale(parameter):
    """Neither biases nor what normalisation scales by: their norms say nothing of how far they should move."""
    return parameter.dim() > 1


def make(arguments, parameters):
    """An optimizer of torch. With `trust` the weight decay is left to scale_by_trust()."""
    decay = 0 if arguments.trust > 0 else arguments.weight_decay
    if arguments.optimizer == "lamb":
        return Lamb(parameters, arguments.lr, arguments.weight_decay)
    if arguments.optimizer == "adam":
        return torch.optim.Adam(parameters, arguments.lr, weight_decay=decay)
    return torch.optim.SGD(parameters, arguments.lr, momentum=arguments.momentum, weight_decay=decay)


@torch.no_grad()
def scale_by_trust(arguments, parameters, rate):
    """The gradients of layers whose weights are large against them may move more, others less: of each tensor w by
    trust |w| / (|g| + weight_decay |w|), as LARC does at most 1 with trust_clip, or as LARS does without."""
    for parameter in parameters:
        gradient = parameter.grad
        weight_norm, gradient_norm = parameter.norm().item(), gradient.norm().item()
        gradient.add_(parameter, alpha=arguments.weight_decay)
        if not has_scale(parameter) or weight_norm == 0 or gradient_norm == 0:
            continue
        scale = arguments.trust * weight_norm / (gradient_norm + arguments.weight_decay * weight_norm)
        if arguments.trust_clip:
            scale = min(scale / rate, 1) if rate > 0 else 0
        gradient.mul_(scale)


class Lamb(torch.optim.Optimizer):
    """You et al. 2020, algorithm 2."""

    MEAN_MEMORY, SQUARE_MEMORY, SMALL = 0.9, 0.999, 1e-6

    def __init__(self, parameters, lr, weight_decay):
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                self._move(parameter, group["lr"], group["weight_decay"])

    def _move(self, parameter, rate, decay):
        state = self.state[parameter]
        if not state:
            state.update(steps=0, mean=torch.zeros_like(parameter), square=torch.zeros_like(parameter))
        state["steps"] += 1
        gradient, mean, square = parameter.grad, state["mean"], state["square"]
        mean.mul_(self.MEAN_MEMORY).add_(gradient, alpha=1 - self.MEAN_MEMORY)
        square.mul_(self.SQUARE_MEMORY).addcmul_(gradient, gradient, value=1 - self.SQUARE_MEMORY)
        mean_scale = 1 / (1 - self.MEAN_MEMORY ** state["steps"])
        square_scale = 1 / (1 - self.SQUARE_MEMORY ** state["steps"])
        update = (mean * mean_scale) / ((square * square_scale).sqrt_() + self.SMALL)
        update.add_(parameter, alpha=decay)
        parameter.sub_(update, alpha=rate * self._ratio(parameter, update))

    @staticmethod
    def _ratio(parameter, update):
        weight_norm, update_norm = parameter.norm().item(), update.norm().item()
        return weight_norm / update_norm if has_scale(parameter) and weight_norm > 0 and update_norm > 0 else 1
