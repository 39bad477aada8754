"""Batch normalization with the statistics of the batches of all ranks, on CPUs and GPUs.

One allreduce in forward and one in backward, of a few numbers for each channel. Statistics are computed in float32
(float64 for float64) and added in float64.
"""

import torch

from slipway.errors import ArgumentError
from slipway.torch_training.ranks import Ranks


def _channels_aside(values):
    """All dimensions but that of the channels."""
    return [0, *range(2, values.dim())]


def _like_channels(numbers, values):
    """One number for each channel, to be combined with `values`."""
    return numbers.view(1, -1, *[1] * (values.dim() - 2))


def _wide(values):
    return values if values.dtype == torch.float64 else values.float()


def _moments(values, ranks):
    """Mean, variance (biased) and number of elements of each channel, over the batches of all ranks. Collective."""
    count = values.numel() // values.size(1)
    if count:
        variance, mean = torch.var_mean(values, _channels_aside(values), unbiased=False)
        mean, variance = mean.double(), variance.double()
    else:
        mean = variance = values.new_zeros(values.size(1), dtype=torch.float64)
    sums = torch.cat([mean * count, (variance + mean * mean) * count, mean.new_full((1,), count)])
    *sums, total = ranks.allreduce(sums).split([values.size(1), values.size(1), 1])
    if total.item() < 2:
        raise ArgumentError(f"SyncBatchNorm: the batches of all ranks have {total.item():.0f} values for each channel; "
                            "training needs 2 or more")
    mean, square = (each / total for each in sums)
    return mean.to(values.dtype), (square - mean * mean).clamp_(min=0).to(values.dtype), total.item()


class _Normalize(torch.autograd.Function):
    """(values - mean) / deviation * weight + bias, where mean and deviation depend on the values of all ranks."""

    @staticmethod
    def forward(context, values, weight, bias, mean, variance, total, eps, ranks):
        context.save_for_backward(values, weight, mean, variance)
        context.total, context.eps, context.ranks = total, eps, ranks
        scale, shift = (None if each is None else each.to(mean.dtype) for each in (weight, bias))
        result = torch.nn.functional.batch_norm(_wide(values), mean, variance, scale, shift, False, 0.0, eps)
        return result.to(values.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context, gradient):
        """The gradients of weight and bias are those of this rank, as of all parameters before their exchange."""
        values, weight, mean, variance = context.saved_tensors
        upstream, inverse = _wide(gradient), torch.rsqrt(variance + context.eps)
        normalized = (_wide(values) - _like_channels(mean, values)) * _like_channels(inverse, values)
        sums = torch.stack([upstream.sum(_channels_aside(values)), (upstream * normalized).sum(_channels_aside(values))])
        of_bias, of_weight = (sums[index].to(weight.dtype) if weight is not None else None for index in (0, 1))
        of_values = None
        if context.needs_input_grad[0]:
            upstream_mean, correlation = (context.ranks.allreduce(sums.double()) / context.total).to(mean.dtype)
            scale = inverse if weight is None else inverse * weight.to(inverse.dtype)
            centred = upstream - _like_channels(upstream_mean, values) - normalized * _like_channels(correlation, values)
            of_values = (centred * _like_channels(scale, values)).to(values.dtype)
        return of_values, of_weight, of_bias, None, None, None, None, None


class SyncBatchNorm(torch.nn.modules.batchnorm._BatchNorm):
    """torch.nn.SyncBatchNorm on the collectives of Slipway: mean and variance are those of the batches of all ranks.

    Shape:  [batch, channels, ...]; batches may differ between ranks, also be empty.
    Cost:   in training one allreduce of 2 channels + 1 float64 in forward, and of 2 channels in backward.
    Ranks:  `process_group` is a slipway.Group or one of torch.distributed; None: all of the job, else of torch.
    Result: running statistics have the same bits on all ranks. Evaluation exchanges nothing.
    Errors: ArgumentError, on all ranks: fewer than two values for each channel.
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 **factory):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, **factory)
        self.process_group = process_group

    def _check_input_dim(self, values):
        if values.dim() < 2 or values.size(1) != self.num_features:
            raise ArgumentError(f"SyncBatchNorm: the input has the shape {tuple(values.shape)}, not [batch, "
                                f"{self.num_features} channels, ...]")

    def forward(self, values):
        self._check_input_dim(values)
        ranks = Ranks(self.process_group) if self.training else None
        if ranks is None or ranks.size() == 1:
            return super().forward(values)
        with torch.no_grad():
            mean, variance, total = _moments(_wide(values), ranks)
            self._track(mean, variance * (total / (total - 1)))
        return _Normalize.apply(values, self.weight, self.bias, mean, variance, total, self.eps, ranks)

    def _track(self, mean, variance):
        if not self.track_running_stats or self.running_mean is None:
            return
        self.num_batches_tracked += 1
        share = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_(variance.to(self.running_var.dtype), share)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """`module` with this class in place of each BatchNorm, with its parameters and statistics. Local."""
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            return cls._of(module, process_group)
        for name, child in module.named_children():
            setattr(module, name, cls.convert_sync_batchnorm(child, process_group))
        return module

    @classmethod
    def _of(cls, norm, process_group):
        made = cls(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats, process_group)
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(made, name, getattr(norm, name))
        return made.train(norm.training)
