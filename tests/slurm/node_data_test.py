#!/usr/bin/python3
"""Datasets of runs on several nodes of a real Slurm, each with a /tmp of its own."""

import contextlib
import json
import os
import random
import struct
import zlib

import nodes_test
import support

FILES = 6
RECORD = 300_000


class DataOnNodes(nodes_test.OnNodes):
    def write_with_data(self, command, **fields):
        """Files of one TFRecord of random bytes; their checksums are not looked at."""
        data = self.place / "data"
        data.mkdir()
        self.content = b""
        for number in range(FILES):
            body = struct.pack("<QI", RECORD, 0) + random.Random(number).randbytes(RECORD) + struct.pack("<I", 0)
            (data / f"{number}.tfrecord").write_bytes(body)
            self.content += body
        self.write(command, {"requeue": False}, **nodes_test.SEVERAL)
        self.change(data={"train": {"source": f"{data}/*.tfrecord", "tier": "node", "verify": "off", **fields}})

    def events(self, run, name):
        lines = (self.place / "runs" / run / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == name]

    def on_all_nodes(self, command):
        done = self.bed.client("srun", "-N4", "sh", "-c", command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def staged_anywhere(self):
        return self.on_all_nodes("ls -d ${TMPDIR:-/tmp}/slipway-*/train-* ${TMPDIR:-/tmp}/slipway-*/.staging/* 2>/dev/null; true")

    def test_each_node_has_its_copy_and_the_source_is_read_once(self):
        self.write_with_data("cat $SLIPWAY_DATA_TRAIN/*.tfrecord | gzip -c > seen.$RANK.gz; echo $SLIPWAY_DATA_TRAIN > where.$RANK; "
                             "stat -c %d:%i $SLIPWAY_DATA_TRAIN/0.tfrecord > inode.$RANK")
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "200s")
        for rank in range(6):
            seen = zlib.decompress((self.place / f"seen.{rank}.gz").read_bytes(), wbits=31)
            self.assertEqual(seen, self.content, f"rank {rank}")
        self.assertEqual(len(set(self.texts("where.*").values())), 1)
        self.assertEqual(len(set(self.texts("inode.*").values())), 3)
        (staged,) = self.events(run, "staged")
        self.assertEqual((staged["nodes"], staged["adopted"], staged["bytes"]), (3, 0, len(self.content)))
        self.nothing_is_left(run)
        self.assertEqual(self.staged_anywhere(), [])
        self.assertNotIn("staging", os.listdir(self.place / "runs" / run))

    def test_killed_manager_leaves_no_data_behind(self):
        self.write_with_data("ls $SLIPWAY_DATA_TRAIN/manifest.json > up.$RANK; sleep 300")
        run = self.submit()["run"]
        support.wait_for(lambda: len(self.texts("up.*")) == 6, 60, "all ranks")
        os.kill(self.manager(), 9)
        self.until("failed")
        support.wait_for(lambda: not self.processes(f"stage-member\0{self.place}"), 60, "the end of the members")
        self.assertEqual(self.staged_anywhere(), [])
        self.assertEqual(len(self.events(run, "staged")), 1)

    @contextlib.contextmanager
    def node_without_the_tier(self, node):
        """A file lies where the tier `node` would be."""
        root = f"${{TMPDIR:-/tmp}}/slipway-{support.ordinary_user().get('user', os.geteuid())}"
        self.bed.client("srun", "-N4", "sh", "-c", f"[ $SLURMD_NODENAME = {node} ] && {{ rm -rf {root}; touch {root}; }}")
        try:
            yield
        finally:
            self.on_all_nodes(f"[ -d {root} ] || rm -f {root}")

    def test_node_without_the_tier_is_named(self):
        self.write_with_data("true")
        with self.node_without_the_tier("n2"):
            self.submit()
            self.slipway("wait", "--timeout", "200s", status=1)
            self.assertIn("on node n2", self.slipway("status", status=None).stdout)
        self.assertEqual(self.staged_anywhere(), [])

    def test_tier_that_one_node_has_not_is_left_out_for_the_next_one(self):
        self.write_with_data("cat $SLIPWAY_DATA_TRAIN/*.tfrecord | gzip -c > seen.$RANK.gz; echo $SLIPWAY_DATA_TRAIN > where.$RANK",
                             tier=["node", "none"])
        with self.node_without_the_tier("n2"):
            run = self.submit()["run"]
            self.slipway("wait", "--timeout", "200s")
        for rank in range(6):
            self.assertEqual(zlib.decompress((self.place / f"seen.{rank}.gz").read_bytes(), wbits=31), self.content)
        (where,) = set(self.texts("where.*").values())
        self.assertTrue(where.startswith(f"{self.place}/runs/{run}/data/"), where)  # links to the sources
        (skipped,) = self.events(run, "tiers_skipped")
        self.assertEqual(skipped["dataset"], "train")
        self.assertIn("(on node n2)", skipped["reasons"][0])
        self.assertEqual(self.staged_anywhere(), [])


if __name__ == "__main__":
    support.main()
