#!/usr/bin/python3
"""The Slurm engine: `slipway submit` and its relatives on a real Slurm, with runs that fit one node."""

import collections
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import unittest

import support

BUILT = pathlib.Path(os.environ["SLIPWAY_TEST_PROGRAM"]).parent.parent
PARTS = ("bin/slipway", "libexec/slipway/slipway-agent", "libexec/slipway/slipway-rank", "libexec/slipway/slipway-slurm",
         "libexec/slipway/slipway-supervisor", "lib/slipway/slurm")


def install(prefix):
    """What jobs need, where every node and user sees it: the build tree may lie in /tmp, of which each node has its own."""
    for part in PARTS:
        (prefix / part).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (BUILT / part).is_dir() else shutil.copy
        copy(BUILT / part, prefix / part)
    return prefix / PARTS[0]


class Engine(support.TestWithBed):
    OPTIONS = ("--nodes", "2")

    @classmethod
    def setUpClass(cls):
        if not (BUILT / PARTS[-1]).exists():
            raise unittest.SkipTest("this build has no module for libslurm")
        super().setUpClass()
        cls.program = install(cls.bed.shared / "prefix")

    def setUp(self):
        self.place = self.bed.shared / self.id().rsplit(".", 1)[1]
        self.place.mkdir(mode=0o777)
        self.place.chmod(0o777)

    def slipway(self, *words, status=0):
        done = subprocess.run([self.program, *map(str, words)], env=self.bed.environment, cwd=self.place, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=120, **support.ordinary_user())
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def write(self, command, slurm=None, ensemble=None, **launch):
        spec = {"name": "small", "launch": {"engine": "slurm", "slurm": slurm or {}, **launch},
                "train": {"command": ["sh", "-c", command],
                          "metrics": {"from": "stdout", "pattern": r"FoM: (?<objective>\S+)"}}}
        if ensemble:
            spec["checkpoint"] = {"on_time_limit": "requeue"}
            spec["train"]["command"] += ["sh", "{x}"]
            spec["ensemble"] = ensemble
        (self.place / "exp.yaml").write_text(json.dumps(spec))

    def submit(self):
        return json.loads(self.slipway("submit", "exp.yaml", "--json").stdout)

    def status(self):
        return json.loads(self.slipway("status", "--json", status=None).stdout)

    def until(self, phase):
        support.wait_for(lambda: self.status()["phase"] == phase, 30, phase)

    def on_node(self, *words):
        self.bed.administrate(*map(str, words))


class Submitted(Engine):
    def test_run_has_the_node_and_says_how_it_ended(self):
        self.write("echo $SLURMD_NODENAME > where; echo FoM: 7", ranks_per_node=1)
        submitted = self.submit()
        done = self.slipway("wait", "--timeout", "60s")
        self.assertIn("succeeded", done.stdout)
        self.assertIn((self.place / "where").read_text().strip(), ("n1", "n2"))
        self.assertEqual(self.status()["batch_job"], submitted["batch_job"])
        self.assertIn("exec ", (self.place / "runs" / submitted["run"] / "job.sh").read_text())
        self.assertIn("7", self.slipway("logs").stdout)

    def test_several_ranks_of_a_node_start(self):
        self.write("echo $RANK of $WORLD_SIZE > rank.$RANK", ranks_per_node=2)
        self.submit()
        self.slipway("wait", "--timeout", "60s")
        self.assertEqual([(self.place / f"rank.{rank}").read_text() for rank in (0, 1)], ["0 of 2\n", "1 of 2\n"])

    def test_failure_is_told_on_the_login_node(self):
        self.write("echo out of luck; exit 3")
        self.submit()
        done = self.slipway("wait", "--timeout", "60s", status=1)
        self.assertIn("exit status 3", done.stdout)
        self.assertIn("out of luck", done.stdout)

    def test_run_in_the_foreground_waits_for_its_job(self):
        self.write("echo FoM: 1")
        self.assertIn("succeeded", self.slipway("run", "exp.yaml").stdout)

    def test_what_no_partition_takes_is_refused_before_it_is_submitted(self):
        for slurm, launch, words in (({"partition": "debgu"}, {}, "debug"),
                                     ({"partition": "short"}, {"time_limit": "10d"}, "time_limit")):
            self.write("true", slurm, **launch)
            refused = self.slipway("submit", "exp.yaml", status=2)
            self.assertIn(words, refused.stderr)
            self.assertEqual(self.status()["phase"], "failed")


