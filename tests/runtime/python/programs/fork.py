"""A fork of a rank ends like any process, and the rank goes on."""
import os
import sys

import slipway

slipway.init()
child = os.fork()
if child == 0:
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
slipway.barrier()
print("the rank went on", flush=True)
