#!/usr/bin/python3
"""The shipped experiments, unchanged, on a real Slurm of several nodes, beside the same ones on this machine."""

import json
import pathlib
import shutil
import subprocess
import unittest

import engine_test
import support

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
IMAGES, LABELS = (pathlib.Path(f"/usr/share/datasets/fashion-mnist/t10k-{name}-ubyte.gz")
                  for name in ("images-idx3", "labels-idx1"))
MORE_PARTS = ("libexec/slipway/trainers/fashion", "lib/slipway/openmpi", "lib/slipway/libslipway_hdf5.so")
SMALL = ("train.args.train_images=640", "train.args.channels=4")


@unittest.skipUnless(all((engine_test.BUILT / part).exists() for part in MORE_PARTS), "built without the trainer")
@unittest.skipUnless(IMAGES.exists(), "the Debian package dataset-fashion-mnist is not installed")
class Fashion(engine_test.Engine):
    OPTIONS = ("--nodes", "4", "--mode", "namespaces", "--conf", "SlurmdTimeout=60")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        prefix = cls.program.parent.parent
        for part in MORE_PARTS:
            (prefix / part).parent.mkdir(parents=True, exist_ok=True)
            if not (prefix / part).exists():
                (shutil.copytree if (engine_test.BUILT / part).is_dir() else shutil.copy)(engine_test.BUILT / part, prefix / part)
        cls.configs = shutil.copytree(CONFIGS, cls.bed.shared / "configs")
        data = cls.bed.shared / "data/fashion"
        data.mkdir(parents=True)
        for format, name in (("tfrecord", "train"), ("hdf5", "test.h5")):
            subprocess.run([cls.program, "data", "convert", "--images", IMAGES, "--labels", LABELS, "--to", format,
                            data / name], check=True, capture_output=True)
        for file in data.iterdir():
            file.chmod(0o644)

    def carry_out(self, config, engine, *settings):
        """Runs one of the shipped files to its end; returns its folder."""
        words = [word for setting in SMALL + settings for word in ("--set", setting)]
        self.slipway("run", self.configs / config, "--engine", engine, *words,
                     SLIPWAY_DATA_ROOT=str(self.bed.shared / "data"), **support.OPEN_MPI)
        return pathlib.Path(self.status()["folder"])

    def trials_of(self, folder):
        listed = json.loads(self.slipway("trials", "ls", folder.name, "--json").stdout)["trials"]
        self.assertEqual({trial["state"] for trial in listed}, {"complete"}, listed)
        return sorted((trial["trial"], json.dumps(trial["parameters"])) for trial in listed)

    def weights_of(self, folder):
        """The newest checkpoint's name and its weights; the state of the optimizer names tensors by their addresses."""
        newest = sorted((folder / "checkpoints").glob("step-*"))[-1]
        return newest.name, (newest / "model.pt").read_bytes()


class Ensembles(Fashion):
    def assert_the_same_trials(self, *settings):
        shared = ("ensemble.trials=3", "launch.ranks_per_node=2", *settings)
        here = self.trials_of(self.carry_out("fashion-ensemble.yaml", "local", *shared))
        there = self.trials_of(self.carry_out("fashion-ensemble.yaml", "slurm", *shared, "launch.nodes=4"))
        self.assertEqual(here, there)
        return here

    def test_random_has_the_same_trials_as_on_one_machine(self):
        self.assert_the_same_trials()

    def test_grid_has_the_same_trials_as_on_one_machine(self):
        self.assert_the_same_trials("ensemble.sampler=grid")

    def test_trials_that_are_jobs_are_the_same_as_well(self):
        here = self.trials_of(self.carry_out("fashion-ensemble.yaml", "local", "ensemble.trials=2"))
        jobs = self.carry_out("fashion-ensemble.yaml", "slurm", "ensemble.trials=2", "ensemble.placement=job")
        self.assertEqual(self.trials_of(jobs), here)
        self.assertTrue((jobs / "trials/00001/job.sh").exists())


class SpareNode(Fashion):
    RUN = ("fashion.yaml", "slurm", "launch.nodes=2", "launch.ranks_per_node=2", "train.args.epochs=4",
           "resilience.spare_nodes=1", "resilience.stall_after=20s")

    def test_run_goes_on_with_the_bits_of_one_that_lost_no_node(self):
        undisturbed = self.carry_out(*self.RUN)
        words = [word for setting in SMALL + self.RUN[2:] for word in ("--set", setting)]
        submitted = self.slipway("submit", self.configs / "fashion.yaml", "--engine", "slurm", *words, "--json",
                                 SLIPWAY_DATA_ROOT=str(self.bed.shared / "data"), **support.OPEN_MPI)
        folder = self.place / "runs" / json.loads(submitted.stdout)["run"]
        support.wait_for(lambda: list((folder / "checkpoints").glob("step-*")), 90, "a checkpoint")
        self.assertEqual(self.status()["phase"], "running")
        self.addCleanup(self.bed.order, "start", "node:n2")
        self.bed.order("kill", "node:n2")
        self.slipway("wait", "--timeout", "110s")
        self.assertEqual(len(list(folder.glob("attempt-*"))), 2)
        events = [json.loads(line)["event"] for line in (folder / "events.jsonl").read_text().splitlines()]
        self.assertIn("node_lost", events)
        self.assertTrue(self.weights_of(folder) == self.weights_of(undisturbed), "other bits")


if __name__ == "__main__":
    support.main()