class Waiting(Engine):
    def setUp(self):
        super().setUp()
        for node in ("n1", "n2"):
            self.on_node("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
        self.addCleanup(self.undrain)

    def undrain(self):
        """Lets jobs begin; a node that is not drained refuses to be resumed."""
        for node, state in self.bed.node_states().items():
            if state.startswith("dr"):
                self.on_node("scontrol", "update", f"nodename={node}", "state=resume")

    def test_run_says_why_it_waits_and_can_be_cancelled(self):
        self.write("touch ran")
        job = self.submit()["batch_job"]
        support.wait_for(lambda: f"job {job} waits" in self.status()["reason"], 20, "the reason")
        self.assertEqual(self.status()["phase"], "queued")
        self.slipway("cancel")
        self.assertEqual(self.status()["phase"], "cancelled")
        self.assertEqual(self.bed.wait_for_end(job), "CANCELLED")
        self.assertFalse((self.place / "ran").exists())

    def test_job_that_another_removes_is_cancelled_and_the_run_can_be_resumed(self):
        self.write("touch ran")
        job = self.submit()["batch_job"]
        self.on_node("scancel", job)
        self.until("cancelled")
        self.undrain()
        self.slipway("resume")
        self.slipway("wait", "--timeout", "60s")
        self.assertTrue((self.place / "ran").exists())


class Running(Engine):
    ENSEMBLE = {"objective": {"metric": "objective", "goal": "maximize"}, "trials": 12, "parallel": 2,
                "sampler": "grid", "space": {"x": {"int": [1, 12]}}}

    def test_cancel_ends_it_in_order(self):
        self.write("touch up; sleep 60")
        job = self.submit()["batch_job"]
        support.wait_for((self.place / "up").exists, 30, "the program")
        self.until("running")
        self.assertIn("has not ended", self.slipway("resume", status=4).stderr)
        self.slipway("cancel")
        self.assertEqual(self.status()["phase"], "cancelled")
        self.bed.wait_for_end(job)

    def test_warning_of_the_time_limit_without_progress_ends_it(self):
        self.write("touch up; sleep 60")
        job = self.submit()["batch_job"]
        support.wait_for((self.place / "up").exists, 30, "the program")
        self.on_node("scancel", "--batch", f"--signal={signal.SIGUSR1.name[3:]}", job)
        self.slipway("wait", "--timeout", "60s", status=1)
        self.assertIn("time limit", self.status()["reason"])

    def test_ensemble_without_progress_is_not_queued_again_for_ever(self):
        self.write("touch up; sleep 60", ensemble=dict(self.ENSEMBLE, trials=2))
        job = self.submit()["batch_job"]
        support.wait_for((self.place / "up").exists, 30, "the first trial")
        self.on_node("scancel", "--batch", f"--signal={signal.SIGUSR1.name[3:]}", job)
        self.slipway("wait", "--timeout", "60s", status=1)
        self.assertIn("before it had written a checkpoint", self.status()["reason"])

    def test_ensemble_goes_on_in_the_next_job_after_the_warning(self):
        self.write('sleep 0.2; echo "$1" >> done; echo FoM: "$1"',
                   ensemble=self.ENSEMBLE)
        job = self.submit()["batch_job"]
        support.wait_for((self.place / "done").exists, 30, "the first trial")
        self.on_node("scancel", "--batch", f"--signal={signal.SIGUSR1.name[3:]}", job)
        self.slipway("wait", "--timeout", "80s")
        self.assertEqual(self.bed.job(job)["Restarts"], "1")
        trials = json.loads(self.slipway("trials", "ls", "--json").stdout)["trials"]
        self.assertEqual(collections.Counter(trial["state"] for trial in trials), {"complete": 12})


class IntoBurstBuffer(Engine):
    OPTIONS = ("--nodes", "2", "--burst-buffer", "datawarp")

    def write_with_data(self, command, **buffer):
        """One file of one TFRecord of 1,000 bytes, in the tier `burst`; no checksum is looked at."""
        data = self.place / "data"
        data.mkdir()
        (data / "a.tfrecord").write_bytes(struct.pack("<QI", 1000, 0) + bytes(1000) + struct.pack("<I", 0))
        self.write(command, {"burst_buffer": {"type": "datawarp", **buffer}})
        spec = json.loads((self.place / "exp.yaml").read_text())
        spec["data"] = {"train": {"source": f"{data}/*.tfrecord", "tier": "burst", "verify": "off"}}
        (self.place / "exp.yaml").write_text(json.dumps(spec))
        return data

    def test_job_stages_into_the_buffer_that_its_directives_ask_for(self):
        data = self.write_with_data("cat $SLIPWAY_DATA_TRAIN/*.tfrecord | wc -c > seen; echo $SLIPWAY_DATA_TRAIN > where",
                                    stage_in=False, capacity="1GiB")
        job = self.submit()["batch_job"]
        self.slipway("wait", "--timeout", "60s")
        self.assertEqual((self.place / "seen").read_text().strip(), "1016")
        where = (self.place / "where").read_text().strip()
        self.assertNotIn(str(data), where)
        self.bed.wait_for_end(job)
        support.wait_for(lambda: not os.path.exists(where), 20, "the end of the buffer")

    def test_data_that_directives_would_stage_is_refused(self):
        self.write_with_data("true")
        self.assertIn("stage_in: false", self.slipway("submit", "exp.yaml", status=3).stderr)


if __name__ == "__main__":
    support.main()
