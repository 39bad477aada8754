#!/usr/bin/python3
"""The faults that a bed can be given, and what Slurm makes of them."""

import time

import support

SLEEPER = "#!/bin/bash\necho started $SLURM_RESTART_COUNT\nwhile ! [ -e go-$SLURM_JOB_ID ]; do sleep 0.1; done\necho ended\n"
QUICK = ("--conf", "SlurmdTimeout=3", "--conf", "MessageTimeout=2")  # a dead node is noticed sooner


class WithFaults(support.TestWithBed):
    OPTIONS = ("--nodes", "2")

    def setUp(self):
        self.bed.wait_until_idle()

    def do(self, *words):
        done = self.bed.order(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start_sleeper(self, *options):
        """A job that ends when it is let."""
        job = self.bed.submit(SLEEPER, "--open-mode=append", *options)
        support.wait_for(lambda: "started" in self.text_of(job), 60, "the start of the job")
        return job

    def let_end(self, job):
        (self.bed.shared / f"go-{job}").touch()
        return self.bed.wait_for_end(job)

    def text_of(self, job):
        path = self.bed.shared / f"{job}.out"
        return path.read_text() if path.exists() else ""

    def cancel(self, job):
        self.bed.client("scancel", job)
        self.bed.wait_for_end(job)


class Faults(WithFaults):
    """What can be done to beds of either mode."""
    OPTIONS = (*WithFaults.OPTIONS, "--conf", "PartitionName=meek Nodes=ALL PriorityTier=1")

    def test_jobs_outlive_a_restart_of_slurmctld(self):
        job = self.start_sleeper()
        self.do("end", "slurmctld")
        self.assertIn("is down", self.do("status"))
        self.assertNotEqual(self.bed.client("scontrol", "ping").returncode, 0)
        self.do("start", "slurmctld")
        self.assertEqual(self.let_end(job), "COMPLETED")

    def test_a_frozen_slurmctld_goes_on_when_it_is_thawed(self):
        self.do("freeze", "slurmctld")
        self.assertNotEqual(self.bed.client("squeue").returncode, 0)
        self.do("thaw", "slurmctld")
        self.assertEqual(self.bed.client("squeue").returncode, 0)

    def test_without_munge_nobody_is_let_in(self):
        self.do("end", "munge")
        refused = self.bed.client("sinfo")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("munge", refused.stderr.lower())
        self.do("start", "munge")
        self.assertEqual(self.bed.client("sinfo").returncode, 0)

    def test_a_job_outlives_its_slurmd(self):
        job = self.start_sleeper("--nodelist=n1")
        self.do("kill", "slurmd:n1")
        self.assertIn("slurmd:n1    is down", self.do("status"))
        self.do("start", "slurmd:n1")
        self.assertEqual(self.let_end(job), "COMPLETED")
        self.assertIn("ended", self.text_of(job))

    def test_a_drained_node_takes_no_jobs(self):
        self.do("drain", "n1")
        self.assertIn("drain", self.bed.node_states()["n1"])
        self.assertEqual(self.bed.client("srun", "-N1", "hostname").stdout.split(), ["n2"])
        self.do("undrain", "n1")
        support.wait_for(lambda: self.bed.node_states()["n1"] == "idle", 60, "the node idle again")

    def test_a_job_of_the_urgent_partition_takes_the_nodes_of_others(self):
        job = self.start_sleeper("--partition=meek", "--nodes=2", "--exclusive")
        done = self.bed.client("srun", "--partition=urgent", "-N2", "--exclusive", "hostname")
        self.assertEqual(sorted(done.stdout.split()), ["n1", "n2"], done.stderr)
        self.assertIn(self.bed.state_of(job), ("PENDING", "RUNNING"))
        self.cancel(job)


class NodesThatDie(WithFaults):
    """What only nodes in namespaces can do."""
    OPTIONS = ("--nodes", "2", "--mode", "namespaces", *QUICK)

    def test_a_killed_node_is_noticed_its_job_requeued_and_the_node_comes_back(self):
        job = self.start_sleeper("--nodelist=n2", "--requeue")
        self.do("kill", "node:n2")
        self.assertIn("slurmd:n2    is down", self.do("status"))
        killed = time.monotonic()
        support.wait_for(lambda: self.bed.node_states()["n2"] == "down*", 90, "the node down")
        print(f"noticed after {time.monotonic() - killed:.1f} s", end=" ")
        support.wait_for(lambda: self.bed.state_of(job) == "PENDING", 60, "the job in the queue")
        self.do("start", "node:n2")
        support.wait_for(lambda: "started 1" in self.text_of(job), 60, "the second start")
        self.cancel(job)

    def test_nothing_gets_through_a_cut_cable(self):
        shown = self.bed.client("scontrol", "--oneliner", "show", "node", "n2").stdout
        port = dict(word.split("=", 1) for word in shown.split() if "=" in word)["Port"]

        def connect():
            """From n1 to the slurmd of n2."""
            command = f"exec 3<>/dev/tcp/n2/{port}"
            return self.bed.client("srun", "-w", "n1", "timeout", "5", "bash", "-c", command).returncode
        self.assertEqual(connect(), 0)
        self.do("cut", "node:n2")
        self.assertNotEqual(connect(), 0)
        self.do("mend", "node:n2")
        self.assertEqual(connect(), 0)


if __name__ == "__main__":
    support.main()
