#!/usr/bin/python3
"""slipway.launch: functions and commands as jobs, with the real program and real ranks."""

import asyncio
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from slipway import _library, launch
from slipway.launch import _results
from waiting import wait_for

LOCAL = {"engine": "local"}


class Problem(Exception):
    """Of this module: it comes back as itself."""


def double(x):
    print("doubling", x)
    return 2 * x


def fail(text):
    raise Problem(text)


def ends(how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(how)


def rank_and_folder():
    return int(os.environ["RANK"]), os.getcwd(), os.environ["GREETING"]


def rank_one_fails():
    if os.environ["RANK"] == "1":
        raise Problem("rank 1")
    time.sleep(30)


def not_picklable():
    return threading.Lock()


def too_large():
    """Its result does not fit the largest file that it may write."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    return bytes(100_000)


def sleep(seconds, mark=None):
    if mark:
        pathlib.Path(mark).write_text(str(os.getpid()))
    time.sleep(seconds)
    return seconds


def until(file, mark=None):
    """Goes on until the file is there."""
    if mark:
        pathlib.Path(mark).touch()
    while not os.path.exists(file):
        time.sleep(0.02)
    return "seen"


def fail_once(mark):
    if not os.path.exists(mark):
        pathlib.Path(mark).touch()
        raise Problem("first")
    return "second"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ended_folder():
    """Of the only run."""
    folder, = (each for each in pathlib.Path("runs").iterdir() if not each.name.startswith("."))
    return folder


def python(program, **options):
    """Another process, which knows this module as the caller does."""
    here = str(pathlib.Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, "-c", program], env=environment, text=True, capture_output=True, **options)


def test_a_function_returns_its_value():
    job = launch.submit(double, 21, **LOCAL)
    assert job.result(timeout=60) == 42 and job.exception() is None
    assert job.state == "succeeded" and job.done()
    assert "doubling 21" in job.logs() and job.logs(rank=0) == "doubling 21\n"
    assert job.folder == ended_folder().absolute() and repr(job) == f"<Job {job.id}: succeeded>"
    assert "succeeded" in job._repr_html_() and job.id.startswith("double-")
    assert not _library.loaded(), "libslipway is not needed"


def test_an_exception_is_raised_as_itself():
    job = launch.submit(fail, "too large", **LOCAL)
    with pytest.raises(Problem, match="too large") as raised:
        job.result()
    assert type(raised.value) is Problem
    assert 'raise Problem(text)' in str(raised.value.__cause__) and "_rank.py" not in str(raised.value.__cause__)
    assert job.state == "failed" and "Problem: too large" in job.logs()


def test_another_process_finds_the_job_by_its_id(place):
    program = ("import launch_test\n"
               "from slipway import launch\n"
               "import os, signal\n"
               "print(launch.submit(launch_test.until, 'go', engine='local').id, flush=True)\n"
               "os.kill(os.getpid(), signal.SIGKILL)\n")
    killed = python(program)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    job = launch.Job.from_id(killed.stdout.strip())
    assert not job.wait(0)
    (place / "go").touch()
    assert job.result() == "seen"
    assert launch.Job.from_id(job.folder) == job == launch.Job.from_id(job.id, runs=place / "runs")
    with pytest.raises(launch.UsageError, match="no run 'nothing'"):
        launch.Job.from_id("nothing")


@pytest.mark.parametrize("has_cloudpickle", [True, False])
def test_a_script_sends_its_own_functions(place, has_cloudpickle, monkeypatch):
    if has_cloudpickle:
        pytest.importorskip("joblib.externals.cloudpickle")
    else:
        (place / "none/joblib").mkdir(parents=True)
        for name in ("none/cloudpickle.py", "none/joblib/__init__.py"):
            (place / name).write_text("raise ImportError('not here')\n")
        monkeypatch.setenv("PYTHONPATH", f"{place / 'none'}:{os.environ.get('PYTHONPATH', '')}")
    (place / "script.py").write_text(
        "from slipway import launch\n"
        "class Mine(Exception): pass\n"
        "def f(x):\n"
        "    if x < 0: raise Mine(x)\n"
        "    return [x, Mine]\n"
        "if __name__ == '__main__':\n"
        "    good, bad = launch.submit(f, 1, engine='local'), launch.submit(f, -1, engine='local')\n"
        "    assert good.result() == [1, Mine], good.result()\n"
        "    assert type(bad.exception()) is Mine, bad.exception()\n")
    for words in (["script.py"], ["-m", "script"]):
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_a_script_without_guard_submits_once(place, monkeypatch):
    (place / "none").mkdir()
    (place / "none/cloudpickle.py").write_text("raise ImportError('not here')\n")
    (place / "none/joblib.py").write_text("raise ImportError('not here')\n")
    monkeypatch.setenv("PYTHONPATH", f"{place / 'none'}:{os.environ.get('PYTHONPATH', '')}")
    (place / "script.py").write_text("from slipway import launch\n"
                                     "def f(): pass\n"
                                     "launch.submit(f, engine='local').result()\n")
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True)
    assert "put what submits below: if __name__ == '__main__':" in done.stderr
    assert ended_folder()


def test_lambdas_and_closures_need_cloudpickle():
    pytest.importorskip("joblib.externals.cloudpickle")
    three = 3
    assert launch.submit(lambda x: three * x, 2, **LOCAL).result() == 6


def test_each_rank_has_a_result(place):
    job = launch.submit(rank_and_folder, ranks_per_node=3, env={"GREETING": "{a} ${HOME} 'ü' \"\n"}, **LOCAL)
    assert job.results() == [(rank, str(place), "{a} ${HOME} 'ü' \"\n") for rank in range(3)]
    assert job.result()[0] == 0


def test_the_exception_of_any_rank_is_the_job_s():
    job = launch.submit(rank_one_fails, ranks_per_node=2, **LOCAL)
    with pytest.raises(Problem, match="rank 1"):
        job.result()


def test_a_command_ends_with_its_status_and_files(place):
    (place / "here.txt").write_text("found")
    job = launch.submit(["sh", "-c", "cat here.txt; echo out >$SLIPWAY_OUTPUT_DIR/a; exit 3"], **LOCAL)
    result = job.result()
    assert result.exit_status == 3 and [each.name for each in result.outputs] == ["a"]
    assert result.logs[0].read_text() == "found" and result.folder == job.folder
    assert launch.submit(["true"], **LOCAL).result().exit_status == 0
    assert launch.submit(["sh", "-c", "kill -9 $$"], **LOCAL).result().exit_status == -9
    with pytest.raises(launch.SpecError, match=f"there is no program '{place / 'none'}'"):
        launch.submit(["./none"], **LOCAL)


def test_every_word_reaches_the_command():
    letters = ["{", "}", "$", "${", "{{", "}}", "{slipway.workdir}", "{x}", "${HOME}", "'", '"', "\\", "\n", "\t", " ",
               "#", ":", "- ", "*", "&", "%", "@", "`", "é", "😀", "--set", "a", ""]
    chance = random.Random(7)
    words = ["".join(chance.choices(letters, k=chance.randrange(5))) for _ in range(300)] + letters
    program = "import json, os, sys; json.dump(sys.argv[1:], open(os.environ['SLIPWAY_OUTPUT_DIR'] + '/words', 'w'))"
    result = launch.submit([sys.executable, "-c", program, *words], **LOCAL).result()
    assert json.loads(result.outputs[0].read_text()) == words


def test_what_cannot_be_submitted_leaves_nothing():
    with pytest.raises(launch.SpecError, match="has no unit: write 5s") as raised:
        launch.submit(double, 1, time_limit=5, **LOCAL)
    assert str(raised.value).count("has no unit: write 5s") == 1
    assert raised.value.exit_code == 2 and raised.value.diagnostics[0]["file"].endswith("spec.yaml")
    with pytest.raises(TypeError, match="did you mean 'time_limit'"):
        launch.submit(double, 1, timelimit="5s", **LOCAL)
    with pytest.raises(TypeError, match=r"unknown resource 'b': .* functools.partial\(function, b=...\)"):
        launch.submit(double, 1, b=4, **LOCAL)
    with pytest.raises(TypeError, match="cannot start 'python train.py': give a list of words, or a callable"):
        launch.submit("python train.py", **LOCAL)
    with pytest.raises(TypeError, match="cannot start 'train': give a callable"):
        launch.map("train", [1], **LOCAL)
    with pytest.raises(TypeError, match="the command is empty"):
        launch.submit([], **LOCAL)
    with pytest.raises(TypeError, match="no arguments beside its words"):
        launch.submit(["echo"], 1, **LOCAL)
    assert not list(pathlib.Path("runs").glob(".*")) and not list(pathlib.Path("runs").glob("*"))


def test_ends_without_a_result_say_why():
    with pytest.raises(launch.JobFailedError, match="SIGKILL") as raised:
        launch.submit(ends, "kill", **LOCAL).result()
    assert raised.value.cause["kind"] in ("rank_failed",
                                          "out_of_memory") and "slipway explain" in raised.value.next_step
    with pytest.raises(launch.RemoteError, match="SystemExit: 3"):
        launch.submit(ends, 3, **LOCAL).result()
    with pytest.raises(launch.NotPicklableError, match="the result cannot be sent"):
        launch.submit(not_picklable, **LOCAL).result()


def test_a_result_that_cannot_be_written_is_an_error():
    job = launch.submit(too_large, **LOCAL)
    with pytest.raises(OSError, match="File too large"):
        job.result()
    assert [each.name for each in (job.folder / "outputs").iterdir()] == ["result-00000.pickle"], "nothing half-written"


def test_a_job_can_be_cancelled(place):
    job = launch.submit(sleep, 60, str(place / "mark"), checkpoint={"stop_file": False}, **LOCAL)
    wait_for((place / "mark").exists)
    with pytest.raises(launch.JobTimeoutError, match="has not ended within 0.2 s: it is running"):
        job.result(timeout=0.2)
    with pytest.raises(TimeoutError):
        job.exception(timeout=0)
    job.cancel()
    with pytest.raises(launch.JobCancelledError, match="is cancelled"):
        job.result()
    assert job.state == "cancelled"
    job.cancel()


def test_a_job_whose_manager_is_killed_is_lost_and_resumed(place):
    job = launch.submit(until, "go", str(place / "mark"), **LOCAL)
    wait_for((place / "mark").exists)
    os.kill(job.status()["manager"]["pid"], signal.SIGKILL)
    with pytest.raises(launch.JobLostError, match="is lost: .*\n.*resume"):
        job.result()
    assert list(launch.as_completed([job], timeout=60)) == [job]
    (place / "go").touch()
    subprocess.run([os.environ["SLIPWAY_PROGRAM"], "resume", job.folder], check=True, capture_output=True)
    assert job.result() == "seen" and job.status()["attempt"] == 2


def test_a_failed_attempt_is_not_the_result_of_the_next(place):
    job = launch.submit(fail_once, str(place / "once"), resilience={"max_restarts": 1}, **LOCAL)
    assert job.result() == "second" and job.status()["attempt"] == 2


def test_jobs_can_be_awaited():
    async def both():
        return await asyncio.gather(launch.submit(double, 1, **LOCAL), launch.submit(double, 2, **LOCAL))

    assert asyncio.run(both()) == [2, 4]


def test_jobs_come_in_the_order_of_their_ends(place):
    slow, fast = launch.submit(until, "go", **LOCAL), launch.submit(sleep, 0, **LOCAL)
    ended = launch.as_completed([slow, fast], timeout=60)
    assert next(ended) == fast
    with pytest.raises(launch.JobTimeoutError, match="1 of the jobs"):
        list(launch.as_completed([slow], timeout=0.1))
    (place / "go").touch()
    assert list(ended) == [slow]


def test_results_that_others_could_have_written_are_refused():
    job = launch.submit(double, 1, **LOCAL)
    assert job.result() == 2
    path = _results.path_in(job.folder / "outputs", 0)
    path.chmod(0o666)
    with pytest.raises(launch.ResultError, match="reading a pickle runs code"):
        job.result()
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(launch.ResultError, match="damaged"):
        job.result()


def test_the_result_is_in_the_run_folder(place):
    job = launch.submit(double, 4, **LOCAL)
    assert job.result() == 8
    wait_for(lambda: not list((place / "runs").glob(".call-*")))  # removed with the success
    (place / "elsewhere").mkdir()
    shutil.copytree(job.folder, place / "elsewhere" / job.id)
    assert launch.Job.from_id(place / "elsewhere" / job.id).result() == 8


def test_tags_and_names_are_those_of_the_run():
    job = launch.submit(double, 1, name="mine", tags=["a", "b"], description="for ${HOME}", **LOCAL)
    status = job.status()
    assert status["name"] == "mine" and status["tags"] == ["a", "b"] and status["description"] == "for ${HOME}"
