"""`slipway export` and live event files, read back by readers that share no code with the writers."""

import csv
import json
import math
import os
import pathlib
import signal

import event_files
import pytest
import yaml

from slipway_here import Place
from waiting import wait_for

TRAIN = """
for step in range(5):
    report(step, loss=1 / (step + 1), **({'acc/top1': float('nan')} if step == 3 else {}))
"""


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def trained(place):
    place.program(TRAIN)
    place.spec("description: A baseline\ntags: [paper]", args={"lr": 0.25, "opt": "adam", "deep": True})
    place.slipway("run", "spec.yaml")
    return place


@pytest.fixture
def searched(place):
    place.program("import sys\nlr = float(sys.argv[sys.argv.index('--lr') + 1])\n"
                  "for step in range(3):\n    report(step, loss=lr + 1 / (step + 1))\n"
                  "sys.exit(3 if lr > 8 else 0)\n")
    place.spec("ensemble:\n  objective: {metric: loss, goal: minimize}\n  sampler: grid\n"
               "  space: {lr: {choice: [1.0, 2.0, 9.0]}}\n  stop_on_same_failure: 0", args={"opt": "adam"})
    place.slipway("run", "spec.yaml")
    return place


def test_tensorboard_has_scalars_and_hyperparameters(trained):
    trained.slipway("export", "--tensorboard", "tb")
    found = event_files.sessions(trained.folder / "tb")
    assert set(found) == {".", "attempt-1"}
    session = found["attempt-1"]
    reported = [json.loads(line) for line in (trained.run() / "attempt-1/metrics.jsonl").read_text().splitlines()]
    loss = session.scalars["loss"]
    assert [(step, pytest.approx(value), pytest.approx(time)) for step, value, time in loss] == [
        (line["step"], line["metrics"]["loss"], line["time"]) for line in reported]
    (step, value, _), = session.scalars["acc/top1"]
    assert step == 3 and math.isnan(value), "NaN is kept"
    assert session.hparams == {"lr": 0.25, "opt": "adam", "deep": True}
    assert session.status == 1, "STATUS_SUCCESS"
    text, truth, number = 1, 2, 3
    assert found["."].columns["parameters"] == {"lr": number, "opt": text, "deep": truth}
    assert set(found["."].columns["metrics"]) == {"loss", "acc/top1"}


def test_tensorboard_has_a_folder_for_each_trial(searched):
    searched.slipway("export", "--tensorboard", "tb")
    found = event_files.sessions(searched.folder / "tb")
    assert set(found) == {".", "trial-00000", "trial-00001", "trial-00002"}
    by_lr = {session.hparams["lr"]: session for name, session in found.items() if name != "."}
    assert set(by_lr) == {1.0, 2.0, 9.0}
    assert {session.hparams["opt"] for session in by_lr.values()} == {"adam"}
    assert [session.status for session in by_lr.values()].count(1) == 2 and by_lr[9.0].status == 2
    assert event_files.steps(by_lr[1.0], "loss") == [0, 1, 2]
    assert len({session.group for session in by_lr.values()}) == 3
    assert found["."].columns["metrics"] == ["loss"]


def test_a_second_export_replaces_the_first(trained):
    trained.slipway("export", "--tensorboard", "tb")
    stale = trained.folder / "tb/attempt-1/stale"
    stale.write_text("x")
    marker = trained.folder / "tb/.slipway-export.json"
    document = json.loads(marker.read_text())
    marker.write_text(json.dumps({**document, "paths": document["paths"] + ["attempt-1/stale"]}))
    first = (trained.folder / "tb/attempt-1/events.out.tfevents.0000000001.slipway").read_bytes()
    trained.slipway("export", "--tensorboard", "tb")
    assert not stale.exists()
    assert (trained.folder / "tb/attempt-1/events.out.tfevents.0000000001.slipway").read_bytes() == first
    assert sorted(entry.name for entry in trained.folder.iterdir() if entry.name.startswith("tb")) == ["tb"]


