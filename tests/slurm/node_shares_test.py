#!/usr/bin/python3
"""Datasets whose files are shared out to the nodes of a real Slurm: who holds what, who reads what, how a run goes on."""

import collections
import gzip
import json
import shutil
import subprocess
import unittest

import numpy

import engine_test
import fashion_test
import nodes_test
import support

READER = ("lib/slipway/python", "lib/slipway/libslipway_hdf5.so", "lib/libslipway_reader.so.0.1")
RECORDS = 103
FILES = 7
EPOCHS = 3
RECORDS_TO_TRAIN = 2200
# What each rank writes down: the files that its node holds, and the labels of each epoch.
READS = """
import json, os, pathlib
import slipway.data
reader = slipway.data.open("train", fields=["label"], batch=2, epochs={epochs})
directory = pathlib.Path(os.environ["SLIPWAY_DATA_TRAIN"])
seen = []
for epoch in range({epochs}):
    batches = [batch["label"][batch.valid].tolist() for batch in reader]
    seen.append([label for batch in batches for label in batch])
files = sorted(path.name for path in directory.iterdir() if path.suffix in (".h5", ".tfrecord"))
rank = os.environ["RANK"]
pathlib.Path("seen." + rank).write_text(json.dumps(
    {{"directory": str(directory), "node": os.environ["SLURMD_NODENAME"], "files": files, "steps": reader.steps,
      "count": reader.count, "batches": reader.stats.batches, "seen": seen}}))
"""


def bring_reader(prefix):
    for part in READER:
        if not (prefix / part).exists():
            (prefix / part).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (engine_test.BUILT / part).is_dir() else shutil.copy
            copy(engine_test.BUILT / part, prefix / part)
    (prefix / "lib/libslipway_reader.so").symlink_to("libslipway_reader.so.0.1")


class SharesOfNodes(nodes_test.OnNodes):
    @classmethod
    def setUpClass(cls):
        missing = [part for part in READER if not (engine_test.BUILT / part).exists()]
        if missing:
            raise unittest.SkipTest(f"this build has no {missing[0]}")
        super().setUpClass()
        bring_reader(cls.program.parent.parent)

    def make_files(self, format):
        """Files whose labels are 0 to RECORDS-1; those of HDF5 have rows of their own."""
        data = self.place / "data"
        data.mkdir()
        parts = [range(RECORDS)] if format == "tfrecord" else numpy.array_split(range(RECORDS), FILES)
        for number, part in enumerate(parts):
            for name, values in (("label", numpy.array(part, dtype="int64")), ("image", numpy.zeros((len(part), 500), "uint8"))):
                numpy.save(self.place / f"{name}.npy", values)
            target = data / ("train" if format == "tfrecord" else f"train-{number}.h5")
            shards = ["--shards", str(FILES)] if format == "tfrecord" else []
            subprocess.run([self.program, "data", "convert", "--from", self.place / "label.npy", "--from",
                            self.place / "image.npy", "--to", format, *shards, target], check=True, capture_output=True)
        for file in data.iterdir():
            file.chmod(0o644)
        return sorted(data.glob("train*"))

    def write_reading(self, format, **fields):
        files = self.make_files(format)
        (self.place / "reads.py").write_text(READS.format(epochs=EPOCHS))
        self.write("exec /usr/bin/python3 reads.py", {"requeue": False}, **nodes_test.SEVERAL)
        train = {"source": f"{self.place}/data/train*", "format": format, "tier": "node", "distribute": "node-shard", **fields}
        self.change(data={"train": train})
        return [file for file in files if file.suffix in (".h5", ".tfrecord")]

    def read_by_ranks(self):
        return {int(rank): json.loads(text) for rank, text in self.texts("seen.*").items()}

    def assert_shares(self, ranks, files):
        """Each node has files and a directory of its own, and all files are somewhere."""
        of_node = collections.defaultdict(set)
        for rank in ranks.values():
            of_node[rank["node"]].add((rank["directory"], tuple(rank["files"])))
        self.assertEqual(len(of_node), 3)
        self.assertTrue(all(len(held) == 1 for held in of_node.values()), of_node)
        directories, held = zip(*(entry for entries in of_node.values() for entry in entries))
        self.assertEqual(len(set(directories)), 3)
        self.assertEqual(sorted(name for names in held for name in names), [file.name for file in files])

    def assert_read_once(self, run, files):
        (staged,) = self.events(run, "staged")
        self.assertEqual((staged["nodes"], staged["adopted"], staged["records"]), (3, 0, RECORDS))
        self.assertEqual(staged["bytes"], sum(file.stat().st_size for file in files))

    def epochs_of(self, ranks):
        return [[label for rank in ranks.values() for label in rank["seen"][epoch]] for epoch in range(EPOCHS)]

    def staged_anywhere(self):
        done = self.bed.client("srun", "-N4", "sh", "-c", "ls -d ${TMPDIR:-/tmp}/slipway-*/train-* 2>/dev/null; true")
        return done.stdout.splitlines()

    def test_every_record_is_read_once_an_epoch(self):
        files = self.write_reading("tfrecord", remainder="pad")
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "200s")
        ranks = self.read_by_ranks()
        self.assertEqual(len(ranks), 6)
        self.assert_shares(ranks, files)
        self.assert_read_once(run, files)
        for labels in (epochs := self.epochs_of(ranks)):
            self.assertEqual(sorted(labels), list(range(RECORDS)))
        self.assertNotEqual(epochs[0], epochs[1])
        self.assertEqual({rank["count"] for rank in ranks.values()}, {RECORDS})
        (steps,) = {rank["steps"] for rank in ranks.values()}
        self.assertEqual({rank["batches"] for rank in ranks.values()}, {EPOCHS * steps})
        self.assertEqual(self.staged_anywhere(), [])
        self.nothing_is_left(run)

    def test_what_fills_no_step_is_left_out_and_another_in_each_epoch(self):
        files = self.write_reading("hdf5")
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "200s")
        ranks = self.read_by_ranks()
        self.assert_shares(ranks, files)
        self.assert_read_once(run, files)
        (steps,) = {rank["steps"] for rank in ranks.values()}
        epochs = self.epochs_of(ranks)
        for labels in epochs:
            self.assertEqual(len(labels), steps * 2 * 6)
            self.assertEqual(len(set(labels)), len(labels))
        self.assertGreater(len(set().union(*epochs)), len(epochs[0]))

    def test_shares_that_are_kept_are_taken_over_by_the_next_run(self):
        self.write_reading("tfrecord", keep="cache")
        for adopted in (0, 3):
            run = self.submit()["run"]
            self.slipway("wait", "--timeout", "200s")
            (staged,) = self.events(run, "staged")
            self.assertEqual((staged["adopted"], staged["bytes"] == 0), (adopted, adopted == 3))
        self.bed.client("srun", "-N4", "sh", "-c", "rm -rf ${TMPDIR:-/tmp}/slipway-*/train-*")

    def test_run_whose_node_is_lost_ends_and_says_so(self):
        self.write_reading("tfrecord")
        self.change(train={"command": ["sh", "-c", "touch up.$RANK; sleep 300"]}, resilience={"on_node_failure": "exclude"})
        run = self.submit()["run"]
        self.addCleanup(self.bed.order, "start", "node:n2")
        self.lose("n2")
        self.until("failed")
        self.assertIn("n2", self.status()["reason"])
        self.assertEqual(len(list((self.place / "runs" / run).glob("attempt-*"))), 1)

    def test_fewer_files_than_nodes_are_refused_before_anything_is_submitted(self):
        self.write_reading("tfrecord", source=f"{self.place}/data/train*0000[01]-of*")
        refused = self.slipway("submit", "exp.yaml", status=3)
        self.assertIn("2 files cannot be shared by 3 nodes", refused.stderr)


