#!/usr/bin/python3
"""How runs end that somebody ends: a rank, a node, a job; and what becomes of a job that is one too many."""

import contextlib
import json
import os
import shutil
import signal
import time

import outages_test
import support


class Endings(outages_test.Outages):
    FIRST_WAITS = "echo up > up.$RANK; [ $SLIPWAY_ATTEMPT = 1 ] && exec sleep 300; echo FoM: 1"

    def resume(self):
        self.slipway("resume")
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.status()["phase"], "succeeded")


class Killed(Endings):
    def test_a_killed_rank_is_named_and_takes_the_others_down(self):
        own = f"99{os.getpid()}"  # no other test sleeps so long
        run, job = self.start(f"echo up > up.$RANK; [ $SLIPWAY_ATTEMPT = 1 ] && exec sleep {own}$RANK; echo FoM: 1")
        (rank,) = support.wait_for(lambda: self.processes(f"sleep\0{own}1\0"), 60, "the program of rank 1")
        os.kill(rank, signal.SIGKILL)
        self.slipway("wait", "--timeout", "200s", status=1)
        self.assertEqual(self.status()["reason"], "rank 1 on n2 ended with signal 9 (SIGKILL)")
        explained = json.loads(self.slipway("explain", "--json").stdout)
        self.assertEqual(explained["ranks"], [{"rank": 1, "exit_code": 0, "signal": signal.SIGKILL}])
        self.assertIn("memory", explained["next"][0])
        self.no_step_is_left(run, job)
        self.resume()

    def test_scancel_of_a_running_job_cancels_the_run(self):
        run, job = self.start(self.FIRST_WAITS)
        self.assertEqual(self.bed.client("scancel", job).returncode, 0)
        self.slipway("wait", "--timeout", "200s", status=130)
        self.assertEqual(self.status()["phase"], "cancelled")
        self.assertIn("scancel", self.status()["reason"])
        self.assertEqual(self.bed.wait_for_end(job), "CANCELLED")
        self.assertIn(f"slipway resume {run}", self.slipway("explain").stdout)
        self.no_step_is_left(run, job)
        self.resume()

    def test_a_node_that_is_drained_ends_its_runs_first(self):
        run, job = self.start(ranks=3)
        self.order("drain", "n2")
        self.addCleanup(self.undrain)
        self.write("true", nodes=3)
        waiting = self.submit()
        self.go()
        self.slipway("wait", run, "--timeout", "200s")
        self.no_step_is_left(run, job)
        support.wait_for(lambda: "waits" in self.status()["reason"], 60, "the reason")
        self.assertIn("drain", self.slipway("explain").stdout.lower())
        self.undrain()
        self.slipway("wait", waiting["run"], "--timeout", "200s")

    def undrain(self):
        if self.bed.node_states()["n2"].startswith("dr"):
            self.order("undrain", "n2")


class EndsWellMeanwhile(Endings):
    def test_scancel_counts_although_neither_rank_nor_manager_was_signalled(self):
        """The slurmds that are to signal them are frozen, and the rank ends well. Nor is there an srun to be told."""
        run, job = self.start(ranks=1)
        stored = self.place / "runs" / run / "state.json"
        with contextlib.ExitStack() as frozen:
            for node in self.bed.node_states():
                frozen.enter_context(self.without(f"slurmd:{node}"))
            self.assertEqual(self.bed.client("scancel", job).returncode, 0)
            self.go()
            support.wait_for(lambda: json.loads(stored.read_text())["ended"], 60, "the manager's last word")
        ended = json.loads(stored.read_text())
        self.assertEqual((ended["phase"], ended["cause"]["kind"]), ("cancelled", "job_removed"))
        self.assertIn("scancel", ended["reason"])


class PutBack(Endings):
    """Slurm puts the job back into the queue: the run waits there, and goes on."""

    def goes_on(self, run, job, let):
        """The job stays in the queue until `let` is called."""
        support.wait_for(lambda: self.status()["phase"] != "running", 60, "what Slurm makes of it")
        self.assertEqual(self.status()["phase"], "queued", self.status()["reason"])
        let()
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.status()["phase"], "succeeded")
        self.assertEqual(self.status()["attempt"], 2)
        self.no_step_is_left(run, job)

    def test_by_somebody(self):
        run, job = self.start(self.FIRST_WAITS)
        self.close_partition("debug", "down")
        self.assertEqual(self.bed.client("scontrol", "requeue", job).returncode, 0)
        self.goes_on(run, job, lambda: self.open_partition("debug"))

    def test_for_a_job_of_higher_priority(self):
        run, job = self.start(self.FIRST_WAITS, ranks=3, slurm={"exclusive": True})
        over = self.place / "over"
        urgent = self.bed.submit(f"#!/bin/sh\nwhile ! [ -e {over} ]; do sleep 0.1; done\n", "--partition=urgent", "-N3",
                                 "--exclusive")
        self.goes_on(run, job, over.touch)
        self.assertEqual(self.bed.wait_for_end(urgent), "COMPLETED")