def test_an_export_with_files_of_others_is_left_alone_without_force(trained):
    trained.slipway("export", "--tensorboard", "tb")
    trained.slipway("export", "--tensorboard", "tb/first")
    (trained.folder / "tb/notes.txt").write_text("years of work")
    trained.slipway("export", "--tensorboard", "tb", status=2)
    assert "--force" in trained.said and "'first'" in trained.said
    inner = json.loads((trained.folder / "tb/first/.slipway-export.json").read_text())
    assert "attempt-1" in inner["paths"]
    for _ in range(2):
        trained.slipway("export", "--tensorboard", "tb", "--force")
        assert (trained.folder / "tb/notes.txt").read_text() == "years of work"
        assert (trained.folder / "tb/first/.slipway-export.json").exists()
    trained.slipway("export", "--tensorboard", "tb", status=2)


def test_nothing_of_others_is_overwritten_without_force(trained):
    for name, option in (("tb", "--tensorboard"), ("ml", "--mlflow")):
        folder = trained.folder / name
        folder.mkdir()
        (folder / "thesis.tex").write_text("years of work")
        trained.slipway("export", option, name, status=2)
        assert "--force" in trained.said
        assert os.listdir(folder) == ["thesis.tex"]
        trained.slipway("export", option, name, "--force")
        assert (folder / "thesis.tex").read_text() == "years of work"
        assert len(os.listdir(folder)) > 1
    for name, option in (("x.csv", "--csv"), ("x.jsonl", "--jsonl")):
        (trained.folder / name).write_text("years of work")
        trained.slipway("export", option, name, status=2)
        assert (trained.folder / name).read_text() == "years of work"
        trained.slipway("export", option, name, "--force")
        trained.slipway("export", option, name)
    trained.slipway("export", status=2)


def test_tables_have_every_value(trained):
    trained.slipway("export", "--csv", "x.csv", "--jsonl", "x.jsonl")
    rows = list(csv.DictReader((trained.folder / "x.csv").open()))
    lines = [json.loads(line) for line in (trained.folder / "x.jsonl").read_text().splitlines()]
    assert len(rows) == len(lines) == 6
    assert [float(row["value"]) for row in rows if row["metric"] == "loss"] == [1 / (step + 1) for step in range(5)]
    assert [row["value"] for row in rows if row["metric"] == "acc/top1"] == ["nan"]
    assert [line["value"] for line in lines if line["metric"] == "acc/top1"] == ["NaN"]
    assert {row["trial"] for row in rows} == {""} and {line["trial"] for line in lines} == {None}


def test_values_that_a_pattern_found_in_trials_have_their_times(place):
    (place.folder / "spec.yaml").write_text(
        "name: printed\nlaunch: {engine: local}\ntrain:\n  command: [sh, -c, 'echo loss 1; echo loss 0.5']\n"
        "  metrics: {from: stdout, pattern: 'loss (?<loss>.+)'}\n"
        "ensemble:\n  objective: {metric: loss, goal: minimize}\n  sampler: grid\n  space: {x: {choice: [1, 2]}}\n")
    place.slipway("run", "spec.yaml")
    place.slipway("export", "--csv", "x.csv")
    rows = list(csv.DictReader((place.folder / "x.csv").open()))
    for trial in ("0", "1"):
        kept = (place.run() / f"trials/0000{trial}/attempt-1/metrics.jsonl").read_text().splitlines()
        times = [pytest.approx(json.loads(line)["time"], abs=0.001) for line in kept]
        assert [float(row["time"] or 0) for row in rows if row["trial"] == trial] == times


