#!/usr/bin/python3
"""What `slipway plan` says of the start of jobs, with a real Slurm: its estimate, its refusals, its silence."""

import datetime
import json

import support
import workflow_test

REFUSED = "Invalid account or account/partition combination specified"


class Plans(workflow_test.Flow):
    def chain(self, **slurm):
        self.program_of_steps("")
        self.flow({"first": ["x"], "side": ["y"], "second": {"command": ["x"], "after": ["first"]}},
                  defaults={"engine": "slurm", "slurm": slurm})

    def starts(self, status=0, **variables):
        planned = json.loads(self.slipway("plan", "flow.yaml", "--json", status=status, **variables).stdout)
        return {step["name"]: step["job"] and step["job"]["start_estimate"] for step in planned["steps"]}

    def occupy(self):
        job = self.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=2", "--exclusive", "--time=50")
        support.wait_for(lambda: self.bed.state_of(job) == "RUNNING", 60, "the job that occupies the nodes")
        return job


class Estimates(Plans):
    def test_are_slurms_own_for_steps_whose_needs_are_met(self):
        self.chain()
        starts = self.starts()
        self.assertEqual({name: start["outlook"] for name, start in starts.items()},
                         {"first": "estimated", "side": "estimated", "second": "dependent"})
        self.assertEqual((starts["first"]["partition"], starts["first"]["nodes"]), ("debug", "n1"))
        self.assertIsNone(starts["second"]["time"])
        shown = self.slipway("plan", "flow.yaml").stdout
        self.assertRegex(shown, r"first .* debug +now\n")
        self.assertRegex(shown, r"second .* after first\n")
        self.assertEqual(self.in_the_queue(), [])
        self.assertFalse((self.place / "runs").exists())

    def test_move_with_the_queue_and_with_results(self):
        self.chain()
        self.json("submit", "flow.yaml")
        self.wait()
        self.assertEqual(set(self.starts().values()), {None})
        job = self.occupy()
        flow = self.place / "flow.yaml"
        flow.write_text(flow.read_text().replace('"after": ["first"]', '"after": ["first"], "env": {"A": "1"}'))
        start = self.starts()["second"]
        self.assertEqual(start["outlook"], "estimated", "its need has a result")
        begins = datetime.datetime.fromisoformat(start["time"].replace("Z", "+00:00"))
        self.assertGreater(begins - datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(minutes=40))
        self.assertRegex(self.slipway("plan", "flow.yaml").stdout, r"second .* in \d+m\d\ds \(\d{4}-\d\d-\d\d \d\d:\d\d UTC\)")
        self.bed.client("scancel", job)
        self.bed.wait_for_end(job)  # until then its nodes are not free

    def test_come_from_sbatch_where_it_alone_knows_an_option(self):
        self.chain(extra=["--nice=7"])
        self.assertEqual(self.starts()["first"]["nodes"], "n1")
        self.chain(extra=["--nodelist=moon"])
        self.assertIn("Invalid node name", self.starts(status=3)["first"]["reason"])

    def test_of_one_experiment(self):
        self.write("true", nodes=2)
        planned = json.loads(self.slipway("plan", "exp.yaml", "--json").stdout)["start_estimate"]
        self.assertEqual((planned["outlook"], planned["nodes"], planned["partition"]), ("estimated", "n[1-2]", "debug"))
        self.assertIn("Slurm would start the job now, on n[1-2] in partition debug", self.slipway("plan", "exp.yaml").stdout)
        here = json.loads(self.slipway("plan", "exp.yaml", "--engine", "local", "--set", "launch.nodes=1", "--json").stdout)
        self.assertIsNone(here["start_estimate"])


class Refusals(Plans):
    def test_are_in_slurms_words_and_the_plan_is_printed(self):
        self.chain(account="alchemy")
        start = self.starts(status=2)["first"]
        self.assertEqual(start["outlook"], "refused")
        self.assertIn(REFUSED, start["reason"])
        self.assertIn("launch.slurm.account", start["next_step"])
        shown = self.slipway("plan", "flow.yaml", status=2).stdout
        self.assertIn("workflow flow: 3 steps", shown)
        self.assertIn(f"Slurm would refuse the jobs of first, side, second: Slurm refuses the account: {REFUSED}", shown)
        self.assertIn("would refuse a job", self.slipway("--quiet", "plan", "flow.yaml", status=2).stderr)
        self.slipway("submit", "flow.yaml", status=2)

    def test_of_partitions_and_sizes_are_those_of_submit(self):
        for slurm, launch, words in (({"partition": "debgu"}, {}, "did you mean 'debug'?"), ({}, {"nodes": 3}, "launch.nodes")):
            self.write("true", slurm, **launch)
            planned = self.slipway("plan", "exp.yaml", status=2)
            self.assertIn("Slurm would refuse the job: ", planned.stdout)
            self.assertIn(words, planned.stdout)
            self.assertIn(words, self.slipway("submit", "exp.yaml", status=2).stderr)

    def test_are_not_made_of_drained_nodes(self):
        self.drain()
        self.chain()
        start = self.starts()["first"]
        self.assertEqual(start["outlook"], "unknown")
        self.assertIn("2 of the cluster's nodes are down or drained", start["reason"])


class Silence(Plans):
    OPTIONS = (*workflow_test.Flow.OPTIONS, "--mode", "namespaces")

    def no_estimate(self, words, **variables):
        starts = self.starts(**variables)
        self.assertEqual({name: start["outlook"] for name, start in starts.items()},
                         {"first": "unknown", "side": "unknown", "second": "dependent"})
        self.assertIn(words, starts["first"]["reason"])
        shown = self.slipway("plan", "flow.yaml", **variables).stdout
        self.assertEqual(shown.count("no estimate of the start: "), 1)

    def test_of_the_controller_is_a_line_of_the_plan(self):
        self.chain()
        self.bed.order("freeze", "slurmctld")
        try:
            self.no_estimate("Slurm has not answered in time")
        finally:
            self.bed.order("thaw", "slurmctld")

    def test_of_a_controller_that_is_gone_is_one(self):
        self.chain()
        self.bed.order("end", "slurmctld")
        try:
            self.no_estimate("Slurm's controller does not answer")
        finally:
            self.bed.order("start", "slurmctld")

    def test_of_a_machine_without_slurm_is_one(self):
        self.chain()
        self.no_estimate("no slurm.conf is found", SLURM_CONF="")
        self.no_estimate("is not there", SLURM_CONF="/nowhere/slurm.conf")


class NodeHours(Plans):
    def test_are_those_of_the_jobs(self):
        self.program_of_steps("")
        spec = {"launch": {"nodes": 2, "ranks_per_node": 2, "workdir": "spec"}, "train": {"command": ["true"]}}
        self.flow({"train": {"experiment": spec}, "use": {"command": ["x"], "after": ["train"]}})
        self.json("submit", "flow.yaml")
        self.wait()
        planned = self.json("plan", "flow.yaml", "--force", "train")
        rows = {step["name"]: step for step in planned["steps"]}
        self.assertAlmostEqual(rows["train"]["node_hours"], 2 * rows["train"]["seconds"] / 3600)
        self.assertAlmostEqual(rows["train"]["core_hours"], 4 * rows["train"]["seconds"] / 3600)
        self.assertAlmostEqual(rows["use"]["node_hours"], rows["use"]["seconds"] / 3600)
        self.assertAlmostEqual(planned["node_hours"], rows["train"]["node_hours"] + rows["use"]["node_hours"])
        self.assertIn("of node time", self.slipway("plan", "flow.yaml", "--force", "train").stdout)


if __name__ == "__main__":
    support.main()
