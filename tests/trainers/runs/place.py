"""A place for runs of the trainers: made data, specs, and the real program, started as a user starts it."""

import hashlib
import json
import os
import pathlib
import subprocess

import numpy
import slipway.data
import yaml

PROGRAM = os.environ["SLIPWAY_PROGRAM"]
ENDINGS = {"hdf5": "h5", "tfrecord": "tfrecord"}


def slipway_command(*words, check=True, cwd=None):
    """`slipway WORDS`: its standard output. Fails the test when the program does and `check` says so."""
    ended = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, cwd=cwd)
    assert not check or ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def twin(trainer):
    """The trainer in Python, as `write` and `run` of a place take it."""
    return f"slipway.trainers.{trainer}"


def program(trainer, python="/usr/bin/python3"):
    """`train` of a spec, for a trainer in C++, its twin, or the words of a command."""
    if isinstance(trainer, list):
        return {"command": trainer}
    return {"command": [python, "-m", trainer]} if "." in trainer else {"program": trainer}


class Dataset:
    """What `slipway data make` has made: a directory for training and one for tests."""

    def __init__(self, folder, kind, **options):
        self.format = options.get("format", "hdf5" if kind == "hepcnn" else "tfrecord")
        made = folder / "made"
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        slipway_command("data", "make", kind, *words, made)
        self.folder = folder
        for part in ("train", "test"):
            (folder / part).mkdir()
            for file in made.glob(f"{part}-*"):
                file.rename(folder / part / file.name)

    def section(self):
        """`data` of a spec."""
        return {part: {"source": str(self.folder / part / f"*.{ENDINGS[self.format]}"), "format": self.format, "tier": "none"}
                for part in ("train", "test") if any((self.folder / part).iterdir())}

    def read(self, part, *fields):
        """Whole fields, in the order of the records."""
        reader = slipway.data.open(str(self.folder / part), batch=1, order="in_order", epochs=1, fields=list(fields))
        rows = [[numpy.array(batch[field]) for field in fields] for batch in reader]
        return [numpy.concatenate(column) for column in zip(*rows)]


class Run:
    """A run folder."""

    def __init__(self, answer):
        assert "folder" in answer, answer
        self.state = answer
        self.folder = pathlib.Path(answer["folder"])

    @property
    def phase(self):
        return self.state["phase"]

    @property
    def said(self):
        """Why it ended, with the last lines of the rank that failed."""
        return f"{self.state.get('reason')}: {self.state.get('detail')}"

    @property
    def attempts(self):
        return sorted(self.folder.glob("attempt-*"))

    def log(self, rank=0):
        return "".join((attempt / f"rank-{rank:05}.log").read_text() for attempt in self.attempts)

    def lines(self):
        """All that was reported: (step, name, value), whole lines only."""
        found = []
        for attempt in self.attempts:
            file = attempt / "metrics.jsonl"
            for line in file.read_text().split("\n")[:-1] if file.exists() else []:
                line = json.loads(line)
                found += [(line["step"], name, value) for name, value in line["metrics"].items()]
        return found

    def values(self, metric):
        return [value for _, name, value in self.lines() if name == metric]

    def last(self, metric):
        return self.values(metric)[-1]

    def events(self):
        return [json.loads(line) for line in (self.folder / "events.jsonl").read_text().splitlines()]

    def checkpoints(self):
        return sorted(path for path in (self.folder / "checkpoints").glob("step-*") if (path / "manifest.json").exists())

    def weights(self, file="model.pt"):
        """The digest of a file of the newest checkpoint."""
        return hashlib.sha256((self.checkpoints()[-1] / file).read_bytes()).hexdigest()


class Place:
    """Where the runs of one test lie."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, trainer, dataset, args, ranks=1, name="exp", **sections):
        """A spec; `sections` replace or extend its own."""
        train = {**program(trainer), "args": args, **sections.pop("train", {})}
        data = dataset.section() if dataset else {}
        spec = {"name": name, "data": data, "launch": {"engine": "local", "ranks_per_node": ranks},
                "train": train, **sections}
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(spec))
        return file

    def run(self, *spec, **sections):
        return Run(self.answer("run", self.write(*spec, **sections)))

    def resume(self, run, *words):
        return Run(self.answer("resume", run.folder, *words))

    def answer(self, *words):
        return json.loads(slipway_command(*words, "--json", check=False, cwd=self.folder))

    def start(self, spec):
        """`slipway run` in the background."""
        return subprocess.Popen([PROGRAM, "run", str(spec)], cwd=self.folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def runs(self):
        return [Run(json.loads((folder / "state.json").read_text()) | {"folder": str(folder)})
                for folder in sorted((self.folder / "runs").glob("*")) if (folder / "state.json").exists()]
