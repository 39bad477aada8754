"""horovod.torch.elastic is not there; importing this says what to use instead."""

import slipway.compat.horovod.elastic  # raises
