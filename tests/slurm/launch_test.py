#!/usr/bin/python3
"""slipway.launch on a real Slurm: functions as jobs, over nodes and over requeues, and maps."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import engine_test
import support

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "runtime/python/slipway"

WORK = """\
import os, time

def where(*unused):
    return int(os.environ["RANK"]), os.environ["SLURMD_NODENAME"]

def fail(text):
    raise KeyError(text)

def add(x, y):
    return x + y

class Counter:
    def __init__(self, file, end):
        self.file, self.end, self.at = file, end, 0

    def __call__(self):
        while self.at < self.end:
            self.at += 1
            with open(self.file, "a") as file:
                print(self.at, file=file)
            time.sleep(0.05)
        return self.at

    def checkpoint(self):
        pass
"""


class Launched(engine_test.Engine):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.modules = cls.bed.shared / "python"  # where nodes and users see it
        shutil.copytree(PACKAGE, cls.modules / "slipway", ignore=shutil.ignore_patterns("__pycache__"))
        (cls.modules / "work.py").write_text(WORK)

    def python(self, program):
        """The lines that a program of an ordinary user prints."""
        environment = {**self.bed.environment, **support.OPEN_MPI, "PYTHONPATH": str(self.modules),
                       "SLIPWAY_PROGRAM": str(self.program), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", "import work\nfrom slipway import launch\n" + program],
                              env=environment, cwd=self.place, capture_output=True, text=True, timeout=150,
                              stdin=subprocess.DEVNULL, **support.ordinary_user())
        if done.returncode != 0:
            self.fail(f"{done.stdout}\n{done.stderr}\n{self.bed.situation()}")
        return done.stdout.splitlines()

    def test_a_function_runs_on_every_rank_of_its_nodes(self):
        told, = self.python("job = launch.submit(work.where, engine='slurm', nodes=2, ranks_per_node=2)\n"
                            "print(job.results(120))\n")
        self.assertEqual(told, "[(0, 'n1'), (1, 'n1'), (2, 'n2'), (3, 'n2')]")

    def test_an_exception_comes_back(self):
        told = self.python("job = launch.submit(work.fail, 'no', engine='slurm', slurm={'partition': 'debug'})\n"
                           "error = job.exception(120)\n"
                           "print(repr(error), job.state, job.status()['batch_job'] > 0)\n"
                           "print('raise KeyError(text)' in str(error.__cause__))\n")
        self.assertEqual(told, ["KeyError('no') failed True", "True"])

    def test_what_slurm_refuses_is_a_typed_error(self):
        told, = self.python("try:\n"
                            "    launch.submit(work.fail, 'no', engine='slurm', slurm={'partition': 'debgu'})\n"
                            "except launch.UsageError as error:\n"
                            "    print(error.exit_code, 'debug' in str(error))\n")
        self.assertEqual(told, "2 True")

    def test_calls_of_a_map_share_an_allocation(self):
        told, = self.python("jobs = launch.map(work.add, range(5), range(5), engine='slurm', ranks_per_node=1)\n"
                            "print([job.result(120) for job in jobs], jobs[0].run.status()['batch_job'] > 0)\n")
        self.assertEqual(told, "[0, 2, 4, 6, 8] True")

    def test_calls_of_a_map_can_be_jobs(self):
        told, = self.python("jobs = launch.map(work.add, range(3), range(3), engine='slurm', placement='job',\n"
                            "                  parallel=2, time_limit='5m')\n"
                            "print([job.result(120) for job in launch.as_completed(jobs, 140)],\n"
                            "      {job.state for job in jobs}, jobs[0].run.id)\n")
        self.assertEqual(sorted(json.loads(told.split(" {")[0])), [0, 2, 4])
        run = self.place / "runs" / told.split()[-1]
        numbers = {json.loads((run / f"trials/{trial:05}/batch_job.json").read_text())["job"] for trial in range(3)}
        self.assertEqual(len(numbers - {0}), 3)

    def test_a_function_continues_in_the_requeued_job(self):
        count = self.place / "count"
        run, = self.python(f"print(launch.submit(work.Counter({str(count)!r}, 240), engine='slurm', "
                           "time_limit='5m').id)")
        job = json.loads((self.place / "runs" / run / "batch_job.json").read_text())["job"]
        support.wait_for(lambda: count.exists() and len(count.read_text().split()) > 10, 60, "the function")
        self.bed.administrate("scancel", "--batch", f"--signal={signal.SIGUSR1.name[3:]}", str(job))
        told, = self.python(f"job = launch.Job.from_id({run!r})\n"
                            "print(job.result(140), job.status()['attempt'], job.status()['batch_job'])\n")
        self.assertEqual(told, f"240 2 {job}")
        self.assertEqual([int(line) for line in count.read_text().split()], list(range(1, 241)), "each step once")


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    support.main()
