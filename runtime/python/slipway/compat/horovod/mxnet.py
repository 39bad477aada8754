"""horovod.mxnet is not there; importing this says what to use instead."""

from slipway.errors import NotSupportedModuleError

raise NotSupportedModuleError("horovod.mxnet is not there: "
                              "gradients of MXNet go through slipway.gradients as NumPy arrays; slipway.torch serves PyTorch")
