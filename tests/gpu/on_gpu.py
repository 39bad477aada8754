"""What the scripts of this folder share: they need a PyTorch that sees a GPU, and start themselves on several ranks."""

import os
import pathlib
import shutil
import sys

SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


try:
    import torch
except ImportError as reason:
    skip(reason)


def require_gpu():
    if not torch.cuda.is_available():
        skip("torch sees no GPU; tests/gpu/run_all runs this on a machine that has one")


def mpirun():
    """The words of Open MPI that start ranks; their number follows."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [shutil.which("mpirun") or sys.exit("error: there is no mpirun in PATH"), *root, "--oversubscribe", "-n"]


def start_ranks(program, ranks, *arguments):
    """Replaces this process by an mpirun of `program`."""
    words = [*mpirun(), str(ranks), sys.executable, str(pathlib.Path(program).absolute()), *arguments]
    os.execv(words[0], words)


def use_gpu_of_rank():
    """After slipway.init()."""
    import slipway

    require_gpu()
    torch.cuda.set_device(slipway.local_rank() % torch.cuda.device_count())
