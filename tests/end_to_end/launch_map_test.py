#!/usr/bin/python3
"""slipway.launch.map: many calls as the trials of one ensemble, with the real program."""

import operator
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from launch_calls import add, ends, notes, odd_fails, waits
from slipway import launch
from waiting import wait_for

LOCAL = {"engine": "local"}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def running(place):
    return len(list(place.glob("runs-*")))


def test_every_call_has_its_result():
    jobs = launch.map(add, range(12), range(100, 112), **LOCAL)
    assert [job.result(timeout=60) for job in jobs] == [100 + 2 * x for x in range(12)]
    assert {job.state for job in jobs} == {"succeeded"} and jobs[3].id == f"{jobs[3].run.id}/3"
    assert jobs[0].run.state == "succeeded" and "succeeded" in jobs[3]._repr_html_()
    assert launch.map(add, [], []) == []
    assert [job.result() for job in launch.map(add, [1], [2], **LOCAL)] == [3]


def test_only_so_many_run_at_a_time(place):
    jobs = launch.map(waits, range(7), [str(place)] * 7, parallel=2, **LOCAL)
    wait_for(lambda: running(place) == 2)
    time.sleep(0.5)
    assert running(place) == 2 and not jobs[6].done() and jobs[6].state == "queued"
    (place / "go").touch()
    most = 0
    while not jobs[0].run.done():
        most = max(most, running(place))
    assert most <= 2 and [job.result() for job in jobs] == list(range(7))


def calls(place):
    return list((place / "runs").glob(".call-*"))


def test_the_folder_of_the_calls_goes_when_all_have_succeeded(place):
    jobs = launch.map(add, range(3), range(3), **LOCAL)
    assert [job.result(timeout=60) for job in jobs] == [0, 2, 4]
    wait_for(lambda: not calls(place))
    jobs = launch.map(odd_fails, range(2), **LOCAL)
    assert [type(job.exception(timeout=60)) for job in jobs] == [type(None), ValueError]
    assert jobs[0].run.wait(60) and len(calls(place)) == 1, "a call that failed may run again"


def test_failures_are_those_of_their_calls():
    jobs = launch.map(odd_fails, range(8), parallel=4, **LOCAL)
    ended = list(launch.as_completed(jobs, timeout=60))
    assert sorted(job.number for job in ended) == list(range(8))
    assert [type(job.exception()) for job in jobs] == [type(None), ValueError] * 4
    assert "raise ValueError(x)" in str(jobs[1].exception().__cause__)
    assert [job.state for job in jobs] == ["succeeded", "failed"] * 4


def test_all_calls_may_fail():
    jobs = launch.map(odd_fails, [1, 3, 5, 7, 9, 11], **LOCAL)
    assert [job.exception().args for job in jobs] == [(1,), (3,), (5,), (7,), (9,), (11,)]


def test_a_call_that_is_killed_says_so():
    jobs = launch.map(ends, range(3), **LOCAL)
    with pytest.raises(launch.JobFailedError, match=r"/1 has failed: .*SIGKILL"):
        jobs[1].result()
    assert [jobs[0].result(), jobs[2].result()] == [0, 2]


def test_single_calls_can_be_cancelled(place):
    jobs = launch.map(waits, range(4), [str(place)] * 4, parallel=2, **LOCAL)
    wait_for(lambda: running(place) == 2)
    jobs[0].cancel()
    jobs[3].cancel()
    with pytest.raises(launch.JobCancelledError):
        jobs[0].result(timeout=60)
    (place / "go").touch()
    with pytest.raises(launch.JobCancelledError):
        jobs[3].result(timeout=60)
    assert [jobs[1].result(), jobs[2].result()] == [1, 2]
    assert [job.state for job in jobs] == ["cancelled", "succeeded", "succeeded", "cancelled"]
    assert not (place / "runs-3").exists(), "it never began"
    jobs[1].cancel()
    assert jobs[1].result() == 1


