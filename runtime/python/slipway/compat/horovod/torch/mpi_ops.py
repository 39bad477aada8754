"""In place of horovod.torch.mpi_ops: the names of slipway.compat.horovod.torch."""

from slipway.compat.horovod.torch import *
from slipway.compat.horovod.torch import __all__
from slipway.compat.horovod.torch import _name_not_there as __getattr__
