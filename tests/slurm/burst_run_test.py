#!/usr/bin/python3
"""Runs with burst buffers, by Slurm's real plugins: what directives stage is checked and trained from, results come back."""

import hashlib
import json
import os
import pathlib
import struct
import unittest

import engine_test
import support

TEMPLATE = pathlib.Path(__file__).resolve().parents[2] / "templates/burst_buffer.lua"
POLYNOMIAL = 0x82F63B78  # CRC32C, bits reversed


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ POLYNOMIAL & -(crc & 1)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(*records):
    """The bytes of a TFRecord file."""
    lengths = [struct.pack("<Q", len(record)) for record in records]
    return b"".join(length + masked(length) + record + masked(record) for length, record in zip(lengths, records))


FILES = {f"{name}.tfrecord": tfrecord(*(bytes([ord(name), i]) * 150 for i in range(4))) for name in "abc"}
ALL = hashlib.sha256(b"".join(FILES.values())).hexdigest()
TRAIN = 'cat "$SLIPWAY_DATA_TRAIN"/*.tfrecord | sha256sum >seen; echo "$SLIPWAY_DATA_TRAIN" >where; '


class WithBuffer(engine_test.Engine):
    def setUp(self):
        super().setUp()
        self.order()
        self.data = self.place / "data"
        self.data.mkdir()
        for name, content in FILES.items():
            (self.data / name).write_bytes(content)

    def write_run(self, command, verify="format", buffer=None, checkpoint=None, **slurm):
        """A run of three small TFRecords in the tier `burst`."""
        self.write(command, {"burst_buffer": {**self.BUFFER, **(buffer or {})}, **slurm})
        spec = json.loads((self.place / "exp.yaml").read_text())
        spec["data"] = {"train": {"source": f"{self.data}/*.tfrecord", "tier": "burst", "verify": verify}}
        if checkpoint:
            spec["checkpoint"] = checkpoint
        (self.place / "exp.yaml").write_text(json.dumps(spec))

    def order(self, *faults):
        """What the stand-in of the buffer does wrong from now on."""
        (self.bed.state / "buffers/faults").write_text("".join(fault + "\n" for fault in faults))

    def finish(self, status=0):
        self.slipway("wait", "--timeout", "200s", status=status)
        return self.status()

    def assert_trained_in_the_buffer(self, job):
        self.assertEqual((self.place / "seen").read_text().split()[0], ALL)
        self.assertTrue((self.place / "where").read_text().startswith(f"{self.bed.state}/buffers/{job}/data/"))

    def events(self, name):
        run = self.status()["run"]
        lines = (self.place / "runs" / run / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == name]

    def wait_until_gone(self, job):
        support.wait_for(lambda: not (self.bed.state / "buffers" / str(job)).exists(), 60, "the end of the buffer")


