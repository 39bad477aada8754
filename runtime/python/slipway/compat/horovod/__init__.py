"""In place of Horovod: `import slipway.compat.horovod.torch as hvd` for `import horovod.torch as hvd`."""