class Grace(Endings):
    """Slurm gives a job that must make room some time, and says so to its manager alone."""
    OPTIONS = ("--nodes", "3", "--mode", "namespaces", "--conf", "SlurmctldParameters=preempt_send_user_signal", "--conf",
               "PartitionName=patient Nodes=ALL MaxTime=60 DefaultTime=10 PriorityTier=1 GraceTime=60")
    SAVES = ("echo up > up.$RANK; [ $SLIPWAY_ATTEMPT = 2 ] && exit; "
             "while ! [ -e $SLIPWAY_STOP_FILE ]; do sleep 0.1; done; "
             "cp $SLIPWAY_STOP_FILE stop.$RANK; sleep 6; hostname > saved.$RANK")

    def write(self, *words, **more):
        """A program that knows the stop file."""
        super().write(*words, **more)
        self.change(train={"metrics": {"from": "runtime"}})

    def test_ranks_of_all_nodes_save_in_it(self):
        run, job = self.start(self.SAVES, ranks=3, slurm={"exclusive": True, "partition": "patient"})
        urgent = self.bed.submit("#!/bin/sh\nsleep 1\n", "--partition=urgent", "-N3", "--exclusive")
        # The first one is that of the submission.
        again = support.wait_for(lambda: self.events(run, "queued")[1:], 90, "the queue")
        self.assertIn("was preempted", again[0]["reason"])
        self.assertEqual(self.texts("saved.*"), {"0": "n1", "1": "n2", "2": "n3"})
        self.assertEqual({json.loads(text)["reason"] for text in self.texts("stop.*").values()}, {"time_limit"})
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual((self.status()["phase"], self.status()["attempt"]), ("succeeded", 2))
        self.no_step_is_left(run, job)
        self.assertEqual(self.bed.wait_for_end(urgent), "COMPLETED")


class Refused(Endings):
    def test_what_slurm_does_not_take_names_the_setting_and_leaves_nothing_behind(self):
        for slurm, launch, word, mend in (
                ({"account": "nobody"}, {}, "launch.slurm.account", "launch.slurm.account=physics"),
                ({"partition": "debgu"}, {}, "debgu", "launch.slurm.partition=debug"),
                ({"partition": "short"}, {"time_limit": "10d"}, "time_limit", "launch.time_limit=1m")):
            self.write("echo FoM: 1", slurm, **launch)
            refused = self.slipway("submit", "exp.yaml", status=2)
            self.assertIn(word, refused.stderr)
            self.assertIn("next:", refused.stderr)
            self.assertIn("was not submitted, and its folder is removed", refused.stderr)
            before = set((self.place / "runs").iterdir())
            self.slipway("submit", "exp.yaml", "--set", mend)
            self.slipway("wait", "--timeout", "200s")
            (run,) = set((self.place / "runs").iterdir()) - before
            self.assertEqual(self.status()["phase"], "succeeded")
            self.assertEqual(self.status()["run"], run.name)
            shutil.rmtree(run)
            self.assertEqual(list((self.place / "runs").iterdir()), [])


class WithoutAMemory(Endings):
    """slurmctld forgets jobs at once."""

    def until_forgotten(self, job):
        support.wait_for(lambda: not self.bed.job(job), 90, "Slurm to forget the job")

    def killed(self):
        """The job of a run whose manager has left no last word, and which slurmctld does not know any more."""
        _, job = self.start(self.FIRST_WAITS, slurm={"requeue": False})
        os.kill(self.manager(), signal.SIGKILL)
        self.until_forgotten(job)
        return job


class Forgotten(WithoutAMemory):
    """There is no slurmdbd."""
    OPTIONS = ("--nodes", "3", "--mode", "namespaces", "--conf", "MinJobAge=2")

    def test_how_a_run_ended_is_its_own_record(self):
        self.write("exit $(cat status)")
        (self.place / "status").write_text("7")
        job = self.submit()["batch_job"]
        self.slipway("wait", "--timeout", "200s", status=1)
        self.until_forgotten(job)
        self.assertIn("ended with exit status 7", self.status()["reason"])
        self.assertIn("exit status 7", self.slipway("explain").stdout)
        (self.place / "status").write_text("0")
        self.resume()

    def test_a_run_whose_manager_left_no_word_is_lost_and_can_be_resumed(self):
        job = self.killed()
        self.assertEqual(self.status()["phase"], "lost")
        self.assertIn(f"Slurm does not know job {job} any more", self.status()["reason"])
        self.assertEqual(self.processes(str(self.place)), [])
        self.resume()


