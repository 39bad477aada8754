"""For benchmarks with PyTorch: a program starts itself on several ranks, and the shapes of ResNet-50."""

import math
import os
import pathlib
import shutil
import sys


def bottleneck(inputs, width, shortcut):
    """The shapes of one block of ResNet-50: three convolutions with their norms, and the shortcut's."""
    shapes = [(width, inputs, 1, 1), (width,), (width,), (width, width, 3, 3), (width,), (width,),
              (4 * width, width, 1, 1), (4 * width,), (4 * width,)]
    return shapes + ([(4 * width, inputs, 1, 1), (4 * width,), (4 * width,)] if shortcut else [])


def resnet50_shapes():
    """The shapes of all parameters, from the input to the output."""
    shapes, inputs = [(64, 3, 7, 7), (64,), (64,)], 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            shapes += bottleneck(inputs, width, block == 0)
            inputs = 4 * width
    return shapes + [(1000, 2048), (1000,)]


def bytes_of(shapes):
    return 4 * sum(math.prod(shape) for shape in shapes)


def under_mpirun():
    return any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"))


def start_ranks(program, ranks):
    """Replaces this process by an mpirun of `program`, with the same arguments."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        sys.exit("error: there is no mpirun in PATH\n  next: install openmpi-bin")
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    os.execv(mpirun, [mpirun, *root, "--oversubscribe", "-n", str(ranks), sys.executable,
                      os.path.abspath(program), *sys.argv[1:]])


def find_package(program):
    """Installed, the package lies in lib/slipway/python of the tree that the program is in."""
    beside = pathlib.Path(program).absolute().parents[2] / "lib/slipway/python"
    if beside.is_dir():
        sys.path.insert(0, str(beside))
