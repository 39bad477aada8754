"""Rank 1 has no more data; rank 0 asks for an operation on a process set of both."""
import sys

import slipway
import slipway.compat.horovod.torch as hvd
import torch

slipway.init({"resilience": {"stall_after_s": 5}})
hvd.init()
both = hvd.add_process_set([0, 1])
try:
    if hvd.rank() == 1:
        hvd.join()
    else:
        hvd.allreduce(torch.ones(2), process_set=both)
except slipway.StalledError as error:
    print(f"rank {hvd.rank()}: {error}", flush=True)
    sys.exit(9)
