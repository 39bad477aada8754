#!/usr/bin/python3
"""Ensembles whose trials are Slurm jobs of their own: their manager stays where it was started."""

import collections
import json
import os
import signal
import subprocess
import time
from datetime import datetime

import engine_test
import support

SPACE = {"x": {"int": [1, 4]}}


class Jobs(engine_test.Engine):
    OPTIONS = ("--nodes", "3", "--mode", "namespaces", "--conf", "SlurmdTimeout=60")

    def setUp(self):
        super().setUp()
        self.addCleanup(self.bed.client, "scancel", f"--user={support.ORDINARY_USER}")

    def write_trials(self, command, slurm=None, trials=4, parallel=4, **launch):
        """The trial with x = 3 runs `sh -c COMMAND sh 3`; it also says that it ran."""
        self.write(f'echo "$1" >> ran; {command}', slurm, **launch,
                   ensemble={"objective": {"metric": "objective", "goal": "maximize"}, "trials": trials,
                             "parallel": parallel, "sampler": "grid", "space": SPACE, "placement": "job"})

    def trials(self):
        listed = json.loads(self.slipway("trials", "ls", "--json").stdout)["trials"]
        return sorted(listed, key=lambda trial: trial["trial"])

    def states(self):
        return collections.Counter(trial["state"] for trial in self.trials())

    def ran(self):
        """How often each trial's program has begun."""
        path = self.place / "ran"
        return collections.Counter(path.read_text().split()) if path.exists() else {}

    def job_of(self, trial):
        record = self.place / "runs" / self.run / f"trials/{trial:05}/batch_job.json"
        return json.loads(record.read_text())["job"] if record.exists() else 0

    def start(self):
        self.run = self.submit()["run"]

    def all_run(self, count=4):
        support.wait_for(lambda: sum(self.ran().values()) == count, 60, "all trials")

    def manager(self):
        return json.loads((self.place / "runs" / self.run / "state.json").read_text())["manager"]["pid"]

    def kill_manager(self):
        os.kill(self.manager(), signal.SIGKILL)
        self.until("lost")

    def nodes(self, state, *more):
        self.on_node("scontrol", "update", "nodename=n[1-3]", f"state={state}", *more)

    def reason_of(self, trial):
        return self.trials()[trial]["reason"]


