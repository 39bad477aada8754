#!/usr/bin/python3
"""GPUs that a real Slurm hands out, shared out to the trials of an ensemble in one job."""

import collections
import json
import os
import pathlib
import shutil
import sys

import nodes_test
import support

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import gpu_locks  # noqa: E402


class Trials(nodes_test.OnNodes):
    OPTIONS = ("--nodes", "3", "--mode", "namespaces", "--gpus", "4", "--conf", "SlurmdTimeout=60")

    def write_trials(self, then, trials, parallel, slurm=None, ensemble=None, **launch):
        """`then` runs in each trial while it holds its GPUs, which no other may hold."""
        self.write(gpu_locks.hold(then, self.place), slurm,
                   {"objective": {"metric": "objective"}, "trials": trials, "parallel": parallel, "sampler": "random",
                    "space": {"x": {"uniform": [0, 1]}}, **(ensemble or {})}, **{"gpus_per_rank": 1, **launch})
        self.change(resilience={"max_restarts": 1})

    def seen(self):
        """(trial, node, GPUs) of every rank."""
        lines = [line.split() for line in (self.place / "seen").read_text().splitlines()]
        return [(trial, node, gpus) for trial, _, node, gpus in lines]

    def trials(self):
        return json.loads(self.slipway("trials", "ls", "--json").stdout)["trials"]

    def complete(self, count, timeout="100s"):
        self.slipway("wait", "--timeout", timeout)
        self.assertEqual(collections.Counter(trial["state"] for trial in self.trials()), {"complete": count})

    def all_at_once(self, count):
        """The first trials wait until so many have come."""
        return f"while [ $(wc -l < {self.place}/seen) -lt {count} ]; do sleep 0.05; done; echo FoM: 1"


