"""Arrays in shared memory outlive the job."""
import gc

import slipway

slipway.init()
values, gone = slipway.alloc(100_000), slipway.alloc(10)
slipway.finalize()
values += 1
del gone
gc.collect()
assert (slipway.rank(), slipway.initialized()) == (-1, False)
try:
    slipway.barrier()
except slipway.StateError as error:
    print(f"sum {values.sum()} {error}", flush=True)
