"""horovod.tensorflow is not there; importing this says what to use instead."""

from slipway.errors import NotSupportedModuleError

raise NotSupportedModuleError("horovod.tensorflow is not there: "
                              "hand gradients to slipway.gradients as NumPy arrays; slipway.torch serves PyTorch")