class TrainedOnShares(fashion_test.Fashion):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shares = cls.bed.shared / "data/shares"
        cls.shares.mkdir()
        for name, file, head in (("image", fashion_test.IMAGES, 16), ("label", fashion_test.LABELS, 8)):
            values = numpy.frombuffer(gzip.open(file).read(), "uint8", offset=head)
            values = values.reshape(-1, 28, 28) if name == "image" else values.astype("int64")
            numpy.save(cls.bed.shared / f"{name}.npy", values[:RECORDS_TO_TRAIN])
        subprocess.run([cls.program, "data", "convert", "--from", cls.bed.shared / "image.npy", "--from",
                        cls.bed.shared / "label.npy", "--to", "tfrecord", "--shards", "11", cls.shares / "train"], check=True,
                       capture_output=True)
        for file in cls.shares.iterdir():
            file.chmod(0o644)

    def submit(self, program={"program": "fashion"}, epochs=8):
        train = {"source": f"{self.shares}/train-*.tfrecord", "format": "tfrecord", "tier": "node", "distribute": "node-shard"}
        arguments = {"epochs": epochs, "channels": 2, "global_batch_size": 48, "report_every": 5}
        spec = {"name": "fashion", "data": {"train": train}, "launch": {"engine": "slurm", **nodes_test.SEVERAL},
                "train": {**program, "args": arguments, "validation": {"from": "train", "fraction": 0.1}}}
        (self.place / "exp.yaml").write_text(json.dumps(spec))
        submitted = self.slipway("submit", "exp.yaml", "--json", **support.OPEN_MPI)
        return self.place / "runs" / json.loads(submitted.stdout)["run"]

    def test_twin_in_python_follows_the_same_curve(self):
        bring_reader(self.program.parent.parent)
        folders = []
        for program in ({"program": "fashion"}, {"command": ["/usr/bin/python3", "-m", "slipway.trainers.fashion"]}):
            folders.append(self.submit(program, epochs=1))
            self.slipway("wait", "--timeout", "110s")
        for metric in ("train_loss", "validation_loss"):
            here, there = (self.last_of(folder, metric) for folder in folders)
            self.assertAlmostEqual(here, there, delta=1e-3, msg=metric)

    def resume(self, *words, status=0):
        self.slipway("resume", *words, **support.OPEN_MPI)
        self.slipway("wait", "--timeout", "110s", status=status)

    def last_of(self, folder, metric):
        lines = map(json.loads, (folder / "attempt-1/metrics.jsonl").read_text().splitlines())
        return [line["metrics"][metric] for line in lines if metric in line["metrics"]][-1]

    def test_training_goes_on_inside_an_epoch_to_the_same_bits_on_as_many_nodes_only(self):
        undisturbed = self.submit()
        self.slipway("wait", "--timeout", "110s")
        self.assertGreater(self.last_of(undisturbed, "validation_accuracy"), 0.4)
        self.assertEqual(self.last_of(undisturbed, "replicas_match"), 1)
        folder = self.submit()
        support.wait_for(lambda: list(folder.glob("attempt-1/metrics.jsonl")), 90, "the first steps")
        self.slipway("cancel")
        self.resume("--set", "launch.nodes=2", status=1)
        self.assertIn("where each node held other records than now", self.slipway("status", status=None).stdout)
        self.resume("--set", "launch.nodes=3")
        self.assertTrue(self.weights_of(folder) == self.weights_of(undisturbed), "other bits")


if __name__ == "__main__":
    support.main()
