"""Ask and tell: a program of one's own runs the trials of an ensemble, in a loop of its own.

    import slipway
    with slipway.Study("exp.yaml") as study:  # or the folder or id of a run
        for trial in study:
            for epoch in range(10):
                loss = train(**trial.parameters)
                if trial.report(epoch, loss) != "continue":
                    break
            trial.tell(loss)
        print(study.best)

What is asked and told is in the run's trial book before a call returns, so nothing that was told is lost, whatever
dies. The class speaks with `slipway trials serve`, a process of its own; it needs neither MPI nor libslipway.
"""

import json
import math
import pathlib
import subprocess
import threading

from slipway import _program as _program_file
from slipway.errors import SlipwayError

# Longer than the book waits for a slow disk or a locked file.
_PATIENCE_S = 60


class StudyError(SlipwayError):
    """A request was refused, or the study cannot be opened. `next_step` says what to do, where that is known."""

    def __init__(self, message, next_step=""):
        super().__init__(f"{message}\n  {next_step}" if next_step else message)
        self.next_step = next_step


class StudyBusyError(StudyError):
    """Another process manages the ensemble; the message names it."""


class StudyEndedError(StudyError):
    """The serving process has ended, or the study was closed. What was told before is in the trial book."""


def _program():
    found = _program_file.find()
    if found is None:
        raise StudyError("the program slipway is not found", _program_file.NEXT_STEP)
    return found


def _number(value):
    """As a request writes it: JSON has no numbers for NaN and the infinities."""
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def _plain(value):
    """The Python number of one of NumPy or torch, for JSON. Errors: StudyError."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    raise StudyError(f"a value of type {type(value).__name__} cannot be handed over", "use a number, a text or a bool")


def _error_in(document):
    """The exception for a slipway.error/1 document."""
    kind = StudyBusyError if document.get("kind") == "busy" else StudyError
    return kind(document.get("message", "the study has ended"), document.get("next_step", ""))


class _Server:
    """The process `slipway trials serve`: a request goes in, its answer comes out. Threads take turns."""

    def __init__(self, target, runs):
        command = [_program(), "--json"] + (["--runs-dir", str(runs)] if runs is not None else [])
        # In a session of its own: Ctrl-C is for the loop, whose end the server sees at its standard input.
        self._process = subprocess.Popen(command + ["trials", "serve", str(target)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
                                         start_new_session=True)
        self._turn = threading.Lock()
        self.introduction = self._answer()

    def request(self, **request):
        with self._turn:
            if self._process.stdin.closed:
                raise StudyEndedError("the study was closed")
            try:
                self._process.stdin.write(json.dumps(request, allow_nan=False, default=_plain) + "\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                pass  # it has said why before it ended
            answer = self._answer()
        if "error" in answer:
            raise StudyError(answer["error"], answer.get("next_step", ""))
        return answer

    def _answer(self):
        """An answer is one line. What ends the process is a document of several lines, its last words."""
        line = self._process.stdout.readline()
        try:
            return json.loads(line)
        except ValueError:
            pass
        last_words = line + self._process.stdout.read()
        self._end()
        try:
            raise _error_in(json.loads(last_words))
        except ValueError:
            status = self._process.returncode
            raise StudyEndedError(f"slipway trials serve has ended with status {status}") from None

    def _end(self):
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def close(self):
        with self._turn:
            if not self._process.stdin.closed:
                self._end()


class Trial:
    """A trial to run: `parameters` is a dict. Exactly one of tell, fail and prune ends it.

    As a context manager it fails, with the exception as its reason, when its block does. Ctrl-C is no failure: the
    trial stays untold, and the next session gives it out again.
    """

    def __init__(self, server, asked):
        self._server = server
        self.number = asked["trial"]
        self.attempt = asked["attempt"]  # above 1: it goes on after a pause, or its earlier attempt was lost
        self.repeat = asked["repeat"]  # which of the runs of its configuration, from 0
        self.parent = asked.get("parent")  # of a population: the trial whose weights it begins with
        self.limit = asked.get("limit")  # where the scheduler may pause it next, in epochs or what it counts
        self.parameters = asked["parameters"]
        self.ended = False

    def __repr__(self):
        return f"Trial({self.number}, {self.parameters})"

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if isinstance(error, Exception) and not self.ended:
            self.fail(f"{kind.__name__}: {error}")
        return False

    def report(self, step, value=None, *, epoch=None, **metrics):
        """Hands over values of one step: of the first objective, and of other metrics by their names.

        Returns "continue", "stop" or "pause": what the scheduler wants. To stop is yours; tell the trial then.
        """
        request = {"do": "report", "trial": self.number, "attempt": self.attempt, "step": int(step)}
        if value is not None:
            request["value"] = _number(value)
        if epoch is not None:
            request["epoch"] = float(epoch)
        if metrics:
            request["metrics"] = {name: _number(each) for name, each in metrics.items()}
        return self._server.request(**request)["decision"]

    def tell(self, *values):
        """The trial is over, with a value for each objective; without any, what was reported counts.

        Returns the state: "complete", "failed" when a value is NaN or infinite, "pruned" or "paused" after such a
        decision.
        """
        return self._end(value=[_number(value) for value in values]) if values else self._end()

    def fail(self, reason):
        """The trial failed. Returns "queued" while `resilience.max_restarts` lets it be tried again, else "failed"."""
        return self._end(failed=str(reason))

    def prune(self):
        """The trial was not worth going on."""
        return self._end(pruned=True)

    def _end(self, **how):
        answer = self._server.request(do="tell", trial=self.number, attempt=self.attempt, **how)
        self.ended = True
        return answer["state"]


class Study:
    """The ensemble of a spec (a new run) or of a run, given by its folder or id, of which this process is the manager.

    `runs` is the folder of the runs where it is not the usual one. Threads may share a study.
    Errors: StudyError, with all errors of a spec; StudyBusyError while another process manages the run.
    """

    def __init__(self, target, *, runs=None):
        self._server = _Server(target, runs)
        self.run = self._server.introduction["run"]
        self.folder = pathlib.Path(self._server.introduction["folder"])
        self.objectives = self._server.introduction["objectives"]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __iter__(self):
        """The trials, until none may begin."""
        return iter(self.ask, None)

    def ask(self):
        """The next trial, or None: the ensemble is over, or waits for trials that run."""
        asked = self._server.request(do="ask")
        return None if asked["trial"] is None else Trial(self._server, asked)

    def enqueue(self, **parameters):
        """Lines up a configuration, which may leave parameters out. Returns the number of its trial.

        Values may be scalars of NumPy. Errors: StudyError: a value of another type, or one outside of the search space.
        """
        return self._server.request(do="enqueue", parameters=parameters)["trial"]

    @property
    def best(self):
        """Trial, objectives and parameters of the best complete trial so far; None before there is one."""
        best = self._server.request(do="best")
        return None if best["trial"] is None else best

    def close(self):
        """Ends the session. Trials that were not told are given out again by the next one."""
        self._server.close()
