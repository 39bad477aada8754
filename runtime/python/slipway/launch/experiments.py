"""Experiments, described by YAML files, and their runs."""

import importlib
import json
import pathlib
import tempfile

from slipway.launch import _command, _handles, _progress, _spec, errors


def _frame(rows):
    """A pandas frame where pandas is installed, else the list of dicts."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def _number(value):
    """JSON has no numbers for NaN and the infinities."""
    return float(value) if isinstance(value, str) else value


def _columns_of(row):
    """A row of `slipway trials ls` as the columns of `slipway trials export`: objectives and parameters by name."""
    own = {"trial": row["trial"], "rank": row["rank"], "state": row["state"], "seconds": row["duration_s"],
           "attempts": row["attempts"], "reason": row["reason"].split("\n")[0]}
    columns = dict(own)
    for prefix, values, others in (("objective", row["objectives"], row["parameters"]),
                                   ("parameter", row["parameters"], row["objectives"])):
        for name, value in values.items():
            columns[f"{prefix}.{name}" if name in own or name in others else name] = value
    return columns


class Run(_handles.Handle):
    """A run of an experiment. `Run.from_id(id)` finds it again in any process."""

    @classmethod
    def from_id(cls, id, runs=None):
        """By id, unique prefix, folder or 'last'. Errors: UsageError."""
        return cls(_handles.find(id, runs)["folder"])

    def metrics(self):
        """Every reported value, as `slipway export --csv` has it: run, trial, attempt, metric, step, epoch, value,
        time."""
        with tempfile.TemporaryDirectory(prefix="slipway-") as place:
            file = pathlib.Path(place) / "metrics.jsonl"
            _command.call("export", self.folder, "--jsonl", file)
            rows = [json.loads(line) for line in file.read_text().splitlines()]
        return _frame([{**row, "value": _number(row["value"])} for row in rows])

    def trials(self):
        """The trials of an ensemble, best first; objectives and parameters are columns. Errors: UsageError."""
        return _frame([_columns_of(row) for row in _command.call("trials", "ls", self.folder)["trials"]])

    def best(self):
        """The best trial with `objectives` and `parameters`; None before one is complete. Errors: UsageError."""
        rows = _command.call("trials", "best", self.folder, "-n", 1)["trials"]
        return rows[0] if rows and rows[0]["rank"] is not None else None

    def report(self):
        """The path of the page that `slipway report` writes now."""
        return pathlib.Path(_command.text_of("report", self.folder, quiet=True).strip())

    def check(self):
        """Itself. Errors: JobError when it has ended without success."""
        status = self.status()
        if status["phase"] in _handles.ENDED and status["phase"] != "succeeded":
            raise _handles.end_error(self, status)
        return self

    def logs(self, rank=None, trial=None):
        """What its ranks have written so far, as one text; of an ensemble those of one trial."""
        return self._logs_of(rank, trial)

    def _rows(self):
        status = self.status()
        rows = super()._rows()
        return rows[:2] + [("progress", _progress.line_of(status))] + rows[2:]


class Experiment:
    """A spec with changes. `runs` is the folder of the runs where it is not the usual one."""

    def __init__(self, path, set=None, engine=None, runs=None):
        self.path = pathlib.Path(path)
        self._words = _spec.overrides_of(set or {}) + (["--engine", engine] if engine else [])
        self._runs = runs

    @classmethod
    def from_yaml(cls, path, set=None, engine=None, runs=None):
        """`set` changes fields, by dotted path or as nested dicts: {"train.args.epochs": 3, "launch": {"nodes": 2}}."""
        return cls(path, set, engine, runs)

    def _call(self, command, call=_command.call):
        return call(command, self.path, *self._words, runs=self._runs)

    def validate(self):
        """The document slipway.validate/1. Errors: SpecError with every error of the file."""
        return self._call("validate")

    def plan(self):
        """The document slipway.plan/1: every decision, and what would start. Starts nothing. Errors: SpecError."""
        return self._call("plan")

    def submit(self):
        """Starts it and returns its Run, which outlives this process. Errors: SpecError, EnvironmentFaultError."""
        return Run(self._call("submit", _command.call_aloud)["folder"])

    def run(self, progress=True, check=True):
        """Starts it, shows its progress, and returns its Run at the end. Ctrl-C cancels the run.

        Errors: as `submit`; with `check`, JobError when it does not succeed.
        """
        run = self.submit()
        try:
            if progress:
                _progress.follow(run)
            run.wait()
        except KeyboardInterrupt:
            run.cancel()
            raise
        return run.check() if check else run

    def __repr__(self):
        return f"Experiment({str(self.path)!r})"

    def _repr_html_(self):
        try:
            found = self.validate()
        except errors.LaunchError as error:
            return _handles.table([("experiment", self.path), ("error", str(error))])
        return _handles.table([("experiment", found["name"]), ("file", self.path), ("engine", found["engine"])])
