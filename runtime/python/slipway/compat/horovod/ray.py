"""horovod.ray is not there; importing this says what to use instead."""

from slipway.errors import NotSupportedModuleError

raise NotSupportedModuleError("horovod.ray is not there: "
                              "`slipway run` starts the ranks, and `ensemble:` of its file the trials")
