"""The bundled trainers in PyTorch: the same models, options and data order as the programs in C++.

    train: {command: [python3, -m, slipway.trainers.hepcnn], args: {epochs: 3}}
"""

import sys

try:
    import torch  # noqa: F401
    import numpy  # noqa: F401
except ModuleNotFoundError as missing:  # of a program that cannot begin a sentence says more than a traceback
    sys.exit(f"slipway.trainers: {sys.executable} has no module {missing.name}: install it there, or name a Python that has "
             "it in train.command, as in  command: [/usr/bin/python3, -m, slipway.trainers.hepcnn]")