def read_store(folder):
    """What the file store of MLflow reads: experiments by name with their runs."""
    store = {}
    for meta in folder.glob("*/meta.yaml"):
        experiment = yaml.safe_load(meta.read_text())
        assert experiment["experiment_id"] == meta.parent.name and experiment["lifecycle_stage"] == "active"
        runs = {}
        for run in meta.parent.glob("*/meta.yaml"):
            info = yaml.safe_load(run.read_text())
            assert info["run_id"] == info["run_uuid"] == run.parent.name and info["experiment_id"] == meta.parent.name
            info["folder"] = run.parent
            for kind in ("params", "tags", "metrics"):
                info[kind] = {str(file.relative_to(run.parent / kind)): file.read_text()
                              for file in (run.parent / kind).rglob("*") if file.is_file()}
            runs[info["run_name"]] = info
        store[experiment["name"]] = runs
    return store


def test_mlflow_has_a_run_for_a_run(trained):
    for _ in range(2):
        trained.slipway("export", "--mlflow", "mlruns")
        runs = read_store(trained.folder / "mlruns")["small"]
        (name, run), = runs.items()
        assert name == trained.run().name
        assert run["status"] == 3 and run["end_time"] >= run["start_time"] > 1e12
        assert run["params"] == {"lr": "0.25", "opt": "adam", "deep": "true"}
        assert run["tags"]["mlflow.note.content"] == "A baseline" and run["tags"]["slipway.tags"] == "paper"
        values = [line.split() for line in run["metrics"]["loss"].splitlines()]
        assert [(float(value), int(step)) for _, value, step in values] == [(1 / (s + 1), s) for s in range(5)]
        assert math.isnan(float(run["metrics"]["acc/top1"].split()[1]))


def test_mlflow_has_a_child_for_each_trial_and_keeps_other_runs(searched):
    searched.slipway("export", "--mlflow", "mlruns")
    searched.slipway("run", "spec.yaml")
    searched.slipway("export", "--mlflow", "mlruns")
    runs = [run for run in (searched.folder / "mlruns").glob("*/*/meta.yaml")]
    assert len(runs) == 2 * (1 + 3)
    parents = {file.parent.name for file in runs if not (file.parent / "tags/mlflow.parentRunId").exists()}
    children = [file.parent for file in runs if (file.parent / "tags/mlflow.parentRunId").exists()]
    assert len(parents) == 2 and {(child / "tags/mlflow.parentRunId").read_text() for child in children} == parents
    assert sorted((child / "params/lr").read_text() for child in children) == ["1.0"] * 2 + ["2.0"] * 2 + ["9.0"] * 2


def test_hostile_names_stay_within_the_folder(place):
    place.program("report(1, **{'../../escape': 1, 'a': 2, 'a/b': 3, 'x<y>&\\n,\"': 4, '.': 5, '': 6, 'n' * 400: 7})")
    place.spec()
    place.slipway("run", "spec.yaml")
    place.slipway("export", "--tensorboard", "tb", "--mlflow", "mlruns", "--csv", "x.csv", "--jsonl", "x.jsonl")
    lines = [json.loads(line) for line in (place.folder / "x.jsonl").read_text().splitlines()]
    names = {line["metric"] for line in lines}
    assert {"../../escape", "a", "a/b", "."} <= names
    assert set(event_files.sessions(place.folder / "tb")["attempt-1"].scalars) == names
    assert {row["metric"].lstrip("'") for row in csv.DictReader((place.folder / "x.csv").open())} >= {"a", "a/b"}
    (run,), = (runs.values() for runs in read_store(place.folder / "mlruns").values())
    assert sorted(float(text.split()[1]) for text in run["metrics"].values()) == sorted(l["value"] for l in lines)
    assert all("mlruns" in str(path) for path in place.folder.rglob("escape*"))
    assert not (place.folder.parent / "escape").exists()


LIVE = "  metrics: {tensorboard: true}"


def live_spec(place, more=""):
    place.spec(more)
    text = (place.folder / "spec.yaml").read_text()
    (place.folder / "spec.yaml").write_text(text.replace("\n  args:", "\n" + LIVE + "\n  args:"))


