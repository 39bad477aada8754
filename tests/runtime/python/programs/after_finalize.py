"""Arrays in shared memory outlive the job."""
import gc

import slipway

slipway.init()
values, gone = slipway.alloc(100_000), slipway.alloc(10)
slipway.finalize()
values += 1
del gone
gc.collect()
assert not slipway.initialized()
for call in (slipway.barrier, slipway.rank):
    try:
        call()
    except slipway.StateError as error:
        print(f"sum {values.sum()} {error}", flush=True)