class StagedByDirectives:
    """In the words of either plugin."""

    def test_data_is_there_when_the_job_begins_and_results_come_back(self):
        results = self.place / "results"
        self.write_run(TRAIN + 'echo 7 >"$' + self.VARIABLE + '/out/answer"; echo FoM: 7',
                       buffer={"capacity": "32MiB", "stage_out": {"out": str(results)}})
        job = self.submit()["batch_job"]
        self.finish()
        self.assert_trained_in_the_buffer(job)
        staged = self.events("staged")[0]
        self.assertTrue(staged["found"])
        self.assertEqual((staged["bytes"], self.events("mended")), (0, []), "nothing was copied by the job")
        self.bed.wait_for_end(job)
        self.assertEqual((results / "answer").read_text(), "7\n")
        self.wait_until_gone(job)

    def test_what_is_torn_or_missing_is_named_and_copied_again(self):
        self.order("tear a.tfrecord", "drop c.tfrecord")
        self.write_run(TRAIN)
        job = self.submit()["batch_job"]
        told = self.finish()["detail"]
        self.assert_trained_in_the_buffer(job)
        self.assertIn("2 of 3 files of train", told)
        self.assertRegex(told, r"a\.tfrecord: .*record 2")
        self.assertIn("c.tfrecord: it is not there", told)
        self.assertEqual([file["file"] for file in self.events("mended")[0]["files"]], ["a.tfrecord", "c.tfrecord"])

    def test_every_byte_is_compared_where_the_format_has_no_sums(self):
        self.order("tear b.tfrecord")
        self.write_run(TRAIN, verify="off")
        job = self.submit()["batch_job"]
        self.assertIn("b.tfrecord: its bytes from 0 on differ from its source", self.finish()["detail"])
        self.assert_trained_in_the_buffer(job)

    def test_what_cannot_be_mended_fails_the_run_with_that_reason(self):
        damaged = bytearray(FILES["b.tfrecord"])
        damaged[20] ^= 1
        (self.data / "b.tfrecord").write_bytes(damaged)
        self.write_run("touch trained")
        self.submit()
        self.assertIn("b.tfrecord", self.finish(status=1)["reason"])
        self.assertFalse((self.place / "trained").exists())

    def test_a_stage_in_that_fails_is_told_and_nothing_is_lost(self):
        self.order("refuse b.tfrecord")
        self.write_run(TRAIN)
        first = self.submit()["batch_job"]
        support.wait_for(lambda: "the mover gave up" in self.status()["reason"], 60, "the reason")
        told = self.status()
        self.assertEqual(told["phase"], "queued")
        self.assertIn("slipway cancel", told["reason"])
        self.wait_until_gone(first)
        self.slipway("cancel")
        self.order()
        self.slipway("resume")
        self.finish()
        self.assert_trained_in_the_buffer(self.status()["batch_job"])

    def test_a_stage_out_that_fails_is_told(self):
        self.order("refuse answer")
        self.write_run('echo 7 >"$' + self.VARIABLE + '/out/answer"',
                       buffer={"capacity": "32MiB", "stage_out": {"out": str(self.place / "results")}})
        job = self.submit()["batch_job"]
        self.finish()
        self.bed.wait_for_end(job)
        support.wait_for(lambda: "the mover gave up" in self.status()["detail"], 60, "the failure")
        self.assertEqual(self.status()["phase"], "succeeded")

    def hold_stage_out(self):
        """Until the test has made the file `out`."""
        tool = self.bed.state / "etc" / self.TOOL
        text = tool.read_text()
        self.addCleanup(tool.write_text, text)
        self.addCleanup((self.place / "out").touch)
        wait = f"while ! [ -e {self.place}/out ]; do sleep 0.1; done"
        tool.write_text(text.replace("exec", f'case "$*" in *data_out*) {wait};; esac\nexec', 1))

    def test_while_results_are_copied_out_there_is_nothing_left_to_cancel(self):
        self.hold_stage_out()
        results = self.place / "results"
        self.write_run('echo 7 >"$' + self.VARIABLE + '/out/answer"',
                       buffer={"capacity": "32MiB", "stage_out": {"out": str(results)}})
        job = self.submit()["batch_job"]
        support.wait_for(lambda: "copies results out" in self.status()["reason"], 60, "the stage-out")
        self.assertIn("copies results out", self.slipway("explain").stdout)
        said = self.slipway("cancel").stdout
        self.assertIn("has ended already: succeeded", said)
        self.assertIn(f"job {job} copies results out of the burst buffer", said)
        (self.place / "out").touch()
        self.finish()
        self.assertEqual((results / "answer").read_text(), "7\n")

    def test_checkpoints_and_results_in_the_buffer_come_to_the_run_folder(self):
        self.write_run(TRAIN + 'echo "$SLIPWAY_OUTPUT_DIR" >out; echo 7 >"$SLIPWAY_OUTPUT_DIR/answer"',
                       buffer={"capacity": "32MiB"}, checkpoint={"tier": "burst"})
        submitted = self.submit()
        self.finish()
        self.assert_trained_in_the_buffer(submitted["batch_job"])
        self.assertIn("/buffers/", (self.place / "out").read_text())
        self.assertEqual((self.place / "runs" / submitted["run"] / "outputs/answer").read_text(), "7\n")

    def test_a_job_that_is_queued_again_is_staged_again(self):
        self.write_run("touch up; [ $SLIPWAY_ATTEMPT = 1 ] && sleep 300; " + TRAIN + "echo FoM: 7")
        job = self.submit()["batch_job"]
        support.wait_for((self.place / "up").exists, 60, "the program")
        self.on_node("scontrol", "requeue", job)
        support.wait_for((self.place / "seen").exists, 60, "the next attempt")
        self.finish()
        self.assertEqual(self.bed.job(job)["Restarts"], "1")
        self.assert_trained_in_the_buffer(job)
        self.assertEqual([staged["found"] for staged in self.events("staged")], [True, True])
        self.assertEqual(self.events("mended"), [])

    def test_trials_train_in_the_buffer(self):
        self.write_run(TRAIN.replace(">seen", '>seen."$1"').replace(">where", '>where."$1"') + 'echo FoM: "$1"')
        spec = json.loads((self.place / "exp.yaml").read_text())
        spec["train"]["command"] += ["sh", "{x}"]
        spec["ensemble"] = {"objective": {"metric": "objective", "goal": "maximize"}, "trials": 4, "parallel": 2,
                            "sampler": "grid", "space": {"x": {"int": [1, 4]}}}
        (self.place / "exp.yaml").write_text(json.dumps(spec))
        job = self.submit()["batch_job"]
        self.finish()
        for trial in range(1, 5):
            self.assertEqual((self.place / f"seen.{trial}").read_text().split()[0], ALL)
            where = (self.place / f"where.{trial}").read_text()
            self.assertTrue(where.startswith(f"{self.bed.state}/buffers/{job}/data/"), where)
        self.assertEqual([staged["found"] for staged in self.events("staged")], [True])
        self.wait_until_gone(job)

    def test_the_job_may_stage_itself(self):
        self.write_run(TRAIN, buffer={"stage_in": False, "capacity": "32MiB"})
        job = self.submit()["batch_job"]
        self.finish()
        self.assert_trained_in_the_buffer(job)
        self.assertFalse(self.events("staged")[0]["found"])
        self.wait_until_gone(job)


