#!/usr/bin/python3
"""Runs and ensembles over several nodes of a real Slurm, and what happens when a node goes."""

import collections
import json
import os
import shutil

import engine_test
import support

SEVERAL = {"nodes": 3, "ranks_per_node": 2}
HOSTS = ["n1", "n1", "n2", "n2", "n3", "n3"]


class OnNodes(engine_test.Engine):
    OPTIONS = ("--nodes", "4", "--mode", "namespaces", "--conf", "SlurmdTimeout=60")

    def change(self, **sections):
        """Adds to the sections of the spec that was written."""
        path = self.place / "exp.yaml"
        spec = json.loads(path.read_text())
        for name, members in sections.items():
            spec.setdefault(name, {}).update(members)
        path.write_text(json.dumps(spec))

    def texts(self, pattern):
        return {path.suffix[1:]: path.read_text().strip() for path in sorted(self.place.glob(pattern))}

    def order(self, *words):
        done = self.bed.order(*words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def processes(self, word):
        """The processes with this word in their command line, on whatever node."""
        return support.processes_with(word)

    def manager(self):
        """Its process. A child of it looks the same until its own program begins."""
        def alone():
            found = self.processes(f"manage\0{self.place}")
            return found[0] if len(found) == 1 else None
        return support.wait_for(alone, 60, "one manager")

    def nothing_is_left(self, run):
        support.wait_for(lambda: not self.processes(str(self.place)), 60, "the end of all processes of the run")
        folder = self.place / "runs" / run
        self.assertEqual([path.name for path in folder.iterdir() if path.name.endswith(".key")], [])

    def lose(self, node, up=6):
        support.wait_for(lambda: len(self.texts("up.*")) == up, 60, "all ranks")
        self.order("kill", f"node:{node}")

    def lost_before_slurm_knows(self, run, node):
        """Slurm finds out when SlurmdTimeout is over."""
        support.wait_for(lambda: self.events(run, "node_lost"), 50, "the loss of the node")
        self.assertFalse(self.bed.node_states()[node].startswith("down"), "Slurm knew it, too")

    def events(self, run, name):
        lines = (self.place / "runs" / run / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == name]


class Ranks(OnNodes):
    def setUp(self):
        """A node that still ends the job of the test before would be passed over."""
        super().setUp()
        self.bed.wait_until_idle()

    def test_each_node_has_its_ranks_in_order(self):
        self.write("echo $WORLD_SIZE $LOCAL_RANK $MASTER_ADDR > rank.$RANK; hostname > host.$RANK",
                   env={"TMPDIR": str(self.place)}, **SEVERAL)  # which all nodes share
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(list(self.texts("host.*").values()), HOSTS)
        self.assertEqual(list(self.texts("rank.*").values()), ["6 0 n1", "6 1 n1"] * 3)
        self.nothing_is_left(run)

    def test_they_are_one_mpi_world(self):
        world = shutil.copy(os.environ["SLIPWAY_TEST_WORLD"], self.place / "world")
        self.write(f"exec {world}", env=support.OPEN_MPI, **SEVERAL)
        self.submit()
        self.slipway("wait", "--timeout", "200s")
        said = self.slipway("logs", "--rank", "0").stdout
        for rank, host in enumerate(HOSTS):
            self.assertIn(f"{rank} 6 {host}", said)

    def test_one_that_fails_is_named_with_its_node_and_the_others_are_ended(self):
        self.write("[ $RANK = 5 ] && { echo out of luck; exit 7; }; sleep 600", **SEVERAL)
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "200s", status=1)
        self.assertEqual(self.status()["reason"], "rank 5 on n3 ended with exit status 7")
        self.assertIn("out of luck", self.slipway("status", status=None).stdout)
        self.nothing_is_left(run)

    def test_cancel_ends_them_on_all_nodes(self):
        self.write("touch up.$RANK; sleep 300", **SEVERAL)
        run = self.submit()["run"]
        support.wait_for(lambda: len(self.texts("up.*")) == 6, 60, "all ranks")
        self.slipway("cancel")
        self.assertEqual(self.status()["phase"], "cancelled")
        self.nothing_is_left(run)

    def test_manager_that_is_killed_leaves_nothing_running(self):
        self.write("touch up.$RANK; sleep 300", {"requeue": False}, **SEVERAL)
        run = self.submit()["run"]
        support.wait_for(lambda: len(self.texts("up.*")) == 6, 60, "all ranks")
        manager = self.manager()
        shim = f"slipway-rank\0--log-dir\0{self.place}"  # other runs of this machine have theirs
        self.assertTrue(self.processes(shim))
        os.kill(manager, 9)
        support.wait_for(lambda: not self.processes(shim), 60, "the end of the ranks")
        self.until("failed")
        self.slipway("resume")
        support.wait_for(lambda: "attempt-2" in os.listdir(self.place / "runs" / run), 60, "the next attempt")
        self.slipway("cancel")
        self.nothing_is_left(run)
        self.assertIn("attempt-1", os.listdir(self.place / "runs" / run))


