#!/usr/bin/python3
"""slipway.launch.Experiment: specs and their runs from Python, with the real program."""

import json
import signal
import subprocess
import sys

import pytest

from slipway import launch
from slipway.launch import _progress, experiments

PROGRAM = """\
import json, os, sys, time
params = json.loads(os.environ["SLIPWAY_PARAMS"])
for step in range(int(params.get("steps", 3))):
    with open(os.environ["SLIPWAY_METRICS"], "a") as file:
        loss = float("nan") if params.get("x") == 2 and step == 0 else params.get("x", 1) / (step + 1)
        print(json.dumps({"time": time.time(), "step": step, "metrics": {"loss": loss}}), file=file)
    time.sleep(params.get("pause", 0))
sys.exit(params.get("status", 0))
"""

SINGLE = """\
name: single
launch: {engine: local}
train: {command: ["python3", "train.py"], args: {steps: 3}}
"""

SEARCH = SINGLE.replace("single", "search") + """\
ensemble:
  objective: {metric: loss, goal: minimize}
  sampler: grid
  parallel: 2
  space: {x: {choice: [1, 2, 3]}, state: {choice: [a]}}
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "single.yaml").write_text(SINGLE.replace("python3", sys.executable))
    (tmp_path / "search.yaml").write_text(SEARCH.replace("python3", sys.executable))
    return tmp_path


@pytest.fixture
def no_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)


@pytest.mark.usefixtures("no_pandas")
def test_an_experiment_runs(capfd):
    run = launch.Experiment.from_yaml("single.yaml",
                                      set={"train.args.steps": 4, "launch": {"env": {"A": "${B}"}}}).run()
    assert run.state == "succeeded" and run.id in capfd.readouterr().err
    rows = run.metrics()
    assert [row["step"] for row in rows] == [0, 1, 2, 3] and rows[3]["value"] == 0.25 and rows[0]["metric"] == "loss"
    assert run.report() == run.folder / "report.html" and run.report().exists()
    assert launch.Run.from_id(run.id) == run == launch.Run.from_id("last")
    assert run.logs() == "" and "succeeded" in run._repr_html_() and repr(run) == f"<Run {run.id}: succeeded>"
    plan = json.loads((run.folder / "plan.json").read_text())
    assert plan["spec"]["launch"]["env"] == {"A": "${B}"}


@pytest.mark.usefixtures("no_pandas")
def test_an_ensemble_has_trials():
    run = launch.Experiment.from_yaml("search.yaml").run(progress=False)
    trials = run.trials()
    assert [row["x"] for row in trials] == [1, 2, 3] and [row["rank"] for row in trials] == [1, 2, 3]
    assert trials[0]["loss"] == pytest.approx(1 / 3) and trials[0]["state"] == "complete"
    assert trials[0]["parameter.state"] == "a", "another column has this name"
    assert run.best()["parameters"] == {"x": 1, "state": "a"} and run.best()["objective"] == trials[0]["loss"]
    rows = run.metrics()
    assert {row["trial"] for row in rows} == {0, 1, 2} and sum(row["value"] != row["value"] for row in rows) == 1
    assert "3 of 3 trials" in run._repr_html_()
    assert run.logs(trial=0) == ""
    with pytest.raises(launch.UsageError, match="add --trial"):
        run.logs()


def test_frames_are_those_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed for this Python (Debian: python3-pandas)")
    run = launch.Experiment.from_yaml("search.yaml").run(progress=False)
    trials, metrics = run.trials(), run.metrics()
    assert isinstance(trials, pandas.DataFrame) and list(trials.x) == [1, 2, 3]
    assert list(metrics.groupby("trial").value.last()) == pytest.approx([1 / 3, 2 / 3, 1])


def test_a_spec_is_checked_and_planned(place):
    experiment = launch.Experiment.from_yaml("single.yaml")
    assert experiment.validate()["valid"] and experiment.plan()["ranks"] == 1
    assert "single.yaml" in experiment._repr_html_() and repr(experiment) == "Experiment('single.yaml')"
    assert not (place / "runs").exists()
    wrong = launch.Experiment.from_yaml("single.yaml", set={"launch.ranks_per_nod": 2, "train.args.steps": 1})
    with pytest.raises(launch.SpecError, match="did you mean 'ranks_per_node'") as raised:
        wrong.validate()
    assert raised.value.diagnostics[0]["file"] == "--set" and raised.value.exit_code == 2
    assert "ranks_per_nod" in wrong._repr_html_()
    with pytest.raises(launch.CommandError, match="none.yaml"):
        launch.Experiment.from_yaml("none.yaml").plan()


def test_failure_is_an_exception():
    experiment = launch.Experiment.from_yaml("single.yaml", set={"train.args.status": 3})
    with pytest.raises(launch.JobFailedError, match="exit status 3") as raised:
        experiment.run(progress=False)
    assert raised.value.job.state == "failed" and raised.value.cause["kind"] == "rank_failed"
    assert raised.value.exit_code == 1
    run = experiment.run(progress=False, check=False)
    assert run.state == "failed"


def test_a_submitted_run_is_waited_for_and_cancelled():
    run = launch.Experiment.from_yaml("single.yaml", set={"train.args.pause": 30, "checkpoint.signal": "TERM"}).submit()
    assert not run.wait(0.2) and not run.done()
    assert run.check() is run
    run.cancel()
    assert run.wait(60) and run.state == "cancelled"
    with pytest.raises(launch.JobCancelledError, match="slipway resume"):
        run.check()


def test_ctrl_c_cancels_the_run():
    program = ("from slipway import launch\n"
               "launch.Experiment('single.yaml', {'train.args.pause': 60, 'checkpoint.signal': 'TERM'}).run()\n")
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    while "running" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    run = launch.Run.from_id("last")
    assert run.wait(60) and run.state == "cancelled"


def test_the_run_survives_the_death_of_its_caller():
    program = ("import os, signal\n"
               "from slipway import launch\n"
               "launch.Experiment('single.yaml', {'train.args.pause': 0.5}).submit()\n"
               "os.kill(os.getpid(), signal.SIGKILL)\n")
    subprocess.run([sys.executable, "-c", program])
    run = launch.Run.from_id("last")
    assert run.wait(60) and run.check().state == "succeeded"


def test_an_unknown_section_is_an_error(place):
    (place / "single.yaml").write_text((place / "single.yaml").read_text() + "launc: 1\n")
    with pytest.raises(launch.SpecError, match="launch"):
        launch.Experiment("single.yaml").submit()


class RecordedOutput:
    """What a kernel shows."""

    def __init__(self):
        self.shown = []

    def __call__(self, data, raw, display_id):
        assert raw and display_id
        self.shown.append(data)
        return self

    def update(self, data, raw):
        assert raw
        self.shown.append(data)


def test_a_notebook_shows_a_table_that_changes(monkeypatch):
    output = RecordedOutput()
    monkeypatch.setattr(_progress, "display", lambda: _progress._Notebook(output))
    launch.Experiment("search.yaml", {"train.args.pause": 0.2}).run()
    assert "3 of 3 trials" in output.shown[-1]["text/plain"] and "<table>" in output.shown[-1]["text/html"]
    assert "best 0.333333" in output.shown[-1]["text/plain"]


def test_trial_columns_do_not_hide_one_another():
    row = {"trial": 1, "rank": 1, "state": "complete", "duration_s": 2.0, "attempts": 1, "reason": "a\nb",
           "objectives": {"loss": 1.0}, "parameters": {"loss": 3, "rank": 4, "lr": 5}}
    columns = experiments._columns_of(row)
    assert columns == {"trial": 1, "rank": 1, "state": "complete", "seconds": 2.0, "attempts": 1, "reason": "a",
                       "objective.loss": 1.0, "parameter.loss": 3, "parameter.rank": 4, "lr": 5}


NOTEBOOK = ["""from slipway import launch
run = launch.Experiment.from_yaml("search.yaml").run()
run""", """factor = 5
class Mine(Exception): pass
def f(x):
    if x < 0: raise Mine(x)
    return factor * x
job = launch.submit(f, 3, engine="local")
await job""", """print(type(launch.submit(f, -1, engine="local").exception()) is Mine)"""]


def test_a_real_notebook():
    client = pytest.importorskip("nbclient", reason="no kernel (Debian: python3-nbclient, python3-ipykernel)")
    pytest.importorskip("ipykernel", reason="no kernel (Debian: python3-ipykernel)")
    pytest.importorskip("cloudpickle", reason="functions of a notebook need it (Debian: python3-cloudpickle)")
    import nbformat
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in NOTEBOOK])
    client.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    first, second, third = (cell.outputs for cell in notebook.cells)
    assert [each.output_type for each in first] == ["display_data", "execute_result"], "one table, which was replaced"
    assert "3 of 3 trials" in first[0].data["text/plain"] and "<table>" in first[1].data["text/html"]
    assert second[0].data["text/plain"] == "15" and third[0].text == "True\n"
