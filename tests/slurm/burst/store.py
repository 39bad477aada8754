"""The buffers of the stand-in: folders that are really made, filled, emptied and removed.

STORE/pool holds the pool's name and capacity. STORE/TOKEN/record.json tells of a buffer, STORE/TOKEN/data is it; the
token is the job's id, or the name of a persistent buffer."""

import json
import os
import pathlib
import re
import shutil
import time

GRANULARITY = 16 << 20  # bytes: sizes are multiples of it


class StoreError(Exception):
    """What Slurm is told as the reason."""


class Store:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        name, capacity_mib = (self.folder / "pool").read_text().split()
        self.pool, self.capacity = name, int(capacity_mib) << 20

    def open_log(self):
        """The log of the calls, to be added to."""
        return open(self.folder / "calls", "a", encoding="utf-8")

    def buffers(self):
        """All buffers, oldest first."""
        found = []
        for record in self.folder.glob("*/record.json"):
            try:
                found.append(Buffer(record.parent))
            except FileNotFoundError:
                pass  # it is just being removed
        return sorted(found, key=lambda buffer: (buffer.record["created"], buffer.token))

    def find(self, token):
        """Throws when there is none; the words are those that Slurm takes for "already gone"."""
        if not re.fullmatch(r"[\w.-]+", token) or token.startswith("."):
            raise StoreError(f"{token} is no name of a buffer")
        if not (self.folder / token / "record.json").exists():
            raise StoreError(f"token not found: {token}")
        return Buffer(self.folder / token)

    def create(self, token, uid, gid, size, creator):
        """A new empty buffer that belongs to the user; a job that starts over gets a new one."""
        size = -(-size // GRANULARITY) * GRANULARITY
        free = self.capacity - sum(buffer.size for buffer in self.buffers() if buffer.token != token)
        if size > free:
            raise StoreError(f"the pool {self.pool} has {free} bytes free, {size} are asked for")
        folder = self.folder / token
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
        (folder / "data").mkdir(mode=0o700)
        os.chown(folder / "data", uid, gid)
        record = {"token": token, "uid": uid, "gid": gid, "size": size, "creator": creator, "created": int(time.time()),
                  "id": 1 + max((buffer.record["id"] for buffer in self.buffers()), default=0)}
        (folder / "record.new").write_text(json.dumps(record))
        (folder / "record.new").rename(folder / "record.json")
        return Buffer(folder)


class Buffer:
    def __init__(self, folder):
        self._folder = folder
        self.record = json.loads((folder / "record.json").read_text())

    @property
    def token(self):
        return self.record["token"]

    @property
    def size(self):
        return self.record["size"]

    @property
    def data(self):
        return self._folder / "data"

    def used(self):
        return size_of(self.data)

    def destroy(self):
        (self._folder / "record.json").unlink()
        shutil.rmtree(self._folder)


def size_of(path):
    """Bytes in all files of a tree; that of a file."""
    if not path.is_dir():
        return path.lstat().st_size
    return sum(size_of(entry) for entry in path.iterdir())
