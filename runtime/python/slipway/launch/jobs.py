"""Functions and commands as jobs: submit, map, and what becomes of them."""

import contextlib
import json
import os
import pathlib
import sys
import time
from typing import NamedTuple

from slipway.launch import _calls, _checkpoint, _command, _handles, _pickles, _rank, _results, _spec, errors

_RANK_PROGRAM = os.path.abspath(_rank.__file__)
_TRIAL_STATES = {"complete": "succeeded", "failed": "failed", "pruned": "failed", "cancelled": "cancelled",
                 "running": "running"}
# A loop that asks the program waits ever longer, and so many times longer than an answer took: Slurm answers, too.
_PAUSE_PER_ANSWER, _GROWTH, _SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 5, 1.3, 0.05, 5.0
_ASK_EVERY_S = 2.0


class CommandResult(NamedTuple):
    """How a command ended: its exit status (negative: the signal), and the files it left."""

    exit_status: int
    outputs: list  # paths of what lies in SLIPWAY_OUTPUT_DIR
    logs: list  # paths of the output of each rank
    folder: pathlib.Path


def _exit_status(status):
    """Of the program; nothing when it was not the program that ended the run."""
    if status["phase"] == "succeeded":
        return 0
    cause = status.get("cause") or {}
    if cause.get("kind") != "rank_failed":
        return None
    ended = cause["status"]
    return -ended["signal"] if ended["signal"] else ended["exit_code"]


def _plan_of(folder):
    return json.loads((folder / "plan.json").read_text())


class _Pauses:
    """How long a loop waits until it asks again."""

    def __init__(self):
        self.reset()

    def reset(self):
        self._last_s = _SHORTEST_PAUSE_S / _GROWTH

    def after(self, begun):
        """The pause after an answer that was asked for at `begun`."""
        taken = time.monotonic() - begun
        self._last_s = min(max(_PAUSE_PER_ANSWER * taken, self._last_s * _GROWTH), _LONGEST_PAUSE_S)
        return self._last_s


class Job(_handles.Handle):
    """A function or a command that runs, or has run. `Job.from_id(job.id)` finds it again in any process."""

    @classmethod
    def from_id(cls, id, runs=None):
        """The job of a run by its id or folder, or call N of a map by RUN/N. Errors: UsageError."""
        run, _, number = str(id).rpartition("/")
        if run and number.isdigit() and not pathlib.Path(id).exists():
            return _call_of_map(_handles.find(run, runs)["folder"], int(number))
        status = _handles.find(id, runs)
        job = Job(status["folder"])
        if status["ensemble"] and job._is_call():
            raise errors.LaunchError(f"{job.id} is a map of {_calls_of(job.folder)} calls",
                                     f"name one of them: Job.from_id('{job.id}/0')")
        return job

    def _ranks(self):
        launch = _plan_of(self.folder)["spec"]["launch"]
        return launch["nodes"] * launch["ranks_per_node"]

    def _is_call(self):
        """Whether a function runs, and not a command."""
        words = _plan_of(self.folder)["spec"]["train"].get("command") or []
        return len(words) > 1 and words[1].endswith(os.path.join("slipway", "launch", "_rank.py"))

    def _outputs(self):
        return self.folder / "outputs"

    def _command_result(self, status):
        exit_status = _exit_status(status)
        if exit_status is None:
            raise _handles.end_error(self, status)
        attempt = self.folder / f"attempt-{status['attempt']}"
        return CommandResult(exit_status, sorted(self._outputs().glob("*")), sorted(attempt.glob("rank-*.log")),
                             self.folder)

    def _failure(self, status):
        """The exception that the function raised: of rank 0, of the rank that ended first, of any other. Nothing when
        it has returned on every rank: the time limit came while the ranks ended."""
        first, returned = (status.get("cause") or {}).get("rank") or 0, 0
        for rank in sorted(range(self._ranks()), key=lambda rank: (rank != 0, rank != first, rank)):
            result = _results.read(self._outputs(), rank, status["attempt"])
            if result is not None and result.outcome == "exception":
                return result.exception()
            returned += result is not None and result.outcome == "value"
        return None if returned == self._ranks() else _handles.end_error(self, status)

    def _end(self, timeout):
        self.require_end(timeout)
        return self.status()

    def result(self, timeout=None):
        """What the function returned on rank 0, or the CommandResult of a command.

        Errors: the exception of the function, with the remote traceback as its cause; JobError when there is no
        result; JobTimeoutError after `timeout` seconds; ResultError for a result that cannot be read here.
        """
        return self._result_of(0, self._end(timeout))

    def _result_of(self, rank, status):
        if not self._is_call():
            return self._command_result(status)
        failure = self._failure(status) if status["phase"] != "succeeded" else None
        if failure is not None:
            raise failure
        return _results.read_expected(self._outputs(), rank, status["attempt"]).value()

    def results(self, timeout=None):
        """What the function returned on each rank, in their order. Errors: as `result`."""
        status = self._end(timeout)
        if not self._is_call():
            return [self._command_result(status)]
        return [self._result_of(rank, status) for rank in range(self._ranks())]

    def exception(self, timeout=None):
        """The exception that `result` would raise, or None. Errors: JobTimeoutError."""
        try:
            self.result(timeout)
        except errors.JobTimeoutError:
            raise
        except Exception as error:  # of the function, whatever it is
            return error
        return None

    def __await__(self):
        import asyncio  # not in every rank, which imports this module too
        return asyncio.get_running_loop().run_in_executor(None, self.result).__await__()


