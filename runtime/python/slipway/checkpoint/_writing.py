"""The thread of one checkpoint: it stores the part of this rank. That of rank 0 publishes when all parts are there.

The ranks meet in the folder itself, because the training goes on and its collectives must not be mixed with others.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import threading
import time

from slipway import _calls, _crc32c, _files
from slipway.checkpoint import _folder, _shares

_PIECE = 8 << 20
_PAUSE_S = 0.01
# For the other ranks, after the end of this program, and after one by an error.
_PATIENCE_S = 60.0
_PATIENCE_AFTER_FAILURE_S = 5.0


@dataclasses.dataclass
class Job:
    """What is to be written. `files` are the small ones: name -> bytes."""

    prepared: pathlib.Path
    rank: int
    manifest: dict
    keep: _folder.Keep
    memory: object  # a tensor of uint8
    files: dict
    begun: float

    @property
    def step(self):
        return self.manifest["step"]

    def done_file(self, rank):
        return self.prepared / f".done-{rank:05}"


def _write_memory(path, memory):
    """Returns its entry for the manifest. Durable. Errors: OSError."""
    view, crc = memoryview(memory.numpy()), 0
    with open(path, "wb", buffering=0) as out:
        while len(view):
            piece = view[:_PIECE]
            written = out.write(piece)
            crc = _crc32c.crc32c(piece[:written], crc)
            view = view[written:]
        os.fsync(out.fileno())
    return {"path": path.name, "bytes": memory.numel(), "crc32c": crc}


def _store(job):
    """Writes the part of this rank; the last file says that all is there. Errors: OSError."""
    job.prepared.mkdir(parents=True, exist_ok=True)
    entries = [_write_memory(job.prepared / _shares.name_of(job.rank), job.memory)]
    for name, data in job.files.items():
        _files.write(job.prepared / name, data)
        entries.append({"path": name, "bytes": len(data), "crc32c": _crc32c.crc32c(data)})
    _files.write(job.done_file(job.rank), json.dumps(entries).encode())


def _publish(job):
    """Errors: OSError."""
    entries = []
    for rank in range(job.manifest["world_size"]):
        entries += json.loads(job.done_file(rank).read_bytes())
        job.done_file(rank).unlink()
    _files.sync_folder(job.prepared)
    _folder.publish(job.prepared, {**job.manifest, "seconds": time.monotonic() - job.begun,
                                   "files": sorted(entries, key=lambda entry: entry["path"])})
    _folder.prune(job.prepared.parent, job.keep)
    _folder.remove_unfinished(job.prepared.parent)


class Write(threading.Thread):
    """`stored`: this rank's part is written, or has failed. `failure`: why it is not published, as far as this rank knows.

    Not a daemon: the interpreter waits for it at the end of the program.
    """

    def __init__(self, job):
        super().__init__(name=f"slipway checkpoint {job.step}")
        self.job = job
        self.stored = threading.Event()
        self.failure = ""
        self._given_up = threading.Event()
        self._goes = threading.Event()

    def start(self):
        """The new thread first waits, or it would keep the interpreter's lock from the training for milliseconds."""
        super().start()
        self._goes.set()

    def give_up(self, failure):
        """A part of another rank will not come."""
        self.failure = failure
        self._given_up.set()

    def remove(self):
        """What a failure has left. Only when no rank writes any more, or its files would come again."""
        shutil.rmtree(self.job.prepared, ignore_errors=True)

    def run(self):
        self._goes.wait()
        try:
            self._guarded(_store)
        finally:
            self.stored.set()
        if self.job.rank == 0:
            self._finish()

    def _guarded(self, step):
        try:
            step(self.job)
        except OSError as error:
            where = f"'{error.filename}'" if error.filename else f"into '{self.job.prepared}'"
            self.failure = f"rank {self.job.rank} cannot write {where}: {error.strerror}"

    def _finish(self):
        if self.failure:
            return
        missing = self._wait_for_others()
        if not missing:
            self._guarded(_publish)
        elif not self.failure:
            self.failure = f"ranks {missing} have not written their parts"

    def _missing(self):
        return [rank for rank in range(self.job.manifest["world_size"]) if not self.job.done_file(rank).exists()]

    def _wait_for_others(self):
        """The ranks whose parts have not come when it makes no sense to wait any longer."""
        ended = None
        while missing := self._missing():
            if self._given_up.wait(_PAUSE_S):
                break
            if ended is None and not threading.main_thread().is_alive():
                ended = time.monotonic()
            patience = _PATIENCE_AFTER_FAILURE_S if _calls.Ending.failed() else _PATIENCE_S
            if ended is not None and time.monotonic() - ended > patience:
                break
        return missing