class Gpus(Trials):
    def test_of_a_node_are_shared_out_to_as_many_trials(self):
        self.write_trials(self.all_at_once(4), 8, 4)
        self.assertIn("#SBATCH --gpus-per-node=4", self.slipway("plan", "exp.yaml").stdout)
        self.submit()
        self.complete(8)
        self.assertEqual({gpus for _, _, gpus in self.seen()[:4]}, {"0", "1", "2", "3"})

    def test_of_several_nodes_are_those_of_the_node_that_a_trial_is_on(self):
        self.write_trials(self.all_at_once(6), 12, 6, nodes=3, gpus_per_rank=2)
        self.submit()
        self.complete(12)
        places = collections.Counter((node, gpus) for _, node, gpus in self.seen()[:6])
        self.assertEqual(places, {(f"n{i}", gpus): 1 for i in (1, 2, 3) for gpus in ("0,1", "2,3")})

    def test_of_a_trial_are_shared_out_to_its_ranks(self):
        self.write_trials("sleep 0.5; echo FoM: 1", 4, 4, nodes=2, ranks_per_node=2)
        self.submit()
        self.complete(4)
        of_trial = collections.defaultdict(set)
        for trial, node, gpus in self.seen():
            of_trial[trial].add((node, gpus))
        self.assertEqual(len(of_trial), 4)
        for ranks in of_trial.values():
            self.assertEqual(len({node for node, _ in ranks}), 1, of_trial)
            self.assertIn({gpus for _, gpus in ranks}, ({"0", "1"}, {"2", "3"}))

    def test_of_a_trial_over_several_nodes_are_its_own_on_each(self):
        self.write_trials("sleep 0.5; echo FoM: 1", 4, 2, nodes=2, ensemble={"nodes_per_trial": 2}, ranks_per_node=2)
        self.submit()
        self.complete(4)
        of_trial = collections.defaultdict(list)
        for trial, node, gpus in self.seen():
            of_trial[trial].append((node, gpus))
        for ranks in of_trial.values():
            self.assertIn(sorted(ranks), [[(node, gpu) for node in ("n1", "n2") for gpu in pair]
                                          for pair in (("0", "1"), ("2", "3"))])

    def test_of_a_trial_that_is_a_job_are_shared_out_to_its_ranks(self):
        self.write_trials("echo FoM: 1", 2, 2, ensemble={"placement": "job"}, ranks_per_node=2)
        self.submit()
        self.complete(2)
        of_trial = collections.defaultdict(list)
        for trial, _, gpus in self.seen():
            of_trial[trial].append(gpus)
        self.assertEqual(len(of_trial), 2)
        for ranks in of_trial.values():
            self.assertIn(sorted(ranks), (["0", "1"], ["2", "3"]))

    def test_and_energy_of_the_submitting_host_are_not_those_of_trials_that_are_jobs(self):
        zone = self.place / "powercap/intel-rapl:0"
        zone.mkdir(parents=True)
        for name, text in (("name", "package-0"), ("max_energy_range_uj", "1000000000"), ("energy_uj", "1000000")):
            (zone / name).write_text(text + "\n")
        self.write_trials("echo FoM: 1", 1, 1, ensemble={"placement": "job"})
        submitted = self.slipway("submit", "exp.yaml", "--json", SLIPWAY_POWERCAP=str(zone.parent))
        self.complete(1)
        self.assertFalse((self.place / "runs" / json.loads(submitted.stdout)["run"] / "energy.json").exists())

    def test_fewer_than_a_trial_needs_end_the_run_before_anything_starts(self):
        self.write_trials("echo FoM: 1", 2, 1, nodes=2, gpus_per_rank=3)
        job = self.bed.submit(f"#!/bin/sh\ncd {self.place} && {self.program} run exp.yaml\n", "-N2", "--gpus-per-node=1")
        self.assertEqual(self.bed.wait_for_end(job), "FAILED")
        self.assertEqual(self.status()["phase"], "failed")
        self.assertIn("a trial needs 3 GPUs on a node, but n1 has 1, n2 has 1", self.status()["reason"])
        self.assertFalse((self.place / "seen").exists())

    def test_of_an_allocation_with_one_for_each_task_are_all_of_a_node(self):
        self.write_trials(self.all_at_once(8), 8, 8, nodes=2)
        job = self.bed.submit(f"#!/bin/sh\ncd {self.place} && {self.program} run exp.yaml\n", "-N2", "-n8",
                              "--ntasks-per-node=4", "--gpus-per-task=1")
        self.assertEqual(self.bed.wait_for_end(job), "COMPLETED")
        places = collections.Counter((node, gpus) for _, node, gpus in self.seen())
        self.assertEqual(places, {(node, gpu): 1 for node in ("n1", "n2") for gpu in "0123"})

    def test_of_all_nodes_are_measured_under_the_names_of_their_nodes(self):
        """NVML is a stand-in with two GPUs: tests/support/fake_nvml.cpp. The trials wait for the record."""
        library = shutil.copytree(os.environ["SLIPWAY_FAKE_NVML"], self.place / "nvml")
        record = f"{self.place}/runs/*/gpus.json"
        recorded = f"grep -qsw n1 {record} && grep -qsw n2 {record}"
        self.write_trials(f"until {recorded}; do sleep 0.1; done; echo FoM: 1", 2, 2, nodes=2)
        job = self.bed.submit(f"#!/bin/sh\nexport LD_LIBRARY_PATH={library}\n"
                              f"cd {self.place} && {self.program} run exp.yaml\n", "-N2", "--gpus-per-node=4")
        self.assertEqual(self.bed.wait_for_end(job), "COMPLETED")
        gpus = json.loads(self.slipway("status", "--json").stdout)["gpus"]
        self.assertEqual({(gpu["host"], gpu["gpu"][:8]) for gpu in gpus},
                         {(node, gpu) for node in ("n1", "n2") for gpu in ("GPU-aaaa", "GPU-bbbb")})

    def test_more_than_a_node_has_is_refused_before_anything_is_submitted(self):
        self.write_trials("echo FoM: 1", 8, 8)
        done = self.slipway("submit", "exp.yaml", status=2)
        self.assertIn("Requested node configuration is not available", done.stderr)
        self.assertIn("GPUs", done.stderr)


class GpusOfALostNode(Trials):
    def test_of_a_lost_node_are_given_to_nobody(self):
        self.write_trials("touch up.$(basename $SLIPWAY_RUN_DIR); while ! [ -e go ]; do sleep 0.1; done; echo FoM: 1", 9, 3,
                          nodes=3, gpus_per_rank=4)
        run = self.submit()["run"]
        self.lose("n3", up=3)
        (self.place / "go").touch()
        self.complete(9)
        self.assertEqual(sorted(trial["attempts"] for trial in self.trials()), [1] * 8 + [2])
        self.assertEqual(len(self.events(run, "node_lost")), 1)
        self.assertEqual(sum(node == "n3" for _, node, _ in self.seen()), 1)


if __name__ == "__main__":
    support.main()