def _has_ended(trial):
    return _TRIAL_STATES.get(trial["state"]) in _handles.ENDED


class MappedJob(Job):
    """One call of a map: a trial of an ensemble. `run` is the ensemble; `run.cancel()` ends all calls."""

    def __init__(self, folder, number):
        super().__init__(folder)
        self.run = _handles.Handle(folder)
        self.number = number
        self.id = f"{self.folder.name}/{number}"

    def _outputs(self):
        return self.folder / "trials" / f"{self.number:05}" / "outputs"

    def _trial(self):
        """Its document; one that says `queued` while the trial book has not heard of it."""
        try:
            return _command.call("trials", "show", self.number, self.folder)
        except (errors.UsageError, errors.CommandFailedError, errors.TryAgainError):
            return {"state": "queued", "reason": "", "attempts": []}

    def status(self):
        """Of the call: `phase`, `reason` and `attempt`, and the document of its trial as `trial`."""
        trial, run = self._trial(), {"phase": "running"}
        if not _has_ended(trial):
            run = self.run.status()
            trial = self._trial() if run["phase"] in _handles.ENDED else trial  # it may have ended in between
        attempts = [each["attempt"] for each in trial["attempts"]]
        rest = {"trial": trial, "attempt": max(attempts, default=0)}
        if run["phase"] in _handles.ENDED and not _has_ended(trial):
            phase = run["phase"] if run["phase"] in ("lost", "failed") else "cancelled"
            return {"phase": phase, "reason": run["reason"], **rest}
        return {"phase": self._phase_of(trial["state"]), "reason": trial["reason"], **rest}

    def _phase_of(self, state):
        phase = _TRIAL_STATES.get(state, "queued")
        return "cancelled" if phase == "failed" and self._was_cancelled() else phase

    def _was_cancelled(self):
        try:
            result = _results.read(self._outputs(), 0)
        except errors.ResultError:
            return False
        return result is not None and result.outcome == "cancelled"

    def _cancel_file(self):
        return _rank.cancel_file(_plan_of(self.folder)["spec"]["train"]["command"][2], self.number)

    def wait(self, timeout=None):
        deadline, pauses = None if timeout is None else time.monotonic() + timeout, _Pauses()
        while True:
            begun = time.monotonic()
            if self.done():
                return True
            left = _LONGEST_PAUSE_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, pauses.after(begun)))

    def cancel(self):
        """Ends this call, or keeps it from starting: it looks for the request once a second."""
        if not self.done():
            with contextlib.suppress(FileNotFoundError):  # all calls have succeeded by now
                self._cancel_file().touch(mode=0o600)

    def logs(self, rank=None):
        try:
            return self._logs_of(rank, self.number)
        except errors.UsageError:
            return ""  # it has not started

    def _rows(self):
        status = self.status()
        return [("call", self.id), ("state", status["phase"]), ("attempt", status["attempt"]),
                ("reason", status["reason"]), ("folder", self._outputs().parent)]


def _calls_of(folder):
    return _plan_of(pathlib.Path(folder))["trials"]


def _call_of_map(folder, number):
    count = _calls_of(folder)
    if count is None or number >= count:
        raise errors.LaunchError(f"run {pathlib.Path(folder).name} has no call {number}, but {count or 0} calls",
                                 "count from 0, or name the run alone")
    return MappedJob(folder, number)


def _is_command(what):
    return isinstance(what, (list, tuple))


def _require_callable(what, wanted):
    if not callable(what):
        raise TypeError(f"cannot start {what!r}: give {wanted}")


def _command_words(words):
    """A program with a slash starts at the working directory, as in a shell."""
    first = os.fspath(words[0])
    return [os.path.abspath(first) if "/" in first else first, *(os.fspath(word) for word in words[1:])]


def _with_checkpoint(function, spec):
    """The launcher asks a function that can save by a signal, and continues it after a time limit."""
    if _checkpoint.can_checkpoint(function):
        spec["checkpoint"] = {"signal": _checkpoint.SIGNAL, "on_time_limit": "requeue", **spec.get("checkpoint", {})}
    return spec


def _start(folder, spec, runs):
    return _command.call_aloud("submit", folder / "spec.yaml", *_spec.write(folder, spec), runs=runs)["folder"]


def _rank_words(folder, *more):
    return [_spec.literal_word(word) for word in (sys.executable, _RANK_PROGRAM, folder)] + list(more)


