"""Loss scaling for training in float16: the calls of torch.cuda.amp.GradScaler, on all devices, and of one mind."""

import enum
import functools
import itertools

import torch

from slipway.errors import ArgumentError, NotFiniteError, NotSupportedError, StateError
from slipway.torch_training.ranks import Ranks


class _Verdict(enum.Enum):
    FINITE = "the step is taken"
    OVERFLOW = "the step is left out"
    UNDELIVERED = "the exchange has given nothing to apply"


def _gradients_of(optimizer):
    """Dense tensors: of a sparse gradient its values."""
    for parameter in itertools.chain.from_iterable(group["params"] for group in optimizer.param_groups):
        if parameter.grad is None:
            continue
        if parameter.grad.dtype == torch.float16:
            raise ArgumentError("GradScaler: a gradient is float16, too small a type for it once unscaled; keep parameters in "
                                "float32, and run forward within torch.autocast")
        if parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
        yield parameter.grad._values() if parameter.grad.is_sparse else parameter.grad


@functools.cache
def _has_kernel(device_type, dtype):
    """Whether torch divides and tests many gradients by one kernel there: on CPUs since 2.3."""
    if dtype not in (torch.float32, torch.float64):
        return False
    try:
        found = torch.zeros(1, device=device_type)
        torch._amp_foreach_non_finite_check_and_unscale_([found.to(dtype)], found, found)
    except (AttributeError, RuntimeError):
        return False
    return True


def _unscale_each(gradients, factor):
    """Returns 1 when some value is not finite, else 0, as a tensor."""
    largest = []
    for gradient in gradients:
        gradient.mul_(factor)
        largest.append(torch.linalg.vector_norm(gradient, float("inf")).float())
    return 1 - torch.stack(largest).isfinite().all().float().view(1)


def _unscale_together(gradients, factor):
    """The same, of one device and dtype."""
    device = gradients[0].device
    found = torch.zeros(1, device=device)
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.full((1,), factor, device=device))
    return found


@torch.no_grad()
def _unscale(gradients, scale):
    """Divides, in place; returns 1 when some value is not finite, else 0, as a tensor."""
    kinds = {}
    for gradient in gradients:
        if gradient.numel():
            kinds.setdefault((gradient.device, gradient.dtype), []).append(gradient)
    found = []
    for (device, dtype), some in kinds.items():
        # The kernel tests what it divides: with a scale below 1 only the quotient may be infinite.
        together = scale >= 1 and _has_kernel(device.type, dtype)
        found.append((_unscale_together if together else _unscale_each)(some, 1.0 / scale))
    if not found:
        return torch.zeros(1)
    return torch.stack([each.to(found[0].device) for each in found]).max().view(1)


def _synchronize(optimizer):
    """Exchanges the gradients of a DistributedOptimizer, unless that was done. Collective."""
    settings = optimizer.exchange_settings()
    if settings.get("mode") == "delayed":
        raise NotSupportedError("GradScaler: gradients of mode 'delayed' were made with an earlier scale; use mode 'sync', or "
                                "bfloat16 without a scaler")
    if settings.get("clip_norm"):
        raise NotSupportedError("GradScaler: clip_norm clips scaled gradients; clip by torch.nn.utils.clip_grad_norm_ between "
                                "unscale_() and step()")
    try:
        if not optimizer.exchanged:
            optimizer.synchronize()
    except NotFiniteError:  # on all ranks
        return _Verdict.OVERFLOW
    return _Verdict.FINITE if optimizer.delivered else _Verdict.UNDELIVERED


def unscale_for_torch(optimizer, scaler):
    """For torch's own GradScaler, which hands itself to step() of a DistributedOptimizer: exchanges, then unscales.

    Returns whether the step is to be taken, the same on all ranks. Collective.
    Errors: StateError: unscale_() was called before the exchange. NotSupportedError: mode "delayed", clip_norm, accumulate.
    """
    state = scaler._per_optimizer_states[id(optimizer)]
    unscaled = state["stage"].name == "UNSCALED"  # torch's OptState has READY, UNSCALED and STEPPED
    too_early = unscaled and not optimizer.exchanged
    verdict = _synchronize(optimizer)
    if too_early:
        raise StateError("GradScaler.unscale_ of torch was called while gradients were exchanged: call "
                         "optimizer.synchronize() first, or use slipway.torch.GradScaler")
    if verdict is _Verdict.UNDELIVERED:
        raise NotSupportedError("torch's GradScaler would change the scale while gradients accumulate; use "
                                "slipway.torch.GradScaler")
    if verdict is _Verdict.OVERFLOW:
        state["found_inf_per_device"] = {"exchange": torch.ones(())}
    elif not unscaled:
        scaler.unscale_(optimizer)
    return not any(found.item() for found in state["found_inf_per_device"].values())


