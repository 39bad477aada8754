"""One rank gives up while the others wait for it; how is the argument."""
import atexit
import gc
import sys
import threading

import numpy as np
import slipway


def give_up():
    try:
        sys.exit(7)
    except SystemExit as error:
        kept = error  # it holds this frame, and this frame holds it
        raise kept


slipway.init()
if slipway.rank() == slipway.size() - 1:
    if sys.argv[1] == "raise":
        raise ValueError("this rank gives up")
    if sys.argv[1] == "exit":
        sys.exit(7)
    if sys.argv[1] == "exit raised again":
        atexit.register(lambda: gc.collect())  # called before that of init: the exit is gone then
        give_up()
    if sys.argv[1] == "exit of site":
        exit(7)
    if sys.argv[1] == "quit":
        quit(code="this rank gives up")
    if sys.argv[1] == "thread":
        import slipway.compat.horovod.torch as hvd
        hvd.init()
        raise ValueError("this rank gives up")
elif sys.argv[1] in ("exit of site", "quit"):
    threading.Event().wait()  # until the launcher ends this rank
elif sys.argv[1] == "thread":
    import slipway.compat.horovod.torch as hvd
    hvd.init()
    hvd.barrier()
slipway.allreduce(np.zeros(10))
print("went on without that rank")
