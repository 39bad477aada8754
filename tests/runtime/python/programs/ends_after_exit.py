"""Catches an exit behind its last call of slipway, and ends well."""
import atexit
import sys

import slipway

atexit.register(lambda: print(f"left the job: {not slipway.initialized()}", flush=True))  # called after that of init
slipway.init()
slipway.barrier()
try:
    sys.exit(3)
except SystemExit as error:
    print(f"caught {error.code}")