class Placed(Jobs):
    def test_each_is_a_job_and_has_what_it_would_have_in_an_allocation(self):
        self.write_trials('echo "$SLIPWAY_PARAMS" > params."$1"; echo $SLIPWAY_TRIAL > trial."$1"; echo FoM: "$1"', parallel=2)
        self.start()
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.states(), {"complete": 4})
        self.assertEqual([trial["objective"] for trial in self.trials()], [1, 2, 3, 4])
        self.assertEqual(len({self.job_of(trial) for trial in range(4)} - {0}), 4)
        self.assertEqual(self.ran(), {"1": 1, "2": 1, "3": 1, "4": 1})
        self.assertEqual([json.loads((self.place / f"params.{x}").read_text()) for x in range(1, 5)],
                         [{"x": x} for x in range(1, 5)])
        self.assertEqual([int((self.place / f"trial.{x}").read_text()) for x in range(1, 5)], [0, 1, 2, 3])
        self.assertEqual(self.status()["batch_job"], 0)
        self.assertEqual(json.loads(self.slipway("trials", "best", "--json").stdout)["trials"][0]["trial"], 3)

    def test_of_several_nodes_have_them(self):
        self.write_trials("hostname > host.$1.$RANK; echo FoM: 1", trials=2, parallel=1, ranks_per_node=1)
        spec = json.loads((self.place / "exp.yaml").read_text())
        spec["ensemble"]["nodes_per_trial"] = 2
        (self.place / "exp.yaml").write_text(json.dumps(spec))
        self.start()
        self.slipway("wait", "--timeout", "110s")
        for x in (1, 2):
            self.assertEqual(len({path.read_text() for path in self.place.glob(f"host.{x}.*")}), 2)

    def test_plan_shows_the_job_of_a_trial_word_for_word(self):
        self.write_trials("true", time_limit="3m")
        shown = self.slipway("plan", "exp.yaml").stdout
        self.assertIn("submit: job.sh, one for each trial", shown)
        self.start()
        self.slipway("wait", "--timeout", "200s", status=None)
        submitted = (self.place / "runs" / self.run / "trials/00000/job.sh").read_text()
        script = shown[shown.index("#!/bin/bash"):shown.index("\nstore:")].replace("small-<time>-<id>", self.run)
        self.assertEqual(script.replace("'", ""), submitted.replace("'", ""))  # its folder has no name to be quoted yet

    def test_manager_may_be_in_a_job_itself(self):
        self.write_trials('env | grep ^SLURM_JOB_NAME > name."$1"; echo FoM: "$1"')
        job = self.bed.submit(f"#!/bin/sh\ncd {self.place} && {self.program} run exp.yaml\n", "--ntasks=1")
        self.assertEqual(self.bed.wait_for_end(job, patience_s=60), "COMPLETED")
        self.assertEqual(self.states(), {"complete": 4})
        self.assertEqual((self.place / "name.3").read_text(), "SLURM_JOB_NAME=small-00002\n")

    def test_those_that_wait_are_told(self):
        self.nodes("drain", "reason=test")
        self.addCleanup(self.nodes, "resume")
        self.write_trials("true")
        self.start()
        support.wait_for(lambda: "4 jobs in the queue (job" in self.status()["reason"], 60, "the reason")
        self.assertEqual(self.states(), {"waiting": 4})
        self.assertEqual({(trial["started"], trial["reason"]) for trial in self.trials()}, {(None, "")})
        self.assertIn("waiting", self.slipway("trials", "ls").stdout)
        self.slipway("cancel")
        self.assertEqual(self.status()["phase"], "cancelled")
        self.assertEqual({trial["duration_s"] for trial in self.trials()}, {None})
        self.assertEqual(self.in_the_queue(), [])
        self.assertEqual(self.ran(), {})

    def test_options_of_sbatch_reach_the_trials_of_an_arrays_task(self):
        """The variables of the task are not those of the trials' jobs."""
        self.write_trials('echo "$SLURM_ARRAY_JOB_ID" > array."$1"; echo FoM: "$1"', {"extra": ["--nice=5"]}, trials=2,
                          parallel=2)
        job = self.bed.submit(f"#!/bin/sh\ncd {self.place} && {self.program} run exp.yaml\n", "--ntasks=1", "--array=3")
        self.assertEqual(self.bed.wait_for_end(job, patience_s=60), "COMPLETED")
        self.assertEqual(self.states(), {"complete": 2})
        self.assertEqual([(self.place / f"array.{x}").read_text() for x in (1, 2)], ["\n", "\n"])

    def test_those_that_a_drained_partition_refuses_are_submitted_later(self):
        self.write_trials('while [ ! -e go ]; do sleep 0.1; done; echo FoM: "$1"', {"partition": "short"}, parallel=1,
                          time_limit="1m")
        self.start()
        self.all_run(1)
        self.close_partition("short", "drain")
        (self.place / "go").touch()
        log = self.place / "runs" / self.run / "manager.log"
        support.wait_for(lambda: "'short' is drained or inactive" in log.read_text(), 60, "the refusal")
        self.assertEqual(self.states()["complete"], 1)
        self.open_partition("short")
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.states(), {"complete": 4})

    def test_those_in_a_partition_that_is_down_wait_in_the_queue(self):
        self.close_partition("short", "down")
        self.write_trials('echo FoM: "$1"', {"partition": "short"}, trials=2, parallel=2, time_limit="1m")
        self.start()
        support.wait_for(lambda: len(self.in_the_queue()) == 2, 60, "the jobs")
        support.wait_for(lambda: "its partition is down" in self.status()["reason"], 60, "the reason")
        self.open_partition("short")
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.states(), {"complete": 2})


