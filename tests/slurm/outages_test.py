#!/usr/bin/python3
"""Runs while parts of Slurm are out of order: the controller, munge, the daemon of a node. SLIPWAY_LONG=1 keeps the
controller silent for 30 seconds."""

import contextlib
import json
import os
import signal
import subprocess
import time

import engine_test
import nodes_test
import support

LONG = bool(os.environ.get("SLIPWAY_LONG"))
SILENCE_S = 30 if LONG else 3
UNTIL_TOLD = "echo up > up.$RANK; while ! [ -e go ]; do sleep 0.1; done; echo FoM: 1"


class Outages(nodes_test.OnNodes):
    OPTIONS = ("--nodes", "3", "--mode", "namespaces", "--conf", "SlurmdTimeout=60")

    @contextlib.contextmanager
    def without(self, target, how=("freeze", "thaw")):
        """Whatever the body does, it is there again afterwards."""
        self.order(how[0], target)
        try:
            yield
        finally:
            self.order(how[1], target)
            self.bed.ask("sinfo")

    def start(self, command=UNTIL_TOLD, ranks=2, **more):
        """A run with a rank on each of two nodes, which run; returns its id and its job."""
        self.write(command, nodes=ranks, ranks_per_node=1, **more)
        submitted = self.submit()
        self.addCleanup(self.bed.client, "scancel", submitted["batch_job"])  # when the test fails
        support.wait_for(lambda: len(self.texts("up.*")) == ranks, 60, "all ranks")
        self.until("running")
        return submitted["run"], submitted["batch_job"]

    def go(self):
        (self.place / "go").touch()

    def no_step_is_left(self, run, job):
        self.nothing_is_left(run)
        support.wait_for(lambda: self.bed.state_of(job) not in ("RUNNING", "COMPLETING"), 60, "the end of the job")
        steps = self.bed.ask("squeue", "--steps", "--noheader")
        self.assertEqual([line for line in steps.splitlines() if line.split()[0].startswith(f"{job}.")], [])


class Controller(Outages):
    def run_through(self, how, seconds_before=0):
        """A run that starts before the controller falls silent, and ends after that."""
        run, job = self.start()
        time.sleep(seconds_before)
        with self.without("slurmctld", how):
            silent = time.monotonic()
            self.assertEqual(self.status()["phase"], "running")
            self.assertIn(f"what Slurm says about job {job} is not known", self.status()["reason"])
            self.assertIn("is not known", self.slipway("explain").stdout)
            self.slipway("wait", "--timeout", "1s", status=75)
            time.sleep(max(0, SILENCE_S - (time.monotonic() - silent)))
        self.go()
        self.assertIn("succeeded", self.slipway("wait", "--timeout", "200s").stdout)
        self.assertEqual(self.bed.wait_for_end(job), "COMPLETED")
        self.no_step_is_left(run, job)

    def test_a_run_does_not_need_it(self):
        self.run_through(("freeze", "thaw"))

    def test_nor_the_same_one(self):
        """That it knows again what it had written down: a job of a few seconds it may not have."""
        self.run_through(("kill", "start"), seconds_before=8)

    def test_cancel_says_that_it_could_not(self):
        run, job = self.start()
        with self.without("slurmctld"):
            refused = self.slipway("cancel", status=3)
            self.assertIn("Slurm", refused.stderr)
            self.assertIn("next:", refused.stderr)
        self.assertEqual(self.status()["phase"], "running")
        self.slipway("cancel")
        self.assertEqual(self.status()["phase"], "cancelled")
        self.no_step_is_left(run, job)

    def test_nothing_is_made_of_a_run_that_cannot_be_submitted(self):
        self.write("true")
        with self.without("slurmctld"):
            refused = self.slipway("submit", "exp.yaml", status=3)
        self.assertIn("scontrol ping", refused.stderr)
        self.assertFalse((self.place / "runs").exists())

    def test_a_run_is_queued_again_when_it_answers(self):
        """The warning of the time limit comes while nobody can be asked."""
        ensemble = dict(engine_test.Running.ENSEMBLE, trials=6, parallel=1)
        self.write(self.FIRST_OF_TRIALS, ensemble=ensemble)
        job = self.submit()["batch_job"]
        self.first_trial_is_complete(2)
        with self.without("slurmctld"):
            os.kill(self.manager(), signal.SIGUSR1)
            log = self.place / "runs" / self.status()["run"] / "manager.log"
            support.wait_for(lambda: "cannot be queued again yet" in log.read_text(), 60, "the first try")
        self.slipway("wait", "--timeout", "80s")
        self.assertEqual(self.bed.job(job)["Restarts"], "1")
        self.assertEqual(self.states_of_trials(), {"complete": 6})