def test_a_call_that_ends_while_it_is_asked_about_is_not_cancelled(place):
    job, = launch.map(add, [4], [5], **LOCAL)
    assert job.result() == 9
    assert job.run.wait(60)
    seen = [{**job._trial(), "state": "running"}, job._trial()]  # then the run is over
    job._trial = lambda: seen.pop(0)
    assert job.state == "succeeded"
    assert not seen


def test_the_whole_map_can_be_cancelled_and_resumed(place):
    jobs = launch.map(waits, range(4), [str(place)] * 4, parallel=2, checkpoint={"signal": "TERM"}, **LOCAL)
    wait_for(lambda: running(place) == 2)
    jobs[0].run.cancel()
    assert jobs[0].run.wait(60)
    with pytest.raises(launch.JobCancelledError, match="cancelled by the user"):
        jobs[3].result()
    assert len(list(launch.as_completed(jobs))) == 4
    (place / "go").touch()
    subprocess.run([os.environ["SLIPWAY_PROGRAM"], "resume", jobs[0].folder], check=True, capture_output=True)
    assert [job.result() for job in jobs] == [0, 1, 2, 3]


def test_calls_that_have_ended_do_not_run_again_after_a_kill(place):
    jobs = launch.map(notes, range(10), [str(place / "ran")] * 10, parallel=2, **LOCAL)
    wait_for(lambda: len(list(jobs[0].folder.glob("trials/*/outputs/result-*"))) >= 4)
    os.kill(jobs[0].run.status()["manager"]["pid"], signal.SIGKILL)
    wait_for(lambda: jobs[0].run.state == "lost")
    had_ended = {job.number for job in jobs if job.status()["phase"] == "succeeded"}
    assert {job.state for job in jobs if job.number not in had_ended} <= {"lost"}
    with pytest.raises(launch.JobLostError, match="its manager .* is gone"):
        jobs[9].result()
    (place / "go").touch()
    subprocess.run([os.environ["SLIPWAY_PROGRAM"], "resume", jobs[0].folder], check=True, capture_output=True)
    assert [job.result() for job in jobs] == list(range(10))
    ran = [int(line) for line in (place / "ran").read_text().split()]
    assert set(ran) == set(range(10)) and all(ran.count(number) == 1 for number in had_ended)


def test_another_process_finds_the_calls():
    program = ("import launch_calls\n"
               "from slipway import launch\n"
               "print(launch.map(launch_calls.add, 'ab', 'cd', engine='local')[1].id)\n")
    here = str(pathlib.Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
    told = subprocess.run([sys.executable, "-c", program], env=environment, text=True, capture_output=True, check=True)
    job = launch.Job.from_id(told.stdout.strip())
    assert job.result() == "bd" and job.number == 1
    with pytest.raises(launch.LaunchError, match="is a map of 2 calls\n.*Job.from_id"):
        launch.Job.from_id(job.run.id)
    with pytest.raises(launch.LaunchError, match="has no call 2, but 2 calls"):
        launch.Job.from_id(job.run.id + "/2")


def test_the_time_limit_is_that_of_a_call(place):
    jobs = launch.map(waits, range(2), [str(place)] * 2, parallel=1, time_limit="1500ms", checkpoint={"signal": "TERM"},
                      **LOCAL)
    with pytest.raises(launch.JobFailedError, match="time limit"):
        jobs[0].result(timeout=60)
    assert "time limit" in jobs[1].exception(timeout=60).message


def test_a_call_has_its_own_log():
    jobs = launch.map(print, ["first", "second"], **LOCAL)
    assert [job.result() for job in jobs] == [None, None]
    assert "second" in jobs[1].logs() and jobs[0].logs(rank=0) == "first\n"


def test_many_calls_keep_their_order():
    jobs = launch.map(operator.neg, range(30), parallel=8, **LOCAL)
    assert len([job.result() for job in launch.as_completed(jobs[25:], timeout=100)]) == 5
    assert [job.result() for job in jobs] == [-x for x in range(30)]
