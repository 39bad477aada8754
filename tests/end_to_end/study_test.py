#!/usr/bin/python3
"""slipway.Study: a loop of one's own over `slipway trials serve`, with real processes."""

import concurrent.futures
import math
import os
import signal
import subprocess
import sys

import numpy
import pytest

import slipway
from slipway.study import StudyBusyError, StudyEndedError, StudyError

SPEC = """\
name: outside
launch: {engine: local, ranks_per_node: 1}
train: {command: ['true']}
ensemble:
  objective: {metric: loss, goal: minimize}
  trials: 8
  sampler: random
  space: {x: {uniform: [-2, 2]}, kind: {choice: [a, b]}}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exp.yaml").write_text(SPEC)
    return tmp_path


def test_runs_all_trials_of_a_spec(place):
    with slipway.Study("exp.yaml") as study:
        values = []
        for trial in study:
            assert trial.report(1, abs(trial.parameters["x"])) == "continue"
            values.append(trial.parameters["x"] ** 2)
            assert trial.tell(values[-1]) == "complete"
        assert len(values) == 8
        assert study.best["objectives"] == {"loss": min(values)}
        assert study.folder.parent == place / "runs"
    with pytest.raises(StudyEndedError):
        study.ask()


def test_goes_on_with_a_run(place):
    with slipway.Study("exp.yaml") as study:
        study.ask().tell(3)
        left = study.ask()
    with slipway.Study(study.folder) as again:
        asked = again.ask()
        assert (asked.number, asked.attempt, asked.parameters) == (left.number, 2, left.parameters)
        with pytest.raises(StudyError, match="attempt 1 of trial 1"):
            left._server = again._server
            left.tell(1)
        assert again.best["trial"] == 0


def test_a_block_that_fails_fails_its_trial(place):
    with slipway.Study("exp.yaml") as study:
        with pytest.raises(ZeroDivisionError):
            with study.ask():
                1 // 0
        with study.ask() as trial:
            assert trial.tell(math.nan) == "failed"
        assert study.ask().prune() == "pruned"
        assert study.ask().fail("because") == "failed"
        assert study.best is None


def test_a_failed_trial_is_tried_again_while_retries_are_left(place):
    (place / "exp.yaml").write_text(SPEC + "resilience: {max_restarts: 1}\n")
    with slipway.Study("exp.yaml") as study:
        first = study.ask()
        assert first.fail("no disk") == "queued"
        again = study.ask()
        assert (again.number, again.attempt, again.parameters) == (0, 2, first.parameters)
        assert again.fail("no disk") == "failed"


def test_ctrl_c_is_no_failure_of_the_trial(place):
    program = ("import os, signal, slipway\n"
               "with slipway.Study('exp.yaml') as study:\n"
               "    print(study.folder, flush=True)\n"
               "    with study.ask():\n"
               "        os.killpg(0, signal.SIGINT)\n"
               "        signal.pause()\n")
    stopped = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             text=True, start_new_session=True)
    assert stopped.returncode == -signal.SIGINT
    with slipway.Study(stopped.stdout.strip()) as study:
        again = study.ask()
        assert (again.number, again.attempt) == (0, 2)


def test_a_population_gives_parents(place):
    (place / "exp.yaml").write_text(SPEC.replace("sampler: random", "sampler: random\n  parallel: 2\n"
                                                 "  scheduler: {type: pbt, interval: 1, population: 2}"))
    with slipway.Study("exp.yaml") as study:
        good, bad = study.ask(), study.ask()
        assert good.parent is None and good.report(1, 0.1) == "continue"
        assert bad.report(1, 9) == "stop"
        bad.tell()
        assert study.ask().parent == good.number


def test_a_trial_knows_where_it_may_be_paused(place):
    (place / "exp.yaml").write_text(SPEC.replace("sampler: random", "sampler: random\n  scheduler: {type: asha, "
                                                 "min: 2, max: 18}"))
    with slipway.Study("exp.yaml") as study:
        trial = study.ask()
        assert trial.limit == 2
        assert trial.report(1, 3.0) == "continue"
        assert trial.report(trial.limit, 2.0) == "pause"
        assert trial.tell() == "paused"


def test_enqueued_configurations_come_first(place):
    with slipway.Study("exp.yaml") as study:
        assert study.enqueue(x=0.5, kind="b") == 0
        with pytest.raises(StudyError, match="kind"):
            study.enqueue(kind="c")
        assert study.ask().parameters == {"x": 0.5, "kind": "b"}


def test_scalars_of_numpy_are_numbers(place):
    with slipway.Study("exp.yaml") as study:
        study.enqueue(x=numpy.int64(1), kind="b")
        study.enqueue(x=numpy.float32(0.5), kind="b")
        assert [study.ask().parameters["x"] for _ in range(2)] == [1, 0.5]
        for value in (numpy.ones(2), object()):
            with pytest.raises(StudyError, match=f"a value of type {type(value).__name__} cannot be handed over"):
                study.enqueue(x=value)
        assert study.ask().tell(numpy.float32(1.0)) == "complete", "the session goes on"


def test_names_what_is_wrong(place):
    with slipway.Study("exp.yaml") as study:
        trial = study.ask()
        trial.tell(1)
        with pytest.raises(StudyError, match="trial 0 does not run: it is complete"):
            trial.tell(1)
        with pytest.raises(StudyBusyError, match="is managed by process|already|has a manager|manager"):
            slipway.Study(study.folder)
    (place / "bad.yaml").write_text(SPEC.replace("trials: 8", "trails: 8"))
    with pytest.raises(StudyError, match="trials"):
        slipway.Study("bad.yaml")
    with pytest.raises(StudyError):
        slipway.Study("nothing-of-this-name")


def test_threads_share_a_study(place):
    def run(study):
        done = 0
        for trial in study:
            trial.tell(trial.parameters["x"])
            done += 1
        return done

    with slipway.Study("exp.yaml") as study:
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            assert sum(threads.map(run, [study] * 4)) == 8


def test_what_was_told_survives_the_death_of_both(place):
    program = ("import os, signal, slipway\n"
               "study = slipway.Study('exp.yaml')\n"
               "study.ask().tell(0.25)\n"
               "study.ask()\n"
               "print(study.folder, flush=True)\n"
               "os.kill(study._server._process.pid, signal.SIGKILL)\n"
               "study._server._process.wait()\n"  # until then it may hold the lock of the run
               "os.kill(os.getpid(), signal.SIGKILL)\n")
    killed = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert killed.returncode == -signal.SIGKILL
    with slipway.Study(killed.stdout.strip()) as study:
        assert study.best["objectives"] == {"loss": 0.25}
        again = study.ask()
        assert (again.number, again.attempt) == (1, 2)


def test_says_when_the_server_is_gone(place):
    study = slipway.Study("exp.yaml")
    os.kill(study._server._process.pid, signal.SIGKILL)
    with pytest.raises(StudyEndedError, match="status -9"):
        study.ask()
    study.close()
