"""A control group of the test's own with a small limit of memory, where the machine lets us make one."""

import contextlib
import os
import pathlib

ROOT = pathlib.Path("/sys/fs/cgroup")


def _parent_and_limit():
    """The folder to make it in and the name of its limit's file; nothing where there is no memory controller."""
    if (ROOT / "memory" / "memory.limit_in_bytes").exists():
        return ROOT / "memory", "memory.limit_in_bytes"
    if "memory" in (ROOT / "cgroup.subtree_control").read_text().split():
        return ROOT, "memory.max"
    return None


@contextlib.contextmanager
def memory_group(limit):
    """Yields the folder of a group that processes join by its cgroup.procs, or None. They must have ended by the end."""
    try:
        parent, name = _parent_and_limit()
        group = parent / f"slipway-test-{os.getpid()}"
        group.mkdir()
        (group / name).write_text(str(limit))
    except (OSError, TypeError):
        yield None
        return
    try:
        yield group
    finally:
        group.rmdir()