class ManagerGone(Jobs):
    def test_next_one_finds_the_jobs_and_nothing_runs_twice(self):
        self.write_trials('while [ ! -e go ]; do sleep 0.1; done; echo FoM: "$1"', parallel=3)
        self.start()
        self.all_run(3)
        self.kill_manager()
        (self.place / "go").touch()
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the jobs")
        self.slipway("resume")
        self.assertEqual(self.states(), {"complete": 4})
        self.assertEqual(self.ran(), {"1": 1, "2": 1, "3": 1, "4": 1})
        self.assertEqual({trial["attempts"] for trial in self.trials()}, {1})

    def test_the_time_until_the_next_one_is_nobodys(self):
        self.write_trials('while [ ! -e go ]; do sleep 0.1; done; echo FoM: "$1"', trials=3, parallel=3)
        self.start()
        self.all_run(3)
        self.kill_manager()
        (self.place / "go").touch()
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the jobs")
        time.sleep(4)
        resumed = time.time()
        self.slipway("resume")
        self.assertEqual(self.states(), {"complete": 3})
        for trial in self.trials():
            self.assertLess(datetime.fromisoformat(trial["ended"].replace("Z", "+00:00")).timestamp(), resumed - 3)

    def test_one_that_was_submitted_and_never_noted_is_found_by_its_comment(self):
        self.write_trials('while [ ! -e go ]; do sleep 0.1; done; echo FoM: "$1"', trials=4, parallel=4)
        self.nodes("drain", "reason=test")
        self.start()
        support.wait_for(lambda: len(self.in_the_queue()) == 4, 60, "the jobs")
        self.kill_manager()
        (self.place / "runs" / self.run / "trials/00002/batch_job.json").unlink()
        self.nodes("resume")
        (self.place / "go").touch()
        self.slipway("resume")
        self.assertEqual(self.ran(), {"1": 1, "2": 1, "3": 1, "4": 1})
        self.assertEqual({trial["attempts"] for trial in self.trials()}, {1})

    def test_cancel_ends_its_jobs(self):
        self.write_trials("sleep 300")
        self.start()
        self.all_run()
        self.kill_manager()
        self.assertIn("4 jobs of trials were ended", self.slipway("cancel").stdout)
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the jobs")

    def test_kills_at_any_moment_lose_nothing(self):
        """The last trial does not end before the last kill."""
        self.write_trials('sleep 0.5; while [ "$1" = 4 ] && [ ! -e go ]; do sleep 0.1; done; echo FoM: "$1"', parallel=2)
        self.start()
        for kill in range(3):
            time.sleep(0.4 + 0.7 * kill)
            self.kill_manager()
            resumed = self.slipway_in_background("resume")
            support.wait_for(lambda: self.status()["phase"] != "lost", 60, "the next manager")
        (self.place / "go").touch()
        resumed.wait(90)
        self.assertEqual(self.states(), {"complete": 4})
        self.assertEqual(self.ran(), {"1": 1, "2": 1, "3": 1, "4": 1})

    def slipway_in_background(self, *words):
        started = subprocess.Popen([self.program, *words], env=self.bed.environment, cwd=self.place,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   **support.ordinary_user())
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        return started


