"""Can this machine run a bed, and if not, why: the reason that a skipped test gives."""

import os
import pathlib
import platform
import shutil
import socket
import subprocess

from bed import accounting, plan as plans
from bed.errors import CannotHere

PACKAGES = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "sinfo": "slurm-client",
            "scontrol": "slurm-client"}
PLUGIN_FOLDERS = ("/usr/lib/*/slurm-wlm", "/usr/lib/slurm*", "/usr/lib64/slurm", "/usr/local/lib/slurm")

# One of each thing that a node in namespaces needs; all of it is gone when the command ends.
TRIAL = ("mount --bind /tmp /tmp && hostname trial && ip link add name bridge0 type bridge && "
         "ip link add name cable0 type veth peer name cable1")


def find(program):
    """The path of a program; also in the folders of administrators, which users do not search."""
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin")


def why_no_namespaces():
    """None when nodes can have namespaces of their own here, else the reason."""
    if os.geteuid() != 0:
        return "nodes in namespaces of their own need root"
    for program in ("unshare", "nsenter", "ip", "mount", "hostname"):
        if find(program) is None:
            return f"nodes in namespaces of their own need the program {program}"
    tried = subprocess.run(["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child",
                            "--mount-proc", "sh", "-c", TRIAL], capture_output=True, text=True)
    if tried.returncode != 0:
        said = tried.stderr.strip().splitlines() or ["it only says that it failed"]
        return f"nodes in namespaces of their own cannot be made here: {said[0]}"
    return None


def choose_mode(wanted):
    """`auto` takes namespaces where they can be had."""
    if wanted == plans.PLAIN:
        return plans.PLAIN
    reason = why_no_namespaces()
    if reason is None:
        return plans.NAMESPACES
    if wanted == plans.NAMESPACES:
        raise CannotHere(reason)
    return plans.PLAIN


def require(settings):
    """Throws CannotHere when a program or plugin is missing."""
    missing = sorted({package for program, package in PACKAGES.items() if find(program) is None})
    plugins = ["job_submit_lua.so"]
    if settings.burst_buffer != plans.NO_BUFFER:
        plugins.append(f"burst_buffer_{settings.burst_buffer}.so")
    if settings.gpus:
        plugins.append("gres_gpu.so")
    if not all(_has_plugin(name) for name in plugins):
        missing.append("slurm-wlm-basic-plugins")
    if settings.accounting:
        missing += sorted(accounting.missing_packages(find, _has_plugin))
    if missing:
        raise CannotHere(f"Slurm is not complete here; next: apt-get install {' '.join(missing)}")


def _has_plugin(name):
    root = pathlib.Path("/")
    return any((folder / name).exists() for pattern in PLUGIN_FOLDERS for folder in root.glob(pattern[1:]))


def own_address():
    """The address that the machine's name leads to; None when it leads nowhere."""
    try:
        return socket.gethostbyname(platform.node())
    except OSError:
        return None
