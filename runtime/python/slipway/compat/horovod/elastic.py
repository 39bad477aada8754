"""horovod.elastic is not there; importing this says what to use instead."""

from slipway.errors import NotSupportedModuleError

raise NotSupportedModuleError("horovod.elastic is not there: "
                              "`slipway run` restarts a failed job from its newest checkpoint: "
                              "slipway.checkpoint and slipway.resume_from")
