#!/usr/bin/python3
"""slipway.launch: functions that continue from a checkpoint, with the real program and real ranks."""

import os
import signal
import subprocess
import time

import pytest

from slipway import launch
from waiting import wait_for

LOCAL = {"engine": "local"}


class Problem(Exception):
    """Of this module."""


# Time for an interpreter to start beside other tests: a signal that comes before would find a program that cannot save.
LIMIT = "12s"


class Counts:
    """Counts to `end`, and notes each number that it reaches in a file."""

    def __init__(self, file, end, breaks=False):
        self.file, self.end, self.breaks, self.at = file, end, breaks, 0

    def __call__(self):
        while self.at < self.end:
            self.count()
            time.sleep(0.05)
        return self.at

    def count(self):
        """A number and its line, without a save between them."""
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        self.at += 1
        with open(f"{self.file}-{os.environ['RANK']}", "a") as file:
            print(self.at, file=file)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])

    def checkpoint(self):
        if self.breaks:
            raise Problem("no checkpoint today")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def counted(place, rank=0):
    return [int(line) for line in (place / f"count-{rank}").read_text().split()]


class CountsOnAfterASave(Counts):
    """Counts until it is asked to save, and 10 numbers more when it continues."""

    def __init__(self, file):
        super().__init__(file, float("inf"))

    def checkpoint(self):
        self.end = self.at + 10


def test_a_function_continues_after_its_time_limit(place):
    jobs = {}
    for ranks in (1, 2):  # both wait for their limit at once
        (place / str(ranks)).mkdir()
        function = CountsOnAfterASave(str(place / str(ranks) / "count"))
        jobs[ranks] = launch.submit(function, time_limit=LIMIT, ranks_per_node=ranks, **LOCAL)
    for ranks, job in jobs.items():
        ends = job.results(timeout=120)
        assert len(ends) == ranks and job.status()["attempt"] >= 2
        for rank, end in enumerate(ends):
            assert end > 10 and counted(place / str(ranks), rank) == list(range(1, end + 1)), "each step once"


def test_a_cancelled_function_continues_when_it_is_resumed(place):
    job = launch.submit(CountsOnAfterASave(str(place / "count")), **LOCAL)
    wait_for((place / "count-0").exists)
    job.cancel()
    assert job.wait(60) and job.state == "cancelled"
    subprocess.run([os.environ["SLIPWAY_PROGRAM"], "resume", job.folder], check=True, capture_output=True)
    end = job.result()
    assert end > 10 and counted(place) == list(range(1, end + 1))


def test_a_checkpoint_that_raises_is_the_exception_of_the_job(place):
    job = launch.submit(Counts(str(place / "count"), 1000, breaks=True), time_limit=LIMIT, **LOCAL)
    with pytest.raises((Problem, launch.JobFailedError)):
        job.result(timeout=60)
    assert "no checkpoint today" in job.logs()