class DataWarp(StagedByDirectives, WithBuffer):
    OPTIONS = ("--nodes", "2", "--burst-buffer", "datawarp")
    BUFFER = {"type": "datawarp"}
    VARIABLE = "DW_JOB_STRIPED"
    TOOL = "dw_wlm_cli"

    def test_a_persistent_buffer_is_made_used_again_and_destroyed(self):
        buffers = self.bed.state / "buffers"
        self.write_run(TRAIN, buffer={"persistent": "kept", "action": "create", "capacity": "32MiB"})
        self.submit()
        self.finish()
        self.assertTrue((buffers / "kept").exists())
        self.assertTrue((self.place / "where").read_text().startswith(f"{buffers}/kept/data/"))
        self.assertEqual(os.listdir(buffers / "kept/data"), [f"slipway-{os.stat(buffers / 'kept/data').st_uid}"])
        self.write_run(TRAIN, buffer={"persistent": "kept"})
        self.submit()
        self.finish()
        self.assertTrue(self.events("staged")[0]["found"])
        self.write("true", {"burst_buffer": {**self.BUFFER, "persistent": "kept", "action": "destroy"}})
        self.submit()
        self.finish()
        support.wait_for(lambda: not (buffers / "kept").exists(), 60, "the end of the persistent buffer")


class Lua(StagedByDirectives, WithBuffer):
    OPTIONS = ("--nodes", "2", "--burst-buffer", "lua")
    BUFFER = {"type": "lua", "pool": "pool"}
    VARIABLE = "BB_JOB_STRIPED"
    TOOL = "buffer_tool"


