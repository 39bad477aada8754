#!/usr/bin/python3
"""Run folders on a file system that is full, or that becomes read-only, as ext4 does after an error of its disk."""

import os
import subprocess
import unittest

import outages_test
import support

SIZE = 64 << 20


class SmallDisk:
    """A file system of its own, seen by all nodes of beds that come up later: their /tmp is another."""

    def __init__(self, case):
        folder = support.folder_for_all(case)
        self._image, self.path = folder / "image", folder / "disk"
        self.path.mkdir()
        try:
            self._image.touch()
            os.truncate(self._image, SIZE)
            self._run("mkfs.ext4", "-q", "-m0", self._image)
            self._run("mount", "-o", "loop", self._image, self.path)
        except (OSError, subprocess.CalledProcessError) as error:
            raise unittest.SkipTest(f"cannot mount a file system here: {error}") from None
        case.addClassCleanup(self._run, "umount", "--lazy", self.path)
        self.path.chmod(0o777)

    @staticmethod
    def _run(*words):
        subprocess.run(list(map(str, words)), check=True, capture_output=True)

    def fill(self):
        """Takes all the room there is; returns what gives it back."""
        filler = self.path / "filler"
        with open(filler, "wb", buffering=0) as file:
            for chunk in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        file.write(b"x" * chunk)
                except OSError:
                    pass
        return lambda: filler.unlink(missing_ok=True)

    def fail(self):
        """Read-only from now on, whoever has files open."""
        self._run("mount", "-o", "remount,abort", self.path)


class FullDisk(outages_test.Outages):
    COMMAND = "echo up > up.$RANK; while ! [ -e go ]; do sleep 0.1; done; exit $(cat go)"

    @classmethod
    def setUpClass(cls):
        cls.disk = SmallDisk(cls)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.runs = self.disk.path / self.place.name
        self.runs.mkdir()
        self.runs.chmod(0o777)

    def slipway(self, *words, **more):
        return super().slipway(*words, SLIPWAY_RUNS=str(self.runs), **more)

    def go(self, status=0):
        (self.place / "go.new").write_text(str(status))
        (self.place / "go.new").rename(self.place / "go")

    def nothing_is_left(self, run):
        support.wait_for(lambda: not self.processes(str(self.runs)), 60, "the end of all processes of the run")

    def resume(self):
        self.go()
        self.slipway("resume")
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.status()["phase"], "succeeded")


class Full(FullDisk):
    def test_nothing_is_submitted_from_it(self):
        self.write(self.COMMAND)
        self.addCleanup(self.disk.fill())
        refused = self.slipway("submit", "exp.yaml", status=3)
        self.assertIn("No space left on device", refused.stderr)
        self.assertIn(str(self.runs), refused.stderr)
        self.assertEqual(self.bed.ask("squeue", "--noheader"), "")

    def test_the_last_word_has_a_place_all_the_same(self):
        for status, code, phase in ((0, 0, "succeeded"), (7, 1, "failed")):
            with self.subTest(status=status):
                for name in ("go", "up.0", "up.1"):
                    (self.place / name).unlink(missing_ok=True)
                run, job = self.start(self.COMMAND)
                empty = self.disk.fill()
                self.addCleanup(empty)
                self.go(status)
                self.slipway("wait", "--timeout", "200s", status=code)
                self.assertEqual(self.status()["phase"], phase)
                if status:
                    self.assertIn("exit status 7", self.status()["reason"])
                self.no_step_is_left(run, job)
                empty()
        self.resume()

    def test_a_job_that_cannot_begin_is_explained_and_resumed(self):
        nodes = ("n1", "n2", "n3")
        for node in nodes:
            self.order("drain", node)
        self.write(self.COMMAND)
        job = self.submit()["batch_job"]
        empty = self.disk.fill()
        self.addCleanup(empty)
        for node in nodes:
            self.order("undrain", node)
        self.slipway("wait", "--timeout", "200s", status=1)
        self.assertIn(f"job {job} has failed", self.status()["reason"])
        self.assertIn("its run folder cannot be written to: No space left on device", self.status()["reason"])
        self.assertIn("No space left on device", self.slipway("explain").stdout)
        empty()
        self.resume()


class ReadOnly(FullDisk):
    def test_a_run_whose_disk_fails_is_ended_explained_and_resumed(self):
        run, job = self.start(self.COMMAND)
        self.disk.fail()
        self.go(7)
        self.slipway("wait", "--timeout", "200s", status=1)
        state = self.status()
        self.assertEqual(state["phase"], "failed")
        self.assertIn(f"job {job} has failed (exit status 3)", state["reason"])
        self.assertIn("its run folder cannot be written to: Read-only file system", state["reason"])
        self.assertIn("Read-only file system", self.slipway("explain").stdout)
        self.no_step_is_left(run, job)
        self.assertEqual(self.slipway("resume", status=3).returncode, 3)
        self.write("true")
        self.assertIn("Read-only file system", self.slipway("submit", "exp.yaml", status=3).stderr)
        self.move_to_a_sound_disk()
        self.resume()

    def move_to_a_sound_disk(self):
        runs = self.place / "runs"
        subprocess.run(["cp", "--archive", self.runs, runs], check=True)
        self.runs = runs


if __name__ == "__main__":
    support.main()
