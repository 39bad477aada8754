"""horovod.runner is not there; importing this says what to use instead."""

from slipway.errors import NotSupportedModuleError

raise NotSupportedModuleError("horovod.runner is not there: "
                              "`slipway run` or mpirun starts the ranks")
