"""A node: in namespaces of its own, where it can die as a whole, or a plain slurmd on this machine."""

import os
import pathlib
import signal
import subprocess

from bed.errors import BedError, UsageError
from bed.machine import find
from bed.processes import Daemon, children, last_lines, wait_until

NODE_PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "node"
PATIENCE_S = 60


class SpaceNode:
    """A node with its own name, network, processes, /tmp and /dev/shm. Its first process takes our orders."""

    def __init__(self, plan, node, environment):
        self._plan, self._node, self._environment = plan, node, environment
        self._space = None
        self.first_process = None

    @property
    def name(self):
        return self._node.name

    def begin_boot(self):
        """Starts the first process; end_boot() waits for it, so that several nodes boot at the same time."""
        plan, node = self._plan, self._node
        self._space = Daemon(
            f"node {node.name}",
            ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
             NODE_PROGRAM, node.name, node.address, node.folder, plan.state, find("slurmd")],
            plan.log / f"{node.name}.log", self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end_boot(self, switch):
        self._answer()
        self.first_process = children(self._space.pid)[0]
        switch.connect({self.name: self.first_process})
        self._order("network")

    def start(self, switch):
        """Starts slurmd; boots the node first when it is down."""
        if self._space is None or not self._space.is_running():
            self.begin_boot()
            self.end_boot(switch)
        if not self.is_running():
            self._order("start")

    def kill(self):
        """Everything on the node is gone at once, as when it loses its power."""
        if self._space is not None and self._space.is_running():
            os.kill(self.first_process, signal.SIGKILL)
            self._space.end(signal.SIGCONT)  # unshare ends with its child

    def signal_slurmd(self, number):
        self._order(f"signal {signal.Signals(number).name.removeprefix('SIG')}")

    def is_running(self):
        return self._space is not None and self._space.is_running() and self._order("is_running") == "yes"

    def children(self):
        return [] if self._space is None else [self._space]

    def _order(self, line):
        try:
            self._space.stdin.write(f"{line}\n".encode())
            self._space.stdin.flush()
        except (AttributeError, BrokenPipeError):
            raise BedError(f"node {self.name} is down; next: start it") from None
        return self._answer()

    def _answer(self):
        line = self._space.stdout.readline().decode().strip()
        if not line:
            raise BedError(f"node {self.name} ended:\n{last_lines(self._space.log)}")
        return line


class PlainNode:
    """A slurmd with a port and folders of its own. Its jobs see this machine, and outlive it."""

    def __init__(self, plan, node, environment):
        self._plan, self._node, self._environment = plan, node, environment
        self._slurmd = None

    @property
    def name(self):
        return self._node.name

    def start(self, _switch):
        if not self.is_running():
            self._slurmd = Daemon(f"slurmd:{self.name}", [find("slurmd"), "-D", "-N", self.name],
                                  self._plan.log / f"{self.name}.log", self._environment)

    def kill(self):
        raise UsageError(f"a plain node cannot be killed as a whole; next: kill slurmd:{self.name}, or bring the bed "
                         "up with --mode namespaces (as root)")

    def signal_slurmd(self, number):
        if self.is_running():
            self._slurmd.send(number)

    def is_running(self):
        return self._slurmd is not None and self._slurmd.is_running()

    def children(self):
        return [] if self._slurmd is None else [self._slurmd]


def wait_for_end(node):
    wait_until(lambda: not node.is_running(), PATIENCE_S, f"the end of slurmd:{node.name}")
