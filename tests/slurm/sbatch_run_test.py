#!/usr/bin/python3
"""Runs whose options only sbatch reads: submitted with it, among banners, and when its answer is lost; and what happens
in the moment of a submission."""

import json
import shutil
import subprocess

import engine_test
import support


class BySbatch(engine_test.Engine):
    OPTIONS = ("--nodes", "2", "--banner", "Welcome to the cluster")
    NICE = {"extra": ["--nice=77"]}

    def setUp(self):
        super().setUp()
        self.tools = self.place / "tools"
        self.tools.mkdir()
        self.real = shutil.which("sbatch", path=self.bed.environment["PATH"])
        self.environment = {**self.bed.environment, "PATH": f"{self.tools}:{self.bed.environment['PATH']}"}

    def replace_sbatch(self, commands):
        """A script of the site in place of sbatch; $REAL is the real one."""
        (self.tools / "sbatch").write_text(f"#!/bin/sh\nREAL={self.real}\n{commands}\n")
        (self.tools / "sbatch").chmod(0o755)

    def start(self, *words):
        return subprocess.Popen([self.program, *words], env=self.environment, cwd=self.place, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                **support.ordinary_user())

    def submit_by(self, commands, status=0):
        self.replace_sbatch(commands)
        with self.start("submit", "exp.yaml", "--json") as process:
            output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, errors)
        return json.loads(output), errors

    def test_options_of_sbatch_reach_the_job(self):
        self.write("touch ran", self.NICE)
        self.assertIn("with sbatch, which alone reads --nice=77", self.slipway("plan", "exp.yaml").stdout)
        job = self.submit()["batch_job"]
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.bed.job(job)["Nice"], "77")
        self.assertTrue((self.place / "ran").exists())

    def test_variables_of_the_user_change_nothing(self):
        self.write("true", {**self.NICE, "partition": "short"})
        self.environment["SBATCH_PARTITION"] = "urgent"
        submitted, _ = self.submit_by('exec "$REAL" "$@"')
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.bed.job(submitted["batch_job"])["Partition"], "short")

    def test_limits_of_the_shell_are_not_passed_on(self):
        """Neither with nor without sbatch, unless that is asked for."""
        def stack_of(extra):
            self.write("ulimit -s > stack", {"extra": extra})
            submit = 'ulimit -S -s 4000 && exec "$0" submit exp.yaml --json'
            done = subprocess.run(["sh", "-c", submit, self.program], env=self.environment, cwd=self.place, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=60, **support.ordinary_user())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.slipway("wait", "--timeout", "200s")
            return (self.place / "stack").read_text()

        without = stack_of([])
        self.assertNotEqual(without, "4000\n")
        self.assertEqual(stack_of(["--nice=77"]), without)
        self.assertEqual(stack_of(["--propagate=STACK"]), "4000\n")

    def test_what_a_site_prints_around_the_number_is_overlooked(self):
        self.write("true", self.NICE)
        submitted, _ = self.submit_by('echo Welcome; echo 3 nodes are down >&2; "$REAL" "$@"; echo Enjoy')
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.bed.wait_for_end(submitted["batch_job"]), "COMPLETED")

    def test_a_lost_answer_is_found_again_by_the_jobs_comment(self):
        self.write("true", self.NICE)
        submitted, _ = self.submit_by('"$REAL" "$@" >/dev/null; kill -9 $$')
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.bed.wait_for_end(submitted["batch_job"]), "COMPLETED")
        self.assertEqual(self.status()["batch_job"], submitted["batch_job"])

    def test_an_option_that_sbatch_does_not_know_is_refused_in_its_words(self):
        self.write("true", {"extra": ["--nonsense=1"]})
        refused = self.slipway("submit", "exp.yaml", status=None)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("nonsense", refused.stderr)
        self.assertEqual(list((self.place / "runs").iterdir()), [])

    def test_a_cancel_during_the_submission_counts(self):
        self.write("touch ran", self.NICE)
        self.replace_sbatch('touch asked; while ! [ -e go ]; do sleep 0.1; done; exec "$REAL" "$@"')
        with self.start("submit", "exp.yaml") as submission:
            support.wait_for((self.place / "asked").exists, 60, "the submission")
            with self.start("cancel") as cancel:  # it waits for what becomes of the submission
                support.wait_for(lambda: list(self.place.glob("runs/*/cancel_requested")), 60, "the request")
                (self.place / "go").touch()
                submission.communicate(timeout=60)
                _, errors = cancel.communicate(timeout=60)
                self.assertEqual(cancel.returncode, 0, errors)
        self.assertEqual(self.status()["phase"], "cancelled")
        self.assertFalse((self.place / "ran").exists())

    def test_a_job_whose_number_cannot_be_written_down_is_still_there(self):
        self.write("touch ran", self.NICE)
        submitted, _ = self.submit_by('mkdir -p "$(dirname "$2")/batch_job.json/x"; exec "$REAL" "$@"')
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.status()["batch_job"], submitted["batch_job"])
        self.assertTrue((self.place / "ran").exists())

    def test_a_run_that_goes_on_without_a_job_forgets_the_old_one(self):
        self.write('test -e ready || exit 1; echo "$SLURM_JOB_ID" >where')
        first = self.submit()["batch_job"]
        self.slipway("wait", "--timeout", "200s", status=1)
        run = self.status()["run"]
        (self.place / "ready").touch()
        done = subprocess.run(["salloc", "-N1", "-n1", self.program, "resume"], env=self.bed.environment, cwd=self.place,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=90, **support.ordinary_user())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((self.place / "runs" / run / "batch_job.json").exists())
        self.assertNotEqual((self.place / "where").read_text().strip(), str(first))
        self.assertEqual(self.status()["phase"], "succeeded")


if __name__ == "__main__":
    support.main()