class SiteHook(WithBuffer):
    """The hook that sites get, filled in as a facility's engineer would."""
    OPTIONS = ("--nodes", "2", "--burst-buffer", "lua")
    BUFFER = {"type": "lua", "pool": "pool"}
    SITE = {"program": "/usr/bin/slipway", "root": "/flash/slurm-buffers", "pool": "flash"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        hook = TEMPLATE.read_text()
        mine = {"program": str(cls.program), "root": str(cls.bed.state / "buffers"), "pool": "pool"}
        for name, value in mine.items():
            line = f'{name} = "{cls.SITE[name]}"'
            assert line in hook, line
            hook = hook.replace(line, f'{name} = "{value}"')
        hook = hook.replace("capacity_mib = 100 * 1024 * 1024", "capacity_mib = 1024")
        hook = hook.replace("granularity_mib = 1024,", "granularity_mib = 16,")
        (pathlib.Path(cls.bed.environment["SLURM_CONF"]).parent / "burst_buffer.lua").write_text(hook)

    def test_a_run_trains_from_what_the_hook_staged_and_its_results_come_back(self):
        results = self.place / "results"
        self.write_run(TRAIN + 'mkdir "$BB_JOB_STRIPED/out/deep"; echo 7 >"$BB_JOB_STRIPED/out/deep/answer"',
                       buffer={"capacity": "32MiB", "stage_out": {"out": str(results)}})
        job = self.submit()["batch_job"]
        self.finish()
        self.assert_trained_in_the_buffer(job)
        self.assertTrue(self.events("staged")[0]["found"])
        self.assertEqual(self.events("mended"), [])
        self.bed.wait_for_end(job)
        self.assertEqual((results / "deep/answer").read_text(), "7\n")
        self.assertEqual((results / "deep/answer").stat().st_uid, (self.place / "seen").stat().st_uid)
        self.wait_until_gone(job)

    def test_names_with_percent_signs_arrive(self):
        odd = self.place / "50%d%%"
        self.data.rename(odd)
        self.data = odd
        self.write_run(TRAIN)
        job = self.submit()["batch_job"]
        self.finish()
        self.assert_trained_in_the_buffer(job)
        self.assertEqual(self.events("mended"), [])

    def test_text_of_users_is_no_command(self):
        """Names that a shell would take for more."""
        odd = self.place / "a;touch${IFS}pwned"
        odd.mkdir()
        listed = [odd / "$(touch pwned).tfrecord", odd / "'; touch pwned; '.tfrecord"]
        for name, content in zip(listed, FILES.values()):
            name.write_bytes(content)
        (self.place / "list").write_text("".join(f"{name}\n" for name in listed))
        job = self.bed.submit("#!/bin/sh\n#BB_LUA pool=pool capacity=32MiB\n"
                              f"#BB_LUA stage_in type=list source={self.place}/list destination=$BB_JOB_STRIPED/`id`;id\n"
                              'ls "$BB_JOB_STRIPED"/*\n')
        self.assertEqual(self.bed.wait_for_end(job), "COMPLETED")
        self.assertEqual(sorted(self.bed.output_of(job).splitlines()), sorted(name.name for name in listed))
        self.assertEqual(list(self.bed.state.rglob("pwned")), [])

    def test_mistakes_are_refused_at_submission(self):
        for line, reason in (("stage_on type=file", "none of stage_in, stage_out"),
                             ("stage_in type=file source=/a destination=$BB_JOB_STRIPED/../x", "leaves the burst buffer"),
                             ("stage_in type=file source=a destination=$BB_JOB_STRIPED/x", "not absolute")):
            done = self.bed.client("sbatch", stdin=f"#!/bin/sh\n#BB_LUA pool=pool capacity=32MiB\n#BB_LUA {line}\n")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "needs two users")
    def test_nobody_stages_what_they_may_not_read(self):
        secret = self.place / "secret"
        secret.mkdir(mode=0o700)
        (secret / "file").write_text("secret")
        job = self.bed.submit("#!/bin/sh\n#BB_LUA pool=pool capacity=32MiB\n"
                              f"#BB_LUA stage_in type=file source={secret}/file destination=$BB_JOB_STRIPED/x\n")
        support.wait_for(lambda: "Permission denied" in self.bed.client("scontrol", "show", "job", job).stdout, 60, "the reason")
        self.wait_until_gone(job)
        self.bed.client("scancel", job)

    def test_more_than_it_asked_for_is_not_staged(self):
        with open(self.place / "large", "wb") as file:
            file.truncate(33 << 20)
        job = self.bed.submit("#!/bin/sh\n#BB_LUA pool=pool capacity=32MiB\n"
                              f"#BB_LUA stage_in type=file source={self.place}/large destination=$BB_JOB_STRIPED/x\n")
        words = "34603008 bytes into a burst buffer of 33554432 bytes"
        support.wait_for(lambda: words in self.bed.client("scontrol", "show", "job", job).stdout, 60, "the reason")
        self.wait_until_gone(job)
        self.bed.client("scancel", job)

    def test_a_buffer_that_cannot_be_made_is_told_and_nothing_is_lost(self):
        buffers = self.bed.state / "buffers"
        away = buffers.rename(self.bed.state / "away")
        self.addCleanup(lambda: away.exists() and away.rename(buffers))
        self.write_run(TRAIN)
        self.submit()
        support.wait_for(lambda: "cannot create directory" in self.status()["reason"], 60, "the reason")
        self.slipway("cancel")
        away.rename(buffers)
        self.slipway("resume")
        self.finish()
        self.assert_trained_in_the_buffer(self.status()["batch_job"])

    def test_results_that_cannot_be_copied_out_are_told(self):
        (self.place / "results").write_text("a file, where a folder should be")
        self.write_run('echo 7 >"$BB_JOB_STRIPED/out/answer"',
                       buffer={"capacity": "32MiB", "stage_out": {"out": str(self.place / "results")}})
        self.submit()
        self.finish()
        self.assertIn("results", self.status()["detail"])

    def test_buffers_are_shown(self):
        self.assertIn(str(self.bed.state / "buffers"), self.bed.client("scontrol", "show", "bbstat").stdout)
        self.assertIn("TotalSpace=1GiB", self.bed.client("scontrol", "show", "burst").stdout)


if __name__ == "__main__":
    support.main()
