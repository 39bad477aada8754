"""The last rank does not come; the others tell who is missing, and end."""
import sys
import time

import numpy as np
import slipway

slipway.init({"resilience": {"stall_after_s": 5}})
slipway.barrier()
if slipway.rank() == slipway.size() - 1:
    time.sleep(600)
begin = time.monotonic()
try:
    slipway.allreduce(np.zeros(10))
except slipway.StalledError as error:
    print(f"after {time.monotonic() - begin:.0f} s: {error}", flush=True)
    sys.exit(9)
