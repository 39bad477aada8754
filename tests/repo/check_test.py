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
        (self.root / "tests/repo").mkdir(parents=True)
        for name in ("scripts/build.sh", "scripts/slowest_tests.py", "tests/repo/tiers.py", "tests/tiers.cmake"):
            shutil.copy(ROOT / name, self.root / name)
        (self.root / "bin").mkdir()
        self.fake("cmake", 'echo "cmake $*" >>"$LOG"; echo "[1/1] built"; exit "${CMAKE_STATUS:-0}"')
        self.fake("ctest", 'echo "ctest $* tsan=${TSAN_OPTIONS:-}" >>"$LOG"; [[ $* != *"${FAIL_IN:-nowhere}"* ]]')

    def tearDown(self):
        self.folder.cleanup()

    def fake(self, name, script):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def check(self, *arguments, command="check", **environment):
        """Exit status, and the arguments of each call of ctest; self.built is that of the build."""
        log = self.root / "log"
        log.unlink(missing_ok=True)
        path = f"{self.root}/bin:{os.environ['PATH']}"
        done = subprocess.run([self.root / command, *arguments], cwd="/", capture_output=True, text=True,
                              env={**os.environ, "PATH": path, "LOG": str(log), "CI": "true", **environment})
        lines = log.read_text().splitlines() if log.exists() else []
        self.output = done.stdout + done.stderr
        self.built = [line for line in lines if line.startswith("cmake --build")]
        return done.returncode, [line for line in lines if line.startswith("ctest")]

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=self.root, check=True,
                       capture_output=True)

    def test_runs_the_default_tier(self):
        for command in ("check", ".ci/run"):
            status, calls = self.check(command=command)
            self.assertEqual((status, len(calls)), (0, 1))
            self.assertIn("--test-dir build/dev", calls[0])
            self.assertIn("-LE ^full$|^long$ ", calls[0])
            self.assertTrue(self.built[0].endswith("--target all"), self.built)

    def test_full_runs_everything_but_the_long_tests(self):
        _, calls = self.check("--full")
        self.assertIn("-LE ^long$ ", calls[0])
        self.assertTrue(self.built[0].endswith("--target all full_tests"), self.built)
        _, calls = self.check("--long")
        self.assertNotIn("-LE", calls[0])

    def test_hands_arguments_on(self):
        _, calls = self.check("-L", "core", "-R", "Staging")
        self.assertIn(" -L core -R Staging", calls[0])
        _, calls = self.check("-LE", "mpi")
        self.assertIn("-LE ^full$|^long$|mpi ", calls[0])

    def test_since_adds_the_full_tier_of_what_changed(self):
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        (self.root / ".gitignore").write_text("log\nbuild\n.gitignore\n")
        (self.root / "README.md").touch()
        _, calls = self.check("--since", "HEAD")
        self.assertEqual(len(calls), 1)
        for path in ("launcher/plan/plan.cpp", "tests/staging/plan/plan_test.cpp"):
            (self.root / path).parent.mkdir(parents=True)
            (self.root / path).touch()
        _, calls = self.check("--since", "HEAD")
        self.assertIn("-LE ^full$|^long$ ", calls[0])
        self.assertIn("-L ^full$ -L ^(end_to_end|launcher|slurm|staging)$ -LE ^long$", calls[1])
        (self.root / "check").write_text((self.root / "check").read_text() + "\n")
        _, calls = self.check("--since", "HEAD")
        self.assertIn("-L ^full$ -L ^(.|end_to_end", calls[1])

    def test_since_asks_for_a_commit(self):
        for arguments in (("--since",), ("--since", "no-such-commit")):
            status, calls = self.check(*arguments)
            self.assertEqual((status, calls), (2, []))

    def test_names_the_slowest_tests(self):
        self.fake("ctest", """mkdir -p build/dev
          { echo '<testsuite>'
            for i in {1..25}; do echo "<testcase name='T$i' time='$i.5' status='run'/>"; done
            echo '</testsuite>'; } >build/dev/tests-default.xml""")
        self.check()
        self.assertIn("The slowest 20 of 25 tests, which took 338 s together:\n   25.5 s  T25  (budget 20 s)\n", self.output)
        self.assertNotIn("T5\n", self.output)

    def test_says_why_tests_were_skipped(self):
        self.fake("ctest", """mkdir -p build/dev
          { echo '<testsuite>'
            for i in {1..5}; do
              echo "<testcase name='gpu.$i' time='0.1' status='notrun'><skipped message='SKIP_RETURN_CODE=77'/>"
              echo "<system-out>a warning"; echo "skipped: torch sees no GPU</system-out></testcase>"
            done
            echo '</testsuite>'; } >build/dev/tests-default.xml""")
        self.check()
        self.assertIn("Skipped tests: 5\n  torch sees no GPU: gpu.1, gpu.2, gpu.3 and 2 more\n", self.output)

    def test_sanitizers_run_both_presets_and_leave_libtorch_out_of_the_second(self):
        status, calls = self.check("--sanitize")
        self.assertEqual((status, len(calls)), (0, 2))
        self.assertIn("build/asan-ubsan", calls[0])
        self.assertNotIn("torch", calls[0])
        self.assertIn("build/tsan", calls[1])
        self.assertIn("-LE ^full$|^long$|^torch$ ", calls[1])
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
