#!/usr/bin/python3
"""A home that two clusters share, and a controller that counts its jobs from 1 again: the number of a run's job may be
that of another job, which must be left alone."""

import json
import shutil

import engine_test
import support


class Clusters(engine_test.Engine):
    OPTIONS = ("--nodes", "1")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = support.folder_for_all(cls)
        cls.program = engine_test.install(cls.home / "prefix")

    def setUp(self):
        self.place = self.home / self.id().rsplit(".", 1)[1]
        self.place.mkdir(mode=0o777)
        self.place.chmod(0o777)

    def on(self, bed, *words, **more):
        """A command on the login node of that cluster."""
        return self.slipway(*words, **more, **bed.environment)

    def phase(self, bed):
        return json.loads(self.on(bed, "status", "--json", status=None).stdout)

    def neighbour(self, bed, number):
        """A job of the same user that has this number by chance."""
        job = 0
        while job < number:
            job = int(bed.submit("#!/bin/sh\nsleep 300\n"))
        self.assertEqual(job, number)
        self.addCleanup(bed.client, "scancel", job)
        support.wait_for(lambda: bed.state_of(job) == "RUNNING", 60, "the neighbour")
        return str(job)

    def start(self):
        self.write("touch up; sleep 300")
        submitted = self.submit()
        support.wait_for((self.place / "up").exists, 60, "the program")
        self.until("running")
        return submitted["run"], submitted["batch_job"]


class Two(Clusters):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = support.Bed("--nodes", "1", "--cpus", "32", "--conf", "ClusterName=beta")
        cls.addClassCleanup(cls.other.down)

    def test_no_command_touches_a_job_of_the_other_cluster(self):
        run, job = self.start()
        neighbour = self.neighbour(self.other, job)
        seen = self.phase(self.other)
        self.assertEqual(seen["phase"], "running")
        self.assertIn(f"job {job} belongs to cluster 'testbed', and Slurm here is cluster 'beta'", seen["reason"])
        refused = self.on(self.other, "cancel", status=3)
        self.assertIn("belongs to cluster 'testbed'", refused.stderr)
        self.assertIn("login node of its own cluster", refused.stderr)
        refused = self.on(self.other, "resume", status=4)
        self.assertIn("belongs to cluster 'testbed'", refused.stderr)
        self.assertIn("belongs to cluster 'testbed'", self.on(self.other, "explain").stdout)
        self.assertIn("belongs to cluster 'testbed'", self.on(self.other, "ls").stdout)
        self.assertEqual(self.other.state_of(neighbour), "RUNNING")
        self.assertEqual(self.status()["phase"], "running")
        self.slipway("cancel")
        self.bed.wait_for_end(job)
        self.assertEqual(self.other.state_of(neighbour), "RUNNING")

    def test_a_run_that_waits_is_not_cancelled_from_there(self):
        self.bed.order("drain", "n1")
        self.addCleanup(self.bed.order, "undrain", "n1")
        self.write("touch ran")
        job = self.submit()["batch_job"]
        neighbour = self.neighbour(self.other, job)
        self.on(self.other, "cancel", status=3)
        self.assertEqual(self.other.state_of(neighbour), "RUNNING")
        self.assertEqual(self.bed.state_of(job), "PENDING")
        self.assertEqual(self.phase(self.bed)["phase"], "queued")

    def test_an_ended_run_goes_on_on_the_other_cluster(self):
        self.write("[ $SLIPWAY_ATTEMPT = 2 ] || exit 3; touch done")
        self.submit()
        self.slipway("wait", "--timeout", "200s", status=1)
        self.on(self.other, "resume")
        self.on(self.other, "wait", "--timeout", "200s")
        self.assertEqual(self.phase(self.other)["batch_cluster"], "beta")
        self.assertEqual(self.phase(self.bed)["phase"], "succeeded")


class BegunAgain(Clusters):
    """The controller has lost its state."""

    def lose_state(self):
        self.bed.order("end", "slurmctld")
        for entry in (self.bed.state / "controller").iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        self.bed.order("start", "slurmctld")
        support.wait_for(lambda: self.bed.node_states().get("n1") == "idle", 90, "the node")

    def test_another_job_with_the_number_is_left_alone(self):
        self.bed.order("drain", "n1")
        self.write("touch ran.$SLIPWAY_ATTEMPT")
        job = self.submit()["batch_job"]
        self.lose_state()
        neighbour = self.neighbour(self.bed, job)
        self.assertEqual(self.status()["phase"], "lost")
        self.assertIn(f"does not know job {job} any more", self.status()["reason"])
        self.slipway("cancel", status=None)
        self.assertEqual(self.bed.state_of(neighbour), "RUNNING")
        self.slipway("resume")
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.bed.state_of(neighbour), "RUNNING")


if __name__ == "__main__":
    support.main()