class EndMeanwhile(Outages):
    """Runs that end while Slurm cannot be told. Its own daemons try again a minute later, and keep the job until then."""

    def run_through(self, target, how):
        run, job = self.start()
        with self.without(target, how):
            self.go()
            self.assertIn("succeeded", self.slipway("wait", "--timeout", "200s").stdout)
            self.assertIn("succeeded", self.slipway("explain").stdout)
            self.nothing_is_left(run)
        if LONG:
            self.assertEqual(self.bed.wait_for_end(job, patience_s=120), "COMPLETED")
            self.no_step_is_left(run, job)


class EndWithoutController(EndMeanwhile):
    def test_is_known_all_the_same(self):
        self.run_through("slurmctld", ("freeze", "thaw"))


class EndWithoutMunge(EndMeanwhile):
    def test_is_known_all_the_same(self):
        self.run_through("munge", ("end", "start"))


class Submission(Outages):
    """The controller falls silent in the middle of a submission."""

    def interrupt_submission(self, helper_commands):
        """Submits through a helper that does this when it is to submit, with $REAL and $REQUEST, and that says when it is
        there by `asked`, and waits for `frozen`."""
        helper = self.program.parent.parent / "libexec/slipway/slipway-slurm"
        real = helper.rename(helper.with_name("slipway-slurm-real"))
        self.addCleanup(lambda: real.rename(helper) if real.exists() else None)
        helper.write_text(f"#!/bin/sh\nREAL={real} REQUEST={self.place}/request.$$\ncat > $REQUEST\n"
                          'if grep -q \'"ask":"submit"\' $REQUEST; then\n'
                          f"cd {self.place}\n{helper_commands}\nfi\nexec $REAL < $REQUEST\n")
        helper.chmod(0o755)
        self.write("while ! [ -e go ]; do sleep 0.1; done; touch ran; echo FoM: 1")
        with subprocess.Popen([self.program, "submit", "exp.yaml"], env=self.bed.environment, cwd=self.place, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              **support.ordinary_user()) as submission:
            support.wait_for((self.place / "asked").exists, 60, "the submission")
            with self.without("slurmctld"):
                (self.place / "frozen").touch()
                _, errors = submission.communicate(timeout=90)
                self.assertEqual(submission.returncode, 3, errors)
                self.assertIn("shows in slipway status small-", errors)
                self.assertIn("is not known", self.status()["reason"])
        real.rename(helper)
        self.go()

    def test_that_did_not_reach_it_is_said_not_to_have_happened(self):
        self.interrupt_submission("touch asked; while ! [ -e frozen ]; do sleep 0.1; done")
        self.assertEqual(self.status()["phase"], "lost")
        self.assertIn("it was not submitted (", self.status()["reason"])
        self.slipway("resume")
        self.slipway("wait", "--timeout", "200s")
        self.assertTrue((self.place / "ran").exists())

    def test_whose_answer_is_lost_has_happened(self):
        self.interrupt_submission("$REAL < $REQUEST > answer; touch asked; while ! [ -e frozen ]; do sleep 0.1; done; exit 1")
        job = json.loads((self.place / "answer").read_text().splitlines()[-1])["result"]["job"]
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.status()["phase"], "succeeded")
        self.assertEqual(self.status()["batch_job"], job)


class Munge(Outages):
    def test_is_named_when_nothing_can_be_submitted_or_cancelled(self):
        run, job = self.start()
        with self.without("munge", ("end", "start")):
            self.assertEqual(self.status()["phase"], "running")
            self.assertIn("munge", self.status()["reason"])
            for words in (("cancel",), ("submit", "exp.yaml")):
                self.assertIn("munge", self.slipway(*words, status=3).stderr)
        self.slipway("cancel")
        self.assertEqual(self.status()["phase"], "cancelled")
        self.no_step_is_left(run, job)


class Daemon(Outages):
    """The slurmd of a node is gone, and what runs there is not."""

    def test_the_run_goes_on(self):
        run, job = self.start(ranks=3)
        with self.without("slurmd:n2", ("kill", "start")):
            time.sleep(1)
            self.go()
            self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.status()["phase"], "succeeded")
        self.assertEqual(self.events(run, "node_lost"), [])
        self.no_step_is_left(run, job)


class DaemonMissed(Outages):
    """The same, and Slurm takes the node for dead."""

    def test_the_job_is_queued_again_and_the_run_is_not_over_meanwhile(self):
        run, job = self.start("echo up > up.$RANK; [ $SLIPWAY_ATTEMPT = 1 ] && sleep 300; echo FoM: 1", ranks=3)
        self.addCleanup(self.bed.order, "start", "slurmd:n2")
        self.order("kill", "slurmd:n2")
        self.give_up("n2")
        support.wait_for(lambda: self.status()["phase"] != "running", 60, "what Slurm makes of it")
        self.assertEqual(self.status()["phase"], "queued", self.status()["reason"])
        self.order("start", "slurmd:n2")
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.bed.job(job)["Restarts"], "1")
        self.assertEqual(self.status()["phase"], "succeeded")
        self.no_step_is_left(run, job)


if __name__ == "__main__":
    support.main()