class GradScaler:
    """Scales losses, and gradients back, so that small gradients in float16 are not lost.

        scaler.scale(loss).backward()
        scaler.step(optimizer)          # left out on all ranks when a gradient of one rank is not finite
        scaler.update()

    unscale_() and step() are collective. A DistributedOptimizer is first synchronized: its gradients have the same bits on
    all ranks. Of other optimizers, also under DistributedDataParallel, the ranks of `process_group` (None: all) compare what
    they found, by an allreduce of one number. State dicts are those of torch. bfloat16 needs no scaling.
    """

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True,
                 process_group=None):
        if growth_factor <= 1 or not 0 < backoff_factor < 1 or init_scale <= 0 or growth_interval < 1:
            raise ArgumentError(f"GradScaler: init_scale {init_scale}, growth_factor {growth_factor}, backoff_factor "
                                f"{backoff_factor}, growth_interval {growth_interval}; they must be above 0, above 1, between "
                                "0 and 1, and from 1")
        self._scale, self._growth_factor, self._backoff_factor = float(init_scale), growth_factor, backoff_factor
        self._growth_interval, self._enabled, self._group = growth_interval, enabled, process_group
        self._steps_without_overflow = 0
        self._verdicts, self._stepped = {}, set()

    def scale(self, outputs):
        """A tensor, or a list or tuple of them, times the scale. Local."""
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(each) for each in outputs)
        if not self._enabled:
            return outputs
        return outputs.to(torch.promote_types(outputs.dtype, torch.float32)) * self._scale

    def unscale_(self, optimizer):
        """Exchanges the gradients of a DistributedOptimizer and divides by the scale: to clip them, for example. Collective.

        Errors: StateError: called twice before update(). ArgumentError: float16 gradients. NotSupportedError: mode "delayed"
        or clip_norm.
        """
        if not self._enabled:
            return
        if id(optimizer) in self._verdicts:
            raise StateError("GradScaler.unscale_ or step was called before for this optimizer; call update() after step()")
        synchronized = hasattr(optimizer, "exchange_settings")
        verdict = _synchronize(optimizer) if synchronized else _Verdict.FINITE
        if verdict is _Verdict.FINITE:
            found = _unscale(_gradients_of(optimizer), self._scale)
            if not synchronized:
                Ranks(self._group).allreduce(found, "max")
            verdict = _Verdict.OVERFLOW if found.item() else _Verdict.FINITE
        self._verdicts[id(optimizer)] = verdict

    def step(self, optimizer, *arguments):
        """unscale_(), unless it was called, and the step of the optimizer, unless a gradient is not finite. Collective."""
        if not self._enabled:
            return optimizer.step(*arguments)
        if id(optimizer) in self._stepped:
            raise StateError("GradScaler.step was called before for this optimizer; call update() first")
        if id(optimizer) not in self._verdicts:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return None if self._verdicts[id(optimizer)] is _Verdict.OVERFLOW else optimizer.step(*arguments)

    def update(self, new_scale=None):
        """The scale of the next step: smaller after an overflow, larger after growth_interval steps without. Local."""
        verdicts, self._verdicts, self._stepped = set(self._verdicts.values()), {}, set()
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not verdicts:
            raise StateError("GradScaler.update: no step() or unscale_() since the last one")
        elif _Verdict.OVERFLOW in verdicts:
            self._scale, self._steps_without_overflow = self._scale * self._backoff_factor, 0
        elif _Verdict.FINITE in verdicts:
            self._grow()

    def _grow(self):
        self._steps_without_overflow += 1
        if self._steps_without_overflow == self._growth_interval:
            self._steps_without_overflow = 0
            self._scale *= self._growth_factor

    def get_scale(self):
        return self._scale if self._enabled else 1.0

    def is_enabled(self):
        return self._enabled

    def state_dict(self):
        if not self._enabled:
            return {}
        return {"scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._steps_without_overflow}

    def load_state_dict(self, state):
        """Errors: ArgumentError: the state of a scaler that was not enabled."""
        if not self._enabled:
            return
        if not state:
            raise ArgumentError("GradScaler: the state is empty, that of a scaler with enabled=False; make a new one")
        self._scale, self._steps_without_overflow = state["scale"], state["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state["growth_factor"], state["backoff_factor"]
        self._growth_interval = state["growth_interval"]