def test_live_files_grow_and_end_like_an_export(place):
    place.program("for step in range(30):\n    report(step, loss=step)\n"
                  "    while step == 9 and not os.path.exists('go'): time.sleep(0.05)\n")
    live_spec(place, "launch: {workdir: spec}")
    process = place.start("run", "spec.yaml")
    events = wait_for(lambda: list(place.runs.glob("*/tensorboard/attempt-1/*tfevents*")))[0]
    seen = wait_for(lambda: event_files.steps(event_files.Session(events.parent), "loss"))
    assert process.poll() is None and 0 < len(seen) <= 10, "values come while it runs"
    (place.folder / "go").touch()
    assert process.wait(60) == 0
    session = event_files.Session(events.parent)
    assert event_files.steps(session, "loss") == list(range(30))
    assert session.status == 1
    place.slipway("export", "--tensorboard", "tb")
    exported = event_files.sessions(place.folder / "tb")["attempt-1"]
    assert session.scalars == exported.scalars and session.hparams == exported.hparams


def test_a_killed_manager_leaves_no_gap_and_no_duplicate(place):
    place.program("start = int(open('done').read()) if os.path.exists('done') else 0\n"
                  "for step in range(start, start + 40):\n    report(step, loss=step)\n    time.sleep(0.1)\n"
                  "    open('new', 'w').write(str(step + 1))\n    os.replace('new', 'done')\n"
                  "while not os.path.exists('go'): time.sleep(0.05)\n")
    live_spec(place, "launch: {workdir: spec}")
    process = place.start("run", "spec.yaml", start_new_session=True)
    events = wait_for(lambda: list(place.runs.glob("*/tensorboard/attempt-1/*tfevents*")))[0]
    wait_for(lambda: event_files.steps(event_files.Session(events.parent), "loss"))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (place.folder / "go").touch()
    with events.open("ab") as file:
        file.write(b"\x20\0\0\0\0\0\0\0torn")  # as of a writer that was killed in the middle
    place.slipway("resume", "last")
    run = place.run()
    for attempt in ("attempt-1", "attempt-2"):
        reported = [json.loads(line)["step"] for line in (run / attempt / "metrics.jsonl").read_text().splitlines()]
        assert event_files.steps(event_files.Session(run / "tensorboard" / attempt), "loss") == reported, attempt


def test_live_files_of_trials(place):
    place.program("for step in range(4):\n    report(step, loss=step)\n")
    live_spec(place, "ensemble:\n  objective: {metric: loss, goal: minimize}\n  trials: 4\n  parallel: 2\n"
                     "  space: {lr: {uniform: [0, 1]}}")
    place.slipway("run", "spec.yaml")
    found = event_files.sessions(place.run() / "tensorboard")
    assert set(found) == {f"trial-0000{number}" for number in range(4)}
    for session in found.values():
        assert event_files.steps(session, "loss") == [0, 1, 2, 3]
        assert session.status == 1 and 0 <= session.hparams["lr"] <= 1


class FakeWandb:
    """Stands in for their library, which Debian does not have: it remembers what it is given."""

    def __init__(self):
        self.runs = []

    def init(self, **settings):
        self.runs.append((settings, []))
        return self

    def log(self, values, step):
        self.runs[-1][1].append((step, values))

    def finish(self):
        pass


def test_the_script_for_wandb_gives_their_library_each_trial(searched, monkeypatch):
    searched.slipway("export", "--jsonl", "x.jsonl")
    script = pathlib.Path(__file__).resolve().parents[2] / "templates/exports/to_wandb.py"
    module = {"__name__": "to_wandb", "__doc__": "A script"}
    exec(compile(script.read_text(), script, "exec"), module)
    monkeypatch.setattr("sys.argv", ["to_wandb", str(searched.folder / "x.jsonl"), "--params",
                                     str(searched.run() / "plan.json")])
    wandb = FakeWandb()
    module["main"](wandb)
    assert [settings["name"].split("/")[1] for settings, _ in wandb.runs] == [f"trial-0000{n}" for n in range(3)]
    assert sorted(settings["config"]["lr"] for settings, _ in wandb.runs) == [1.0, 2.0, 9.0]
    assert [step for step, _ in wandb.runs[0][1]] == [0, 1, 2]