def submit(function, *args, runs=None, **resources):
    """Starts `function(*args)` or a command, a list of words, as a job that outlives this process.

    `resources` have the names of the spec's fields: nodes, ranks_per_node, cpus_per_rank, gpus_per_rank, time_limit,
    engine, env, slurm, name, tags and others. `runs` is the folder of the runs where it is not the usual one.
    Errors: NotPicklableError; SpecError for a value that does not fit; CommandError.
    """
    _pickles.require_guard()
    command = _is_command(function)
    if command and args:
        raise TypeError("a command has no arguments beside its words: put them into the list")
    if command and not function:
        raise TypeError("the command is empty: give a list of words")
    if not command:
        _require_callable(function, "a list of words, or a callable")
    spec = _spec.fields_of(resources)
    title = os.path.basename(os.fspath(function[0])) if command else _calls.name_of(function)
    spec = {"name": _spec.name_of(title), **spec}
    with _calls.new_folder(spec["name"], runs) as folder:
        if command:
            words = [_spec.literal_word(word) for word in _command_words(function)]
        else:
            _calls.write(folder, function, [args])
            words, spec = _rank_words(folder), _with_checkpoint(function, spec)
        return Job(_start(folder, {**spec, "train": {"command": words}}, runs))


def _space_of(count):
    return {"call": {"int": [0, count - 1]} if count > 1 else {"choice": [0]}}


def _as_ensemble(spec, count, parallel):
    """A trial for each call. The time limit is that of a call; with `placement: job` that is the limit of its job."""
    ensemble = {"objective": {"metric": "seconds"}, "sampler": "grid", "parallel": parallel,
                "stop_on_same_failure": 0, "space": _space_of(count), **spec.pop("ensemble", {})}
    limit = spec["launch"].get("time_limit")
    if limit is not None and ensemble.get("placement") != "job":
        ensemble["time_limit"] = spec["launch"].pop("time_limit")
    return {**spec, "ensemble": ensemble}


def map(function, *iterables, parallel="auto", runs=None, **resources):
    """Starts `function` for each tuple of arguments, `parallel` at a time. Returns their jobs, in order.

    The calls are the trials of one ensemble, so a manager that outlives this process keeps the limit, and the calls
    share one allocation of Slurm. `placement="job"` gives each call a Slurm job of its own. Errors: as `submit`.
    """
    _pickles.require_guard()
    _require_callable(function, "a callable")
    calls = list(zip(*iterables))
    if not calls:
        return []
    spec = {"name": _spec.name_of(_calls.name_of(function)), **_spec.fields_of(resources, *_spec.ENSEMBLE)}
    spec = _as_ensemble(_with_checkpoint(function, spec), len(calls), parallel)
    with _calls.new_folder(spec["name"], runs) as folder:
        _calls.write(folder, function, calls)
        run = _start(folder, {**spec, "train": {"command": _rank_words(folder, "{call}")}}, runs)
    return [MappedJob(run, number) for number in range(len(calls))]


def _ended_of_map(folder, jobs):
    """Those of one map that have ended, by one question."""
    phase = jobs[0].run.state
    if phase in _handles.ENDED:
        return jobs
    try:
        states = {row["trial"]: row["state"] for row in _command.call("trials", "ls", folder)["trials"]}
    except (errors.UsageError, errors.CommandFailedError, errors.TryAgainError):
        return []  # there is no trial book yet
    return [job for job in jobs if _TRIAL_STATES.get(states.get(job.number)) in _handles.ENDED]


def _ended_of_runs(jobs, asked):
    """Those whose file says so; of the others one is asked about each time, since its manager may be gone."""
    ended = [job for job in jobs if job.glance()]
    others = [job for job in jobs if job not in ended]
    oldest = min(others, key=lambda job: asked.get(job, 0.0), default=None)
    if oldest is not None and time.monotonic() - asked.get(oldest, 0.0) > _ASK_EVERY_S:
        asked[oldest] = time.monotonic()
        if oldest.done():
            ended.append(oldest)
    return ended


def _ended(jobs, asked):
    maps = {}
    for job in jobs:
        if isinstance(job, MappedJob):
            maps.setdefault(job.folder, []).append(job)
    ended = _ended_of_runs([job for job in jobs if not isinstance(job, MappedJob)], asked)
    for folder, of_map in maps.items():
        ended += _ended_of_map(folder, of_map)
    return ended


def as_completed(jobs, timeout=None):
    """The jobs in the order of their ends. Errors: JobTimeoutError when `timeout` seconds are over before the last."""
    left, asked, pauses = list(dict.fromkeys(jobs)), {}, _Pauses()
    deadline = None if timeout is None else time.monotonic() + timeout
    while left:
        begun = time.monotonic()
        ended = set(_ended(left, asked))
        yield from (job for job in left if job in ended)
        left = [job for job in left if job not in ended]
        if left and deadline is not None and time.monotonic() >= deadline:
            raise errors.JobTimeoutError(f"{len(left)} of the jobs have not ended within {timeout} s",
                                         "wait longer, or cancel them")
        if ended:
            pauses.reset()
        elif left:
            time.sleep(pauses.after(begun))