class Remembered(WithoutAMemory):
    """The site's accounting knows what slurmctld has forgotten."""
    OPTIONS = (*Forgotten.OPTIONS, "--accounting")

    def test_how_the_job_of_a_run_without_a_last_word_ended_is_told(self):
        job = self.killed()
        with self.without("slurmdbd"):
            asked = time.monotonic()
            self.assertEqual(self.status()["phase"], "lost")
            print(f"status answers {time.monotonic() - asked:.1f} s after the question", flush=True)
        state = support.wait_for(lambda: self.status() if self.status()["phase"] == "failed" else None, 60, "the accounting")
        self.assertIn(f"job {job} has failed", state["reason"])
        self.assertIn("SIGKILL", state["reason"])
        self.assertTrue(state["ended"])
        with self.without("slurmctld"):
            self.assertEqual(self.status(), state, "it was written down")
        self.resume()


class KilledHere(Endings):
    """The manager ran on the host where its user asks about the run."""
    OPTIONS = ("--nodes", "1", "--mode", "plain")
    OWNER = support.ordinary_user()

    def test_a_job_that_is_queued_again_still_carries_the_run_out(self):
        _, job = self.start(self.FIRST_WAITS, ranks=1)
        manager = self.manager()
        os.kill(manager, signal.SIGKILL)
        self.assertEqual(self.bed.wait_for_end(job), "FAILED")
        self.assertEqual(self.status()["phase"], "failed")
        self.assertIn(f"job {job} has failed", self.status()["reason"])
        # Held, so that it waits for as long as this test looks.
        self.assertEqual(self.bed.client("scontrol", "requeuehold", job).returncode, 0)
        self.until("queued")
        with self.without("slurmctld"):
            self.assertIn(f"(process {manager} on {os.uname().nodename}) is gone", self.status()["reason"])
            self.slipway("resume", status=4)
        self.assertIn("has not ended", self.slipway("resume", status=4).stderr)
        self.assertEqual(len(self.bed.ask("squeue", "--noheader").splitlines()), 1)
        self.slipway("cancel")
        self.assertEqual(self.status()["phase"], "cancelled")
        self.assertEqual(self.bed.wait_for_end(job), "CANCELLED")


class TwoJobs(Endings):
    def submit_by_hand(self, run):
        done = self.bed.client("sbatch", "--parsable", self.place / "runs" / run / "job.sh")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_a_second_job_leaves_a_run_alone(self):
        run, job = self.start()
        second = self.submit_by_hand(run)
        self.assertEqual(self.bed.wait_for_end(second), "FAILED")
        self.assertIn(f"job {second} leaves it alone", (self.place / "runs" / run / "manager.log").read_text())
        state = self.status()
        self.assertEqual((state["phase"], state["batch_job"], state["attempt"]), ("running", job, 1))
        self.go()
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.status()["batch_job"], job)

    def test_nor_does_it_begin_a_finished_one_again(self):
        self.write("echo FoM: 1")
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.bed.wait_for_end(self.submit_by_hand(run)), "COMPLETED")
        self.assertEqual(self.status()["attempt"], 1)
        self.assertFalse((self.place / "runs" / run / "attempt-2").exists())

    def test_a_job_of_a_submission_that_was_given_up_leaves_it_to_the_next(self):
        """As after an answer that was lost, and a controller that came back late."""
        self.write("echo $SLURM_JOB_ID >> jobs; while ! [ -e go ]; do sleep 0.1; done; echo FoM: 1")
        for node in ("n1", "n2", "n3"):
            self.order("drain", node)
        run = self.submit()
        early = self.submit_by_hand(run["run"])
        for node in ("n3", "n2", "n1"):
            self.order("undrain", node)
        self.assertEqual(self.bed.wait_for_end(early), "FAILED")
        self.go()
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual((self.place / "jobs").read_text().split(), [str(run["batch_job"])])

    def test_nor_does_an_old_one_begin_a_run_that_was_cancelled_meanwhile(self):
        self.write("echo $SLURM_JOB_ID >> jobs; echo FoM: 1")
        for node in ("n1", "n2", "n3"):
            self.order("drain", node)
        run = self.submit()
        old = self.submit_by_hand(run["run"])
        self.slipway("cancel")
        for node in ("n3", "n2", "n1"):
            self.order("undrain", node)
        self.assertEqual(self.bed.wait_for_end(old), "FAILED")
        self.assertIn(f"was cancelled after job {old} was submitted",
                      (self.place / "runs" / run["run"] / "manager.log").read_text())
        self.assertEqual(self.status()["phase"], "cancelled")
        self.assertFalse((self.place / "jobs").exists())
        self.resume()


if __name__ == "__main__":
    support.main()
