"""Recorded runs of a small program in a git repository, for tests of provenance and usage.

The program is a deterministic one in plain Python: it trains nothing, but writes weights that depend on each step."""

import json
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ["SLIPWAY_PROGRAM"])

TRAIN = """
import json, os, pathlib, random, struct, sys
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
generator = random.Random(int(arguments["--seed"]))
weights = [generator.random() for _ in range(100)]
with open(os.environ["SLIPWAY_METRICS"], "a") as metrics:
    for step in range(int(arguments["--steps"])):
        weights = [w - float(arguments["--lr"]) * generator.gauss(w, 1) for w in weights]
        values = {"loss": sum(weights), "images_per_second": 1}
        metrics.write(json.dumps({"time": 1.0, "step": step, "metrics": values}) + "\\n")
pathlib.Path(os.environ["SLIPWAY_OUTPUT_DIR"], "weights").write_bytes(struct.pack("100d", *weights))
"""


def spec(**more):
    return {"name": "small", "launch": {"engine": "local"},
            "train": {"command": ["python3", "train.py"], "args": {"seed": 1, "steps": 20, "lr": 0.1}}, **more}


def slipway(*words, status=0, cwd=None, env=None):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=100,
                          cwd=cwd, env={**os.environ, **(env or {})})
    assert status in (None, done.returncode), done.stdout + done.stderr
    return done


def git(place, *words):
    return subprocess.run(["git", "-C", place, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder in a git repository with one commit; nothing of the user's settings counts."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("GIT_DIR", "GIT_WORK_TREE", "OMP_NUM_THREADS", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a",
                        "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}.items():
        monkeypatch.setenv(name, value)
    repository = tmp_path / "project"
    repository.mkdir()
    (repository / "train.py").write_text(TRAIN)
    (repository / "exp.yaml").write_text(json.dumps(spec()))
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "first")
    monkeypatch.chdir(repository)
    return repository


def run(place, **options):
    """Runs exp.yaml; its folder."""
    return pathlib.Path(json.loads(slipway("run", "exp.yaml", "--json", cwd=place, **options).stdout)["folder"])


def recorded(folder):
    return json.loads((folder / "provenance.json").read_text())


def weights(folder):
    return (folder / "outputs" / "weights").read_bytes()
