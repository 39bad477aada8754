"""Children of the supervisor: started, ended by their ids, and none forgotten.

The supervisor adopts the orphans of everything below it, so a bed is exactly the processes below its supervisor."""

import ctypes
import os
import pathlib
import signal
import subprocess
import time

from bed.errors import BedError

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PAUSE_S = 0.005

_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans():
    """From now on, orphans below this process become its children instead of those of process 1."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent():
    """For a child between fork and exec: the kernel kills it when its parent ends, even by SIGKILL."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option, value):
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


class Daemon:
    """A program that stays in the foreground, in a session of its own, its output in a log file."""

    def __init__(self, name, command, log, environment=None, stdin=subprocess.DEVNULL, stdout=None):
        with open(log, "ab") as output:
            self._process = subprocess.Popen(
                [str(word) for word in command], stdin=stdin, stdout=stdout or output, stderr=output, env=environment,
                start_new_session=True, preexec_fn=die_with_parent, cwd="/")
        self.name = name
        self.log = pathlib.Path(log)

    @property
    def pid(self):
        return self._process.pid

    @property
    def stdin(self):
        return self._process.stdin

    @property
    def stdout(self):
        return self._process.stdout

    def is_running(self):
        return self._process.poll() is None

    def send(self, number):
        self._process.send_signal(number)

    def end(self, number=signal.SIGTERM, patience_s=30):
        """Sends a signal and waits; kills what does not end."""
        self._process.send_signal(signal.SIGCONT)
        self._process.send_signal(number)
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def wait_until(condition, patience_s, what, daemon=None):
    """Polls `condition`; throws BedError when it takes longer, or when the daemon that should bring it about ended."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if daemon is not None and not daemon.is_running():
            raise BedError(f"{daemon.name} ended while we waited for {what}:\n{last_lines(daemon.log)}")
        if time.monotonic() > deadline:
            said = "" if daemon is None else f"; {daemon.name} last said:\n{last_lines(daemon.log)}"
            raise BedError(f"{what}: not within {patience_s} s{said}")
        time.sleep(PAUSE_S)


def last_lines(path, count=10):
    try:
        lines = pathlib.Path(path).read_text(errors="replace").splitlines()[-count:]
    except OSError as error:
        lines = [str(error)]
    return "\n".join(f"  {line}" for line in lines)


def _parents():
    """{process id: id of its parent} of all processes here."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = pathlib.Path("/proc", entry, "stat").read_text(errors="replace")
            except OSError:
                continue  # it just ended
            parents[int(entry)] = int(stat[stat.rindex(")") + 2:].split()[1])
    return parents


def children(pid):
    return [child for child, parent in _parents().items() if parent == pid]


def descendants(pid):
    """All processes below `pid`."""
    below, parents = set(), _parents()
    frontier = {pid}
    while frontier:
        frontier = {child for child, parent in parents.items() if parent in frontier} - below
        below |= frontier
    return below


def reap(known):
    """Collects ended children: orphans itself, those in `known` by asking them (they have `pid` and `is_running()`)."""
    by_pid = {process.pid: process for process in known}
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None:
            return
        if ended.si_pid in by_pid:
            by_pid[ended.si_pid].is_running()
        else:
            os.waitpid(ended.si_pid, os.WNOHANG)


def kill_all_below(pid, patience_s=60):
    """Kills every process below `pid`, which must be this process, also those that appear meanwhile."""
    deadline = time.monotonic() + patience_s
    while left := descendants(pid):
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap(())
        if time.monotonic() > deadline:
            raise BedError(f"processes that do not end: {sorted(left)}")
        time.sleep(PAUSE_S)
