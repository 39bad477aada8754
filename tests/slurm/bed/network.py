"""The switch between the nodes: a bridge in a network namespace of its own, with one cable to the machine's network.

The namespace lives in one process. When that ends, however it ends, the bridge and all cables are gone."""

import os
import subprocess

from bed.errors import BedError
from bed.processes import Daemon, wait_until

PATIENCE_S = 60


class Switch:
    """The network of a bed. The machine itself is its login node, under the plan's controller address."""

    def __init__(self, plan):
        self._plan = plan
        self.process = Daemon("the switch", ["unshare", "--net", "sleep", "infinity"], plan.log / "switch.log")
        wait_until(self._has_namespace, PATIENCE_S, "a network namespace for the switch", self.process)
        self._inside("link add name switch type bridge forward_delay 0", "link set switch up", "link set lo up")
        cable = plan.login_interface
        _ip([], f"link add name {cable} type veth peer name login netns {self.process.pid}",
            f"link set {cable} addrgenmode none",
            f"link set {cable} alias {plan.state}",  # so that people see whose it is
            f"address add {plan.controller_address}/24 dev {cable}",
            f"link set {cable} up")
        self._inside("link set login master switch", "link set login up")

    def connect(self, cables):
        """Gives each node of {name: process id} an interface eth0 and plugs its other end in."""
        self._inside(*(order for name, pid in cables.items() for order in (
            f"link add name {name} type veth peer name eth0 netns {pid}", f"link set {name} master switch",
            f"link set {name} up")))

    def cut(self, name):
        """Pulls the cable of a node out: nothing gets through and nobody is told."""
        self._inside(f"link set {name} nomaster")

    def mend(self, name):
        self._inside(f"link set {name} master switch")

    def end(self):
        """Removes the cable first: the kernel takes its time with a namespace that has ended."""
        _ip(["-force"], f"link delete {self._plan.login_interface}", may_fail=True)
        self.process.end()

    def _has_namespace(self):
        ours = os.readlink("/proc/self/ns/net")
        return os.readlink(f"/proc/{self.process.pid}/ns/net") != ours

    def _inside(self, *orders):
        _ip([], *orders, enter=["nsenter", f"--net=/proc/{self.process.pid}/ns/net"])


def _ip(options, *orders, enter=(), may_fail=False):
    done = subprocess.run([*enter, "ip", *options, "-batch", "-"], input="\n".join(orders) + "\n", capture_output=True,
                          text=True)
    if done.returncode != 0 and not may_fail:
        raise BedError(f"the network of the bed cannot be made: {done.stderr.strip()}")
