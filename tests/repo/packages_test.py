#!/usr/bin/python3
"""scripts/packages.sh with package tools that only write down how they were called."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("bash", "sort", "comm", "sed", "env", "cat")


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.bin = pathlib.Path(self.folder.name)
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.fake("id", "echo 0")
        self.fake("apt-get", 'echo "apt-get $* frontend=${DEBIAN_FRONTEND:-}" >>"$LOG"; exit ${APT_STATUS:-0}')
        self.fake("dpkg-query", 'for name in "$@"; do case $name in --*) ;; $MISSING) exit_status=1 ;; '
                                '*) echo "installed $name:amd64" ;; esac; done; exit ${exit_status:-0}')

    def tearDown(self):
        self.folder.cleanup()

    def fake(self, name, script):
        (self.bin / name).write_text(f"#!{shutil.which('bash')}\n{script}\n")
        (self.bin / name).chmod(0o755)

    def ensure(self, missing="-", **environment):
        log = self.bin / "log"
        script = f'set -euo pipefail; source "{ROOT}/scripts/packages.sh"; ensure_packages build trainers tests'
        done = subprocess.run([self.bin / "bash", "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={"PATH": str(self.bin), "LOG": str(log), "MISSING": missing, **environment})
        return done, log.read_text().splitlines() if log.exists() else []

    def test_nothing_is_called_when_all_is_there(self):
        done, calls = self.ensure()
        self.assertEqual((done.returncode, calls), (0, []), done.stderr)

    def test_only_what_is_missing_is_installed(self):
        done, calls = self.ensure(missing="cmake")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Installing 1 Debian packages: cmake", done.stdout)
        self.assertEqual(len(calls), 2)
        self.assertTrue(calls[0].startswith("apt-get update"))
        self.assertTrue(calls[1].endswith(" cmake frontend=noninteractive"), calls[1])
        self.assertIn("--no-install-recommends", calls[1])

    def test_an_ordinary_user_needs_sudo(self):
        self.fake("id", "echo 1000")
        done, calls = self.ensure(missing="cmake")
        self.assertEqual((done.returncode, calls), (3, []))
        self.assertIn("there is no sudo here", done.stderr)
        self.assertIn("apt-get install --no-install-recommends cmake", done.stderr)
        self.fake("sudo", 'echo sudo >>"$LOG"; exec "$@"')
        done, calls = self.ensure(missing="cmake")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([call.split()[0] for call in calls], ["sudo", "apt-get", "sudo", "apt-get"])

    def test_a_failure_is_said(self):
        done, _ = self.ensure(missing="cmake", APT_STATUS="100")
        self.assertEqual(done.returncode, 3)
        self.assertIn("could not install all of: cmake", done.stderr)

    def test_elsewhere_the_list_is_shown(self):
        (self.bin / "dpkg-query").unlink()
        done, calls = self.ensure()
        self.assertEqual((done.returncode, calls), (0, []))
        self.assertIn("libopenmpi-dev", done.stderr)


if __name__ == "__main__":
    unittest.main()
