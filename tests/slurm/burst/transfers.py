"""Moves data into and out of buffers, as the user who owns the job: nobody stages what they may not read."""

import os
import pathlib
import pwd
import shutil

from store import StoreError, size_of


def become(uid, gid):
    """Gives the rights of this process up for those of a user, for good."""
    if os.geteuid() == 0 and uid != 0:
        try:
            os.initgroups(pwd.getpwuid(uid).pw_name, gid)
        except KeyError:
            os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def stage_in(transfer, buffer, faults):
    source, destination = pathlib.Path(transfer.outside), buffer.data / transfer.inside
    sources = _listed(source) if transfer.kind == "list" else [source]
    needed = sum(size_of(path) for path in sources)
    free = buffer.size - buffer.used()
    if needed > free:
        raise StoreError(f"stage_in of {source}: {needed} bytes into a buffer with {free} bytes free")
    for path in sources:
        _copy(transfer.kind, path, destination / path.name if transfer.kind == "list" else destination, faults)


def stage_out(transfer, buffer, faults):
    _copy(transfer.kind, buffer.data / transfer.inside, pathlib.Path(transfer.outside), faults)


def _listed(path):
    """The regular files that a list names, one a line."""
    paths = [pathlib.Path(line) for line in path.read_text().splitlines() if line]
    for listed in paths:
        if not listed.is_file():
            raise StoreError(f"{path}: {listed} is no regular file")
    return paths


def _copy(kind, source, destination, faults):
    def copy_file(source, destination):
        faults.check(pathlib.Path(source))
        shutil.copy2(source, destination)
        faults.spoil(pathlib.Path(destination))

    if kind == "directory" or (kind is None and source.is_dir()):
        if not source.is_dir():
            raise StoreError(f"{source} is no directory")
        shutil.copytree(source, destination, symlinks=True, dirs_exist_ok=True, copy_function=copy_file)
        return
    if not source.is_file():
        raise StoreError(f"{source} is no regular file")
    destination.parent.mkdir(parents=True, exist_ok=True)
    copy_file(source, destination)
