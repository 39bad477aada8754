#!/usr/bin/python3
"""The steps of ./quickstart, in a copy of it whose `slipway` only writes down its arguments and makes empty files."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLIPWAY = r"""#!/bin/bash
echo "$*" >>"$LOG"
[[ $* != "${FAIL_AT:-nothing}"* ]] || exit 3
[[ "$1 $2" == "data convert" ]] || exit 0
destination=${@: -1}
if [[ $* == *"--to hdf5"* ]]; then touch "$destination"; else touch "$destination"-0000{0..3}-of-00004.tfrecord; fi
"""


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name) / "a checkout"
        (self.root / "scripts").mkdir(parents=True)
        (self.root / "build/release/bin").mkdir(parents=True)
        shutil.copy(ROOT / "quickstart", self.root)
        (self.root / "scripts/packages.sh").write_text("ensure_packages() { :; }\n")
        shutil.copy(ROOT / "scripts/build.sh", self.root / "scripts")
        self.program(self.root / "build/release/bin/slipway", SLIPWAY)
        self.program(self.root / "bin/cmake", "#!/bin/bash\n")

    def tearDown(self):
        self.folder.cleanup()

    def program(self, path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def start(self, **environment):
        """The finished process, and the command lines of slipway."""
        log = self.root / "log"
        log.unlink(missing_ok=True)
        path = f"{self.root}/bin:{os.environ['PATH']}"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SLIPWAY_")}
        done = subprocess.run([self.root / "quickstart"], cwd="/", capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env={**clean, "PATH": path, "LOG": str(log), **environment})
        return done, log.read_text().splitlines() if log.exists() else []

    def data_files(self, folder="data"):
        return sorted(path.name for path in (self.root / folder).iterdir()), sorted(
            path.name for path in (self.root / folder / "fashion").iterdir())

    def test_goes_from_data_to_leaderboard(self):
        done, calls = self.start()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([" ".join(call.split()[:2]) for call in calls],
                         ["data convert", "data convert", "run configs/fashion.yaml",
                          "run configs/fashion-ensemble.yaml", "trials best", "ls"])
        self.assertEqual(self.data_files(), (["fashion"], ["test.h5"] + [f"train-0000{i}-of-00004.tfrecord"
                                                                         for i in range(4)]))
        self.assertEqual((self.root / "data/fashion").stat().st_mode & 0o777, 0o750)

    def test_keeps_valid_data_the_second_time(self):
        self.start()
        done, calls = self.start()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(calls[0].startswith("data verify"))
        self.assertEqual(calls[1], "run configs/fashion.yaml")

    def test_leaves_no_half_dataset_when_it_is_interrupted(self):
        done, _ = self.start(FAIL_AT="data convert --images /usr/share/datasets/fashion-mnist/t10k")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(list((self.root / "data").iterdir()), [])

    def test_touches_no_data_that_is_not_its_own(self):
        (self.root / "data/fashion").mkdir(parents=True)
        (self.root / "data/fashion/mine").touch()
        done, _ = self.start(FAIL_AT="data verify")
        self.assertEqual(done.returncode, 3)
        self.assertIn("move it away", done.stderr)
        self.assertEqual(self.data_files(), (["fashion"], ["mine"]))

    def test_stops_at_a_failing_run_with_its_exit_status(self):
        done, calls = self.start(FAIL_AT="run configs/fashion.yaml")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(calls[-1], "run configs/fashion.yaml")

    def test_uses_the_data_root_of_the_user(self):
        done, _ = self.start(SLIPWAY_DATA_ROOT=str(self.root / "elsewhere"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.data_files("elsewhere")[0], ["fashion"])


if __name__ == "__main__":
    unittest.main()
