"""In place of Horovod: `import slipway.compat.horovod.torch as hvd` for `import horovod.torch as hvd`."""

__version__ = "0.28.1"  # of the Horovod whose names and arguments these are: scripts compare it
