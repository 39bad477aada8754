"""Ends well without finalize, after a caught exit."""
import atexit
import sys

import slipway

slipway.init()
try:
    sys.exit(3)
except SystemExit:
    pass
slipway.barrier()
atexit.register(lambda: print(f"in the job at the end: {slipway.initialized()}", flush=True))
