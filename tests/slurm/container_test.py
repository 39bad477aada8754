#!/usr/bin/python3
"""Ranks over several nodes of a real Slurm, each in a container of the real ch-run."""

import json
import os
import pathlib
import shutil
import sys
import unittest

import nodes_test
import support

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import container_image  # noqa: E402


@unittest.skipUnless(shutil.which("ch-run"), "the Debian package charliecloud is not installed")
class Contained(nodes_test.OnNodes):
    OPTIONS = ("--nodes", "3", "--mode", "namespaces")

    ALL_COME = "while [ $(ls inside.* | wc -l) -lt 6 ]; do sleep 0.1; done"  # none is gone before all are in the container

    def contain(self, *mount_points, binds=()):
        image = container_image.make(self.place / "image", mount_points)
        for path in [image, *image.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        self.change(launch={"container": {"image": "image", "runtime": "charliecloud", "binds": [*container_image.BINDS, *binds]}})

    def places(self):
        return [self.place, self.place / "runs", self.program.parent.parent]

    def test_ranks_of_all_nodes_run_in_it(self):
        self.write(f"hostname > host.$RANK; cat /etc/inside > inside.$RANK; {self.ALL_COME}", nodes=3, ranks_per_node=2)
        self.contain(*self.places())
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(list(self.texts("host.*").values()), nodes_test.HOSTS)
        self.assertEqual(list(self.texts("inside.*").values()), ["in the container"] * 6)
        self.nothing_is_left(run)

    def test_they_are_one_mpi_world(self):
        world = shutil.copy(os.environ["SLIPWAY_TEST_WORLD"], self.place / "world")
        self.write(f"exec {world}", env=support.OPEN_MPI, nodes=3, ranks_per_node=2)
        self.contain(*self.places())
        self.submit()
        self.slipway("wait", "--timeout", "200s")
        said = self.slipway("logs", "--rank", "0").stdout
        for rank, host in enumerate(nodes_test.HOSTS):
            self.assertIn(f"{rank} 6 {host}", said)

    def test_trials_run_in_it(self):
        self.write("cat /etc/inside > inside.$$-$(hostname); echo FoM: 1", nodes=3,
                   ensemble={"trials": 6, "parallel": 3, "sampler": "random", "objective": {"metric": "objective"},
                             "space": {"x": {"uniform": [0, 1]}}})
        self.contain(*self.places())
        self.submit()
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(set(self.texts("inside.*").values()), {"in the container"})
        trials = json.loads(self.slipway("trials", "ls", "last", "--json").stdout)["trials"]
        self.assertEqual([trial["state"] for trial in trials], ["complete"] * 6)

    def test_an_image_without_the_places_is_refused_before_it_is_submitted(self):
        self.write("true")
        self.contain(binds=["/srv:/srv/data"])
        refused = self.slipway("submit", "exp.yaml", status=3)
        self.assertIn("ch-run cannot bind into directories that the image lacks", refused.stderr)
        self.assertFalse((self.place / "runs").exists())


if __name__ == "__main__":
    support.main()