class LostNode(OnNodes):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.repair)

    def repair(self):
        self.bed.client("scancel", "--full", f"--user={support.ORDINARY_USER}")
        for node in ("n2", "n3"):
            self.bed.start_again(node)
        self.bed.wait_until_idle()

    def test_run_goes_on_with_the_nodes_that_are_left(self):
        self.write("[ $SLIPWAY_ATTEMPT = 1 ] && { touch up.$RANK; sleep 300; }; echo $WORLD_SIZE $(hostname) > after.$RANK",
                   **SEVERAL)
        self.change(resilience={"on_node_failure": "exclude", "min_nodes": 2})
        run = self.submit()["run"]
        self.lose("n2")
        self.lost_before_slurm_knows(run, "n2")
        self.slipway("wait", "--timeout", "200s")
        support.wait_for(lambda: not self.processes(f"manage\0{self.place}"), 60, "the end of the manager")
        self.assertEqual(list(self.texts("after.*").values()), ["4 n1", "4 n1", "4 n3", "4 n3"])
        self.assertIn("node n2 is lost", self.events(run, "node_lost")[0]["reason"])

    def test_node_whose_network_is_gone_is_lost_before_slurm_knows(self):
        self.write("touch up.$RANK; sleep 300", {"requeue": False}, **SEVERAL)
        run = self.submit()["run"]
        support.wait_for(lambda: len(self.texts("up.*")) == 6, 60, "all ranks")
        self.addCleanup(self.bed.order, "mend", "node:n3")
        self.order("cut", "node:n3")
        self.lost_before_slurm_knows(run, "n3")
        self.slipway("wait", "--timeout", "200s", status=1)
        self.assertIn("node n3 is lost: no sign of life for 4 s", self.status()["reason"])

    def test_its_trials_run_again_on_other_nodes(self):
        self.write("touch up.\"$1\"; while ! [ -e go ]; do sleep 0.1; done; echo FoM: \"$1\"", nodes=3, ranks_per_node=1,
                   ensemble={"objective": {"metric": "objective", "goal": "maximize"}, "trials": 9, "parallel": 3,
                             "sampler": "grid", "space": {"x": {"int": [1, 9]}}})
        run = self.submit()["run"]
        self.lose("n3", up=3)
        (self.place / "go").touch()
        self.slipway("wait", "--timeout", "200s")
        trials = json.loads(self.slipway("trials", "ls", "--json").stdout)["trials"]
        self.assertEqual(collections.Counter(trial["state"] for trial in trials), {"complete": 9})
        attempts = collections.Counter(trial["attempts"] for trial in trials)
        self.assertEqual(attempts, {1: 8, 2: 1})
        self.assertEqual(len(self.events(run, "node_lost")), 1)


class TooFewLeft(OnNodes):
    OPTIONS = ("--nodes", "3", "--mode", "namespaces", "--conf", "SlurmdTimeout=60")

    def test_job_is_queued_again_and_goes_on_when_there_are_enough_nodes(self):
        """As every run does that says nothing of lost nodes."""
        self.write("[ $SLIPWAY_ATTEMPT = 1 ] && { touch up.$RANK; sleep 300; }; hostname > after.$RANK",
                   time_limit="10m", **SEVERAL)
        submitted = self.submit()
        self.lose("n2")
        # Slurm does not know yet: the run has it queued again, and it cannot begin while its end on n2 is waited for.
        support.wait_for(lambda: self.bed.state_of(submitted["batch_job"]) != "RUNNING", 50, "the next turn")
        self.give_up("n2")
        self.until("queued")
        self.assertIn("node n2 is lost", json.dumps(self.events(submitted["run"], "queued")))
        self.order("start", "node:n2")
        self.slipway("wait", "--timeout", "110s")
        self.assertEqual(list(self.texts("after.*").values()), HOSTS)
        self.assertEqual(self.status()["batch_job"], submitted["batch_job"])


class Trials(OnNodes):
    def test_are_packed_into_all_nodes(self):
        all_come = "while [ $(ls host.* | wc -l) -lt 8 ]; do sleep 0.1; done"  # none makes room for another
        self.write(f"hostname > host.\"$1\"; {all_come}; echo FoM: \"$1\"", nodes=4, ranks_per_node=1,
                   ensemble={"objective": {"metric": "objective", "goal": "maximize"}, "trials": 8, "parallel": 8,
                             "sampler": "grid", "space": {"x": {"int": [1, 8]}}})
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(collections.Counter(self.texts("host.*").values()), {f"n{i}": 2 for i in range(1, 5)})
        self.nothing_is_left(run)

    def test_of_several_nodes_have_them_for_themselves(self):
        self.write("hostname > host.\"$1\".$RANK; sleep 1; echo FoM: \"$1\"", nodes=4, ranks_per_node=1,
                   ensemble={"objective": {"metric": "objective", "goal": "maximize"}, "trials": 4, "parallel": 2,
                             "nodes_per_trial": 2, "sampler": "grid", "space": {"x": {"int": [1, 4]}}})
        self.change(resilience={"max_restarts": 1})  # of a start by mpirun that fails
        self.submit()
        self.slipway("wait", "--timeout", "200s")
        trials = self.slipway("trials", "ls", "--json").stdout
        self.assertEqual({trial["state"] for trial in json.loads(trials)["trials"]}, {"complete"}, trials)
        for trial in range(1, 5):
            hosts = {path.read_text().strip() for path in self.place.glob(f"host.{trial}.*")}
            self.assertEqual(len(hosts), 2, hosts)


if __name__ == "__main__":
    support.main()
