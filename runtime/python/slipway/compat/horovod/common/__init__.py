"""In place of horovod.common."""
