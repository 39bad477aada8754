"""Two nodes of a cluster on this machine: network namespaces with a cable between them, a token bucket at both ends."""

import os
import shutil
import subprocess

NEEDED = (("ip", "iproute2"), ("tc", "iproute2"), ("nsenter", "util-linux"), ("unshare", "util-linux"))
# What ssh would do: start a command on a host.
AGENT = """#!/bin/sh
host=$1
shift
exec nsenter --net="/var/run/netns/$host" unshare --uts sh -c 'hostname "$0" && exec sh -c "$*"' "$host" "$@"
"""
ON_NODE = 'hostname "$0" && exec "$@"'


def obstacle():
    """Why this machine cannot have them, or None."""
    if os.geteuid() != 0:
        return "nodes with a network of their own need root"
    for program, package in NEEDED:
        if shutil.which(program) is None:
            return f"there is no {program} in PATH (package {package})"
    return None


class Nodes:
    """Two of them, for as long as `stack` is not closed. mpirun of Open MPI, started on the first, puts a rank on each."""

    def __init__(self, stack, folder):
        self.names = [f"slipway-{os.getpid()}-{number}" for number in (0, 1)]
        for name in self.names:
            stack.callback(subprocess.run, ["ip", "netns", "del", name], stderr=subprocess.DEVNULL)
            _run("ip", "netns", "add", name)
        _run("ip", "link", "add", "eth0", "netns", self.names[0], "type", "veth", "peer", "name", "eth0", "netns",
             self.names[1])
        for number, name in enumerate(self.names):
            _run("ip", "-n", name, "address", "add", f"10.78.0.{10 + number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _run("ip", "-n", name, "link", "set", device, "up")
        agent, hosts = folder / "agent", folder / "hosts"
        agent.write_text(AGENT)
        agent.chmod(0o755)
        hosts.write_text("".join(f"{name} slots=1\n" for name in self.names))
        self.environment = {"OMPI_MCA_plm_rsh_agent": str(agent), "OMPI_MCA_orte_default_hostfile": str(hosts),
                            "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self,vader",
                            "OMPI_MCA_btl_base_warn_component_unused": "0"}

    def set_link(self, mbit):
        for name in self.names:
            _run("ip", "netns", "exec", name, "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate",
                 f"{mbit}mbit", "burst", "256kb", "latency", "50ms")

    def on_first(self, words):
        return ["env", *(f"{name}={value}" for name, value in self.environment.items()), "nsenter",
                f"--net=/var/run/netns/{self.names[0]}", "unshare", "--uts", "sh", "-c", ON_NODE, self.names[0], *words]


def _run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
