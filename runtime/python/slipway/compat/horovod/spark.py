"""horovod.spark is not there; importing this says what to use instead."""

from slipway.errors import NotSupportedModuleError

raise NotSupportedModuleError("horovod.spark is not there: "
                              "`slipway run` starts the ranks")
