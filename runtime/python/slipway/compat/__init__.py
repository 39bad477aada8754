"""Faces of other libraries, so that a script runs with only its import changed: cray, horovod.torch."""
