#!/usr/bin/python3
"""A training that needs several time limits ends with the weights of one that was never interrupted, bit for bit.
SLIPWAY_LONG=1: three real limits of Slurm, instead of the signal that it sends ahead of them."""

import datetime
import hashlib
import json
import os
import pathlib
import shutil
import signal
import time
import unittest

import engine_test
import support

IMAGES = pathlib.Path("/usr/share/datasets/fashion-mnist")
SPEC = pathlib.Path(__file__).resolve().parents[2] / "configs" / "fashion.yaml"
TRAINER = "libexec/slipway/trainers/fashion"
HDF5 = "lib/slipway/libslipway_hdf5.so"
TRY_AGAIN = 75
LONG = bool(os.environ.get("SLIPWAY_LONG"))


@unittest.skipUnless((engine_test.BUILT / TRAINER).exists(), "built without libtorch")
@unittest.skipUnless(IMAGES.exists(), "the Debian package dataset-fashion-mnist is not installed")
class Limits(engine_test.Engine):
    SMALL = {"train.args.channels": 8, "train.args.batch_size": 32, "checkpoint.on_time_limit": "requeue"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        prefix = cls.program.parent.parent
        (prefix / TRAINER).parent.mkdir(parents=True, exist_ok=True)
        for part in (TRAINER, HDF5):
            shutil.copy(engine_test.BUILT / part, prefix / part)

    def setUp(self):
        super().setUp()
        data = self.place / "data" / "fashion"
        data.mkdir(parents=True)
        for folder in (data.parent, data):
            folder.chmod(0o777)
        files = ["--images", IMAGES / "t10k-images-idx3-ubyte.gz", "--labels", IMAGES / "t10k-labels-idx1-ubyte.gz"]
        for form, place in (("tfrecord", data / "train"), ("hdf5", data / "test.h5")):
            self.slipway("data", "convert", *files, "--to", form, place)

    def slipway(self, *words, **more):
        return super().slipway(*words, SLIPWAY_DATA_ROOT=str(self.place / "data"), **more)

    def submit_training(self, settings, **more):
        words = [word for name, value in {**self.SMALL, **settings, **more}.items()
                 for word in ("--set", f"{name}={value}")]
        return json.loads(self.slipway("submit", SPEC, "--engine", "slurm", "--json", *words).stdout)

    def ended(self, run, patience_s):
        deadline = time.monotonic() + patience_s
        while self.slipway("wait", run, "--timeout", "30s", status=None).returncode == TRY_AGAIN:
            self.assertLess(time.monotonic(), deadline)
        self.slipway("wait", run)
        return self.place / "runs" / run

    def steps(self, folder, attempt):
        """How many an attempt has reported."""
        metrics = folder / f"attempt-{attempt}" / "metrics.jsonl"
        lines = metrics.read_text().splitlines() if metrics.exists() else []
        return json.loads(lines[-1])["step"] if lines else 0

    def interrupt(self, submitted, attempt):
        """The warning of the time limit, in the middle of an attempt."""
        folder = self.place / "runs" / submitted["run"]
        before = self.steps(folder, attempt - 1) if attempt > 1 else 0
        support.wait_for(lambda: self.steps(folder, attempt) > before, 90, f"steps of attempt {attempt}")
        self.bed.administrate("scancel", "--batch", f"--signal={signal.SIGUSR1.name[3:]}", str(submitted["batch_job"]))
        support.wait_for(lambda: self.status()["phase"] == "queued" or self.status()["attempt"] > attempt, 60, "the queue")

    def assert_same_end(self, interrupted, whole):
        ends = [max((folder / "checkpoints").glob("step-*")) for folder in (interrupted, whole)]
        self.assertEqual(ends[0].name, ends[1].name)
        for name in ("model.pt", "progress.json"):
            sums = [hashlib.sha256((end / name).read_bytes()).hexdigest() for end in ends]
            self.assertEqual(*sums, name)
        last = [json.loads((folder / f"attempt-{attempt}" / "metrics.jsonl").read_text().splitlines()[-1])["metrics"]
                for folder, attempt in ((interrupted, self.last_attempt(interrupted)), (whole, 1))]
        self.assertEqual(*last)

    @staticmethod
    def last_attempt(folder):
        return json.loads((folder / "state.json").read_text())["attempt"]

    @unittest.skipIf(LONG, "the real limits are tried instead")
    def test_three_jobs_end_with_the_weights_of_one(self):
        size = {"train.args.epochs": 5, "train.args.train_images": 8960}
        whole = self.submit_training(size)
        self.ended(whole["run"], 180)
        cut = self.submit_training(size)
        for attempt in (1, 2):
            self.interrupt(cut, attempt)
        folder = self.ended(cut["run"], 180)
        self.assertEqual(self.last_attempt(folder), 3)
        self.assertEqual(self.bed.job(cut["batch_job"])["Restarts"], "2")
        self.assert_same_end(folder, self.place / "runs" / whole["run"])

    @unittest.skipUnless(LONG, "takes ten minutes")
    def test_three_real_limits_end_with_the_weights_of_one(self):
        begun = time.monotonic()
        trial = self.submit_training({"train.args.epochs": 4})
        self.ended(trial["run"], 300)
        epochs = round(4 * 150 / (time.monotonic() - begun))  # more than two limits of a minute
        whole = self.submit_training({"train.args.epochs": epochs})
        self.ended(whole["run"], 900)
        cut = self.submit_training({"train.args.epochs": epochs}, **{"launch.time_limit": "1m", "launch.slurm.partition": "short"})
        folder = self.ended(cut["run"], 1800)
        self.assertGreaterEqual(self.last_attempt(folder), 3)
        self.assertGreaterEqual(int(self.bed.job(cut["batch_job"])["Restarts"]), 2)
        self.assert_same_end(folder, self.place / "runs" / whole["run"])


class Saving(engine_test.Engine):
    """With a program that writes a checkpoint at once; its manifest says how long that took."""
    SAVE = """
        [ $SLIPWAY_ATTEMPT = 2 ] && { echo '{"step": 8, "metrics": {"objective": 1}}' >> $SLIPWAY_METRICS; exit; }
        step=$SLIPWAY_CHECKPOINT_DIR/step-000000000007
        mkdir -p $step && cp manifest.json $step/
        """

    def run_with(self, then, seconds, slurm, limit, ensemble=None, on_time_limit="requeue"):
        manifest = {"schema": "slipway.checkpoint/1", "step": 7, "epoch": 1.0, "world_size": 1, "spec_hash": "", "files": [],
                    "seconds": seconds}
        (self.place / "manifest.json").write_text(json.dumps(manifest))
        self.write(self.SAVE + then, slurm, ensemble, time_limit=limit)
        spec = json.loads((self.place / "exp.yaml").read_text())
        spec["checkpoint"] = {"on_time_limit": on_time_limit}
        spec["train"]["metrics"] = {"from": "runtime"}
        (self.place / "exp.yaml").write_text(json.dumps(spec))
        return self.submit()["run"]

    def events(self, run, name):
        lines = (self.place / "runs" / run / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == name]

    def reasons(self, run):
        return [event.get("reason", "") for event in self.events(run, "queued")]


class SlowCheckpoints(Saving):
    """Slurm's signal would come a minute or more before the end. What is known of the checkpoints says: earlier."""
    SAVES_IN_S = 125
    UNTIL_TOLD = """
        while ! [ -e $SLIPWAY_STOP_FILE ]; do sleep 0.1; done
        cp $SLIPWAY_STOP_FILE stop.$$ && mv stop.$$ stop.json
        """

    def begin(self, ensemble=None):
        return self.run_with(self.UNTIL_TOLD, self.SAVES_IN_S, {"signal_before": "1s"}, "5m", ensemble)

    def test_the_ranks_are_asked_while_there_is_time_for_them(self):
        run = self.begin()
        support.wait_for(lambda: (self.place / "stop.json").exists(), 100, "the wish to stop")
        (near,) = self.events(run, "time_limit_near")
        self.assertEqual((near["checkpoint_s"], near["lead_s"]), (self.SAVES_IN_S, 2 * self.SAVES_IN_S + 30))
        asked = datetime.datetime.fromisoformat(near["time"])
        deadline = datetime.datetime.fromisoformat(json.loads((self.place / "stop.json").read_text())["deadline"])
        self.assertGreater((deadline - asked).total_seconds(), 2 * self.SAVES_IN_S - 10)
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual((self.status()["phase"], self.status()["attempt"]), ("succeeded", 2))
        self.assertTrue(any("time limit" in reason for reason in self.reasons(run)), self.reasons(run))

    def test_trials_are_asked_while_there_is_time_for_them(self):
        run = self.begin({
            "objective": {"metric": "objective"}, "trials": 2, "parallel": 2, "sampler": "random",
            "space": {"x": {"uniform": [0, 1]}}})
        support.wait_for(lambda: (self.place / "stop.json").exists(), 100, "the wish to stop")
        (near,) = self.events(run, "time_limit_near")
        self.assertEqual((near["checkpoint_s"], near["lead_s"]), (self.SAVES_IN_S, 2 * self.SAVES_IN_S + 30))
        asked = datetime.datetime.fromisoformat(near["time"])
        wish = json.loads((self.place / "stop.json").read_text())
        self.assertEqual(wish["reason"], "time_limit")
        deadline = datetime.datetime.fromisoformat(wish["deadline"])
        self.assertGreater((deadline - asked).total_seconds(), 2 * self.SAVES_IN_S - 10)
        self.slipway("wait", "--timeout", "200s", status=None)
        trials = json.loads(self.slipway("trials", "ls", "--json").stdout)["trials"]
        self.assertEqual([trial["attempts"] for trial in trials], [2, 2])
        self.assertTrue(any("time limit" in reason for reason in self.reasons(run)), self.reasons(run))


class StagingAtTheLimit(Saving):
    def test_run_is_queued_again_once(self):
        with open(self.place / "large.bin", "wb") as file:
            file.truncate(256 << 20)
        self.write("true", {"signal_before": "120s"}, time_limit="1m")
        spec = json.loads((self.place / "exp.yaml").read_text())
        spec["checkpoint"] = {"on_time_limit": "requeue"}
        spec["data"] = {"train": {"source": f"{self.place}/large.bin", "format": "raw", "tier": "node", "verify": "off",
                                  "bandwidth": "1MB"}}
        (self.place / "exp.yaml").write_text(json.dumps(spec))
        run = self.submit()["run"]
        support.wait_for(lambda: self.status()["phase"] == "failed", 300, "the second limit")
        self.assertEqual(self.status()["reason"], "the time limit of its job was reached before its ranks began")
        requeued = [event for event in self.events(run, "queued") if event.get("cause") == "job_time_limit"]
        self.assertEqual([event["progressed"] for event in requeued], [False])
        self.assertEqual(self.status()["attempt"], 0)


class Deaf(Saving):
    """Programs that never end by themselves, in jobs that Slurm ends in earnest."""
    OPTIONS = (*engine_test.Engine.OPTIONS, "--conf", "KillWait=30")  # as it is where nobody has changed it

    def begin(self, on_time_limit, limit="1m"):
        return self.run_with("touch up; trap '' TERM; while :; do sleep 1; done", 0, {"signal_before": "120s"}, limit,
                             on_time_limit=on_time_limit)

    def status_of(self, run):
        return json.loads(self.slipway("status", run, "--json", status=None).stdout)

    def goes_on(self, run):
        self.slipway("wait", run, "--timeout", "110s")
        self.assertEqual((self.status_of(run)["phase"], self.status_of(run)["attempt"]), ("succeeded", 2))
        self.assertTrue(any("time limit" in reason for reason in self.reasons(run)), self.reasons(run))

    def test_run_goes_on_or_has_failed_as_its_spec_says(self):
        runs = [self.begin("requeue"), self.begin("stop")]
        self.slipway("wait", runs[1], "--timeout", "110s", status=1)
        stopped = self.status_of(runs[1])
        self.assertEqual((stopped["phase"], stopped["reason"]), ("failed", "the time limit of its job was reached"))
        self.goes_on(runs[0])

    def test_run_whose_time_is_over_without_a_warning_goes_on(self):
        run = self.begin("requeue", "10m")
        support.wait_for((self.place / "up").exists, 60, "the program")
        self.until("running")
        self.bed.administrate("scontrol", "update", f"jobid={self.status()['batch_job']}", "EndTime=now")
        self.goes_on(run)


if __name__ == "__main__":
    support.main()
