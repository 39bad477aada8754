#!/usr/bin/python3
"""What ./check asks of cmake and ctest, in a copy of it where both only write down their arguments."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        shutil.copy(ROOT / "check", self.root)
        (self.root / ".ci").mkdir()
        shutil.copy(ROOT / ".ci/run", self.root / ".ci")
        (self.root / "scripts").mkdir()
        (self.root / "scripts/packages.sh").write_text("ensure_packages() { :; }\n")
        (self.root / "bin").mkdir()
        self.fake("cmake", 'echo "cmake $*" >>"$LOG"; exit "${CMAKE_STATUS:-0}"')
        self.fake("ctest", 'echo "ctest $* tsan=${TSAN_OPTIONS:-}" >>"$LOG"; [[ $* != *"${FAIL_IN:-nowhere}"* ]]')

    def tearDown(self):
        self.folder.cleanup()

    def fake(self, name, script):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def check(self, *arguments, command="check", **environment):
        """Exit status, and the arguments of each call of ctest."""
        log = self.root / "log"
        log.unlink(missing_ok=True)
        path = f"{self.root}/bin:{os.environ['PATH']}"
        done = subprocess.run([self.root / command, *arguments], cwd="/", capture_output=True, text=True,
                              env={**os.environ, "PATH": path, "LOG": str(log), "CI": "true", **environment})
        lines = log.read_text().splitlines() if log.exists() else []
        return done.returncode, [line for line in lines if line.startswith("ctest")]

    def test_runs_everything_but_the_long_tests(self):
        for command in ("check", ".ci/run"):
            status, calls = self.check(command=command)
            self.assertEqual((status, len(calls)), (0, 1))
            self.assertIn("--test-dir build/dev", calls[0])
            self.assertIn("-LE ^long$ ", calls[0])

    def test_hands_arguments_on(self):
        _, calls = self.check("-L", "core", "-R", "Staging")
        self.assertIn(" -L core -R Staging", calls[0])
        _, calls = self.check("-LE", "mpi")
        self.assertIn("-LE mpi|^long$ ", calls[0])
        _, calls = self.check("--long")
        self.assertNotIn("-LE", calls[0])

    def test_sanitizers_run_both_presets_and_leave_libtorch_out_of_the_second(self):
        status, calls = self.check("--sanitize")
        self.assertEqual((status, len(calls)), (0, 2))
        self.assertIn("build/asan-ubsan", calls[0])
        self.assertNotIn("torch", calls[0])
        self.assertIn("build/tsan", calls[1])
        self.assertIn("-LE ^torch$|^long$ ", calls[1])
        self.assertIn("tests/support/tsan.supp", calls[1])

    def test_a_failure_anywhere_is_a_failure(self):
        self.assertNotEqual(self.check(FAIL_IN="dev")[0], 0)
        status, calls = self.check("--sanitize", FAIL_IN="asan")
        self.assertEqual((status != 0, len(calls)), (True, 2))
        self.assertNotEqual(self.check("--sanitize", FAIL_IN="tsan")[0], 0)
        for arguments in ((), ("--sanitize",)):
            status, calls = self.check(*arguments, CMAKE_STATUS="1")
            self.assertEqual((status != 0, calls), (True, []))


if __name__ == "__main__":
    unittest.main()
