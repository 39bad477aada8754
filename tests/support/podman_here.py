"""Podman with storage of its own, and what a machine needs on which it may raise no limits and has the older cgroups."""

import os
import shutil
import subprocess

IMAGE = "localhost/slipway-test"
CONTAINER = {"image": IMAGE, "runtime": "podman"}
CONF = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
runtime = "{runtime}"
"""
STORAGE = """
[storage]
driver = "vfs"
graphroot = "{folder}/images"
runroot = "{folder}/run"
"""


class CannotRun(Exception):
    """Says why."""


def settle(folder, image):
    """Imports the directory `image`. Returns the environment that podman, and whoever starts it, is to have."""
    if not shutil.which("podman"):
        raise CannotRun("the Debian package podman is not installed")
    (folder / "storage.conf").write_text(STORAGE.format(folder=folder))
    settings = {"CONTAINERS_CONF": str(folder / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf")}
    said = ""
    for runtime in ("crun", "runc"):
        (folder / "containers.conf").write_text(CONF.format(runtime=runtime))
        packed = subprocess.run(["tar", "-C", image, "-c", "."], capture_output=True, check=True)
        for words, given in ((["import", "-", IMAGE], packed.stdout),
                             (["run", "--rm", "--network=host", "--ipc=host", "--pid=host", "--volume", "/usr:/usr", IMAGE, "true"],
                              None)):
            done = subprocess.run(["podman", *words], input=given, capture_output=True, timeout=100, env=_with(settings))
            said = done.stderr.decode()
            if done.returncode != 0:
                break
        else:
            return settings
    raise CannotRun(f"podman cannot run a container here: {said.strip()}")


def leave(settings):
    subprocess.run(["podman", "rmi", "--force", IMAGE], capture_output=True, timeout=100, env=_with(settings))


def _with(settings):
    return {**os.environ, **settings}
