"""Progress of a run: a table that changes in a notebook, a line for each change elsewhere."""

import importlib
import sys

from slipway.launch import _handles

_PAUSE_S = 1.0


def line_of(status):
    """One line about a run: its phase, its trials or its latest metrics."""
    words = [status["run"], status["phase"]]
    trials = status.get("trials")
    if trials:
        counts = trials.get("counts", {})
        ended = sum(counts.get(state, 0) for state in ("complete", "pruned", "failed", "cancelled"))
        words.append(f"{ended} of {trials['budget']} trials")
        if counts.get("failed"):
            words.append(f"{counts['failed']} failed")
        best = trials.get("best")
        if best:
            words.append(f"best {best['objective']:.6g}" if best.get("objective") is not None else "")
    elif status.get("metrics"):
        words += [f"{name} {value:.6g}" for name, value in status["metrics"].items()]
    return "  ".join(word for word in words if word)


class _Lines:
    """On standard error, one for each change."""

    def __init__(self):
        self._last = None

    def show(self, status):
        line = line_of(status)
        if line != self._last:
            print(line, file=sys.stderr, flush=True)
            self._last = line


class _Notebook:
    """One output of a cell, which is replaced."""

    def __init__(self, display):
        self._display = display
        self._shown = None

    def show(self, status):
        line = line_of(status)
        data = {"text/plain": line, "text/html": _handles.table(_rows(status))}
        if self._shown is None:
            self._shown = self._display(data, raw=True, display_id=True)
        else:
            self._shown.update(data, raw=True)


def _rows(status):
    return [("run", status["run"]), ("state", status["phase"]), ("progress", line_of(status)),
            ("folder", status["folder"])]


def display():
    """A notebook's or plain lines: only a kernel shows what is replaced."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return _Lines()
    return _Notebook(importlib.import_module("IPython.display").display)


def follow(run):
    """Shows a run until it ends. Returns its last status."""
    shown = display()
    while True:
        status = run.status()
        shown.show(status)
        if status["phase"] in _handles.ENDED:
            return status
        run.wait(_PAUSE_S)
