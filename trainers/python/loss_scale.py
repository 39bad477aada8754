"""The factor of a loss, so that small gradients are not lost in fp16: as trainers/common/loss_scale.h."""

import slipway.torch
from slipway.trainers.options import UsageError

USUAL_FACTOR = 65536.0
LEAST_FACTOR = 1e-6  # below it, gradients overflow for another reason


def scaler_of(arguments, settings):
    """A GradScaler, or None where losses are not scaled. UsageError when the exchange does what they do not go with."""
    if arguments.precision != "fp16" and arguments.loss_scale == 0:
        return None
    if settings.unscalable:
        raise UsageError("scaled losses (--precision fp16, --loss_scale) do not go with "
                         f"{settings.unscalable}: leave one of them out")
    return slipway.torch.GradScaler(arguments.loss_scale or USUAL_FACTOR)


def state_of(scaler):
    """For a checkpoint."""
    if scaler is None:
        return None
    state = scaler.state_dict()
    return {"factor": state["scale"], "steps": state["_growth_tracker"]}


def restore(scaler, state):
    """A scaler whose state the checkpoint does not hold begins as it is."""
    if scaler is not None and state is not None:
        scaler.load_state_dict({**scaler.state_dict(), "scale": state["factor"], "_growth_tracker": state["steps"]})