class Outcomes(Jobs):
    def test_cancel_ends_all_jobs_and_resume_goes_on(self):
        self.write_trials('[ -e go ] || sleep 60; echo FoM: "$1"', parallel=2)
        self.start()
        self.all_run(2)
        self.slipway("cancel")
        self.assertEqual([job for job in self.in_the_queue() if not job.endswith("COMPLETING")], [])
        self.assertEqual(self.states(), {"queued": 2})
        (self.place / "go").touch()
        self.slipway("resume")
        self.assertEqual(self.states(), {"complete": 4})

    def test_a_second_ctrl_c_kills_the_jobs_at_once(self):
        self.write_trials('trap "" TERM; [ -e go ] || while :; do sleep 1; done; echo FoM: "$1"', parallel=2)
        said = self.place / "said"
        with said.open("w") as stderr:
            started = subprocess.Popen([self.program, "run", "exp.yaml"], env=self.bed.environment, cwd=self.place,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
                                       **support.ordinary_user())
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        self.all_run(2)
        self.run = self.status()["run"]
        started.send_signal(signal.SIGINT)
        trials = [self.place / "runs" / self.run / f"trials/{trial:05}" for trial in range(2)]
        support.wait_for(lambda: all((trial / "stop_request").exists() for trial in trials), 60, "the first Ctrl-C")
        time.sleep(0.3)  # what comes sooner is the same press of the key
        started.send_signal(signal.SIGINT)
        self.assertEqual(started.wait(60), 130)
        self.assertIn("killing the trials' jobs", said.read_text())
        self.assertFalse(any((trial / "trial_ending.json").exists() for trial in trials), "nobody has a last word")
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the jobs")
        self.assertEqual(self.states(), {"queued": 2})
        (self.place / "go").touch()
        self.slipway("resume")
        self.assertEqual(self.states(), {"complete": 4})

    def test_are_told_apart(self):
        self.write_trials('case $1 in 1) exit 3;; 4) echo FoM: 4;; *) sleep 60;; esac')
        self.start()
        self.all_run()
        self.on_node("scancel", self.job_of(1))
        self.on_node("scancel", "--batch", "--signal=USR1", self.job_of(2))
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.states(), {"failed": 3, "complete": 1})
        self.assertIn("exit status 3", self.reason_of(0))
        self.assertIn("cancelled", self.reason_of(1))
        self.assertIn("time limit", self.reason_of(2))

    def test_one_that_is_cancelled_in_the_queue_has_not_failed(self):
        self.write_trials('echo FoM: "$1"', trials=2, parallel=2)
        self.nodes("drain", "reason=test")
        self.start()
        support.wait_for(lambda: len(self.in_the_queue()) == 2, 60, "the jobs")
        self.on_node("scancel", self.job_of(1))
        support.wait_for(lambda: self.states()["cancelled"] == 1, 60, "the end of the job")
        self.nodes("resume")
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.states(), {"complete": 1, "cancelled": 1})
        self.assertIn("cancelled before it began: job", self.reason_of(1))
        self.assertEqual(self.ran(), {"1": 1})

    def test_its_own_time_limit_counts_from_the_start_of_its_job(self):
        self.write_trials("sleep 60", trials=1, parallel=1)
        spec = json.loads((self.place / "exp.yaml").read_text())
        spec["ensemble"]["time_limit"] = "8s"  # in which a busy machine begins the program
        (self.place / "exp.yaml").write_text(json.dumps(spec))
        self.nodes("drain", "reason=test")
        self.start()
        support.wait_for(lambda: "in the queue" in self.status()["reason"], 60, "the queue")
        time.sleep(9)
        self.assertEqual(self.status()["phase"], "running")
        self.nodes("resume")
        self.slipway("wait", "--timeout", "200s", status=1)
        self.assertEqual(self.ran(), {"1": 1})
        self.assertIn("time limit: 8", self.reason_of(0))

    def test_a_lost_node_costs_its_trials_an_attempt_and_no_more(self):
        self.write_trials('hostname > host."$1"; [ $SLIPWAY_ATTEMPT -gt 1 ] || sleep 60; echo FoM: "$1"', {"requeue": False}, trials=3,
                          parallel=3, ranks_per_node=8)
        self.start()
        support.wait_for(lambda: sum(path.read_text() != "" for path in self.place.glob("host.*")) == 3, 60, "all trials")
        self.addCleanup(self.repair)
        self.bed.order("kill", "node:n2")
        (lost,) = [int(path.suffix[1:]) for path in self.place.glob("host.*") if path.read_text() == "n2\n"]
        self.give_up("n2")
        self.wait_for_next_attempt(lost - 1)
        self.slipway("cancel")
        self.assertEqual([trial["attempts"] for trial in self.trials()], [2 if x == lost else 1 for x in (1, 2, 3)])

    def wait_for_next_attempt(self, trial):
        try:
            support.wait_for(lambda: self.trials()[trial]["attempts"] == 2, 90, "the trial's next job")
        except AssertionError:
            self.fail(f"{self.trials()}\n{self.bed.client('scontrol', 'show', 'job').stdout}")

    def repair(self):
        self.bed.start_again("n2")
        self.bed.wait_until_idle()


class Limits(Jobs):
    OPTIONS = ("--nodes", "2", "--conf", "MaxJobCount=3", "--conf", "MinJobAge=2")

    def test_of_the_site_let_trials_wait(self):
        self.write_trials('echo FoM: "$1"')
        self.start()
        self.slipway("wait", "--timeout", "110s")
        self.assertEqual(self.states(), {"complete": 4})
        events = (self.place / "runs" / self.run / "events.jsonl").read_text()
        self.assertIn("submission_waits", events)


if __name__ == "__main__":
    support.main()
