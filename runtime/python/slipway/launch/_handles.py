"""A run as seen from Python: its state, its end, its logs. Any process can make one from the id."""

import html
import json
import os
import pathlib

from slipway.launch import _command, errors

ENDED = ("succeeded", "failed", "cancelled", "lost")


def find(id, runs=None):
    """The status document of a run, by id, unique prefix, folder or 'last'. Errors: UsageError."""
    return _command.call("status", id, runs=runs)


def end_error(handle, status):
    """The exception for a run that has ended without success."""
    phase, reason = status["phase"], status.get("reason") or "no reason is known"
    kind, next_step = {
        "cancelled": (errors.JobCancelledError, f"slipway resume {handle.folder} continues it"),
        "lost": (errors.JobLostError, f"slipway resume {handle.folder} continues it"),
    }.get(phase, (errors.JobFailedError, f"slipway explain {handle.folder} says more; see also logs()"))
    detail = status.get("detail") or ""
    return kind(f"{handle.id} {'has' if phase == 'failed' else 'is'} {phase}: {reason}" +
                (f"\n{detail}" if detail else ""), next_step, handle, status)


def table(rows):
    """A table of HTML with a heading in each row."""
    cells = "".join(f"<tr><th style='text-align:left'>{html.escape(str(name))}</th>"
                    f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>"


class Handle:
    """What jobs and runs have in common. `id` is the run's, `folder` the path of its folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.id = self.folder.name

    def status(self):
        """The document of `slipway status --json`."""
        return _command.call("status", self.folder)

    @property
    def state(self):
        """created, queued, staging, running, succeeded, failed, cancelled or lost."""
        return self.status()["phase"]

    def done(self):
        """Whether it has ended, however."""
        return self.state in ENDED

    def glance(self):
        """The same from one small file, for loops: False also for a run whose manager is gone."""
        try:
            return json.loads((self.folder / "state.json").read_text())["phase"] in ENDED
        except (OSError, ValueError, KeyError):
            return False

    def wait(self, timeout=None):
        """Waits for the end, `timeout` seconds at most. Returns whether it has ended."""
        if timeout is not None and timeout <= 0:
            return self.done()
        limit = [] if timeout is None else ["--timeout", f"{timeout:.3f}s"]
        try:
            _command.call("wait", self.folder, *limit)
            return True
        except errors.TryAgainError:
            return False

    def require_end(self, timeout):
        if not self.wait(timeout):
            raise errors.JobTimeoutError(f"{self.id} has not ended within {timeout} s: it is {self.state}",
                                         "wait longer, or read logs()")

    def cancel(self):
        """Ends it. Without effect on what has ended."""
        _command.call("cancel", self.folder)

    def logs(self, rank=None):
        """What its ranks have written so far, as one text; of one rank without a prefix."""
        return self._logs_of(rank)

    def _logs_of(self, rank, trial=None):
        chosen = [] if rank is None else ["--rank", rank, "--no-prefix"]
        chosen += [] if trial is None else ["--trial", trial]
        return _command.text_of("logs", self.folder, *chosen)

    def __eq__(self, other):
        return isinstance(other, Handle) and (self.id, self.folder) == (other.id, other.folder)

    def __hash__(self):
        return hash((self.id, os.fspath(self.folder)))

    def _shown_state(self):
        try:
            return self.state
        except errors.LaunchError as error:
            return f"unknown: {error.message}"

    def __repr__(self):
        return f"<{type(self).__name__} {self.id}: {self._shown_state()}>"

    def _rows(self):
        """Of the table in a notebook."""
        status = self.status()
        rows = [("run", self.id), ("state", status["phase"]), ("attempt", status.get("attempt")),
                ("started", status.get("started")), ("ended", status.get("ended")),
                ("reason", status.get("reason")), ("folder", self.folder)]
        return [(name, value) for name, value in rows if value not in (None, "")]

    def _repr_html_(self):
        try:
            return table(self._rows())
        except errors.LaunchError as error:
            return table([("run", self.id), ("error", error.message)])
