#!/usr/bin/python3
"""Which steps tests/gpu/run_all runs, and what it says of them, where everything that a step starts is made up."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("bash", "cat", "chmod", "dirname", "env", "grep", "mkdir", "mktemp", "realpath", "rm", "sed", "sleep", "tee",
         "timeout")
CHECKS = ["doctor", "exchange-2", "exchange-2-events", "nccl-2", "deaths", "memory-2", "usage", "exchange-4",
          "exchange-4-events", "nccl-4", "faces-2", "faces-4", "batches", "train", "exchange-1", "nccl-1", "faces-1"]
MPS = ["mps-start", "mps-exchange-2", "mps-server", "mps-bench-2", "mps-bench-2-events"]


class RunAll(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.home.name)
        for folder in ("bin", "packed/bin"):
            (self.root / folder).mkdir(parents=True)
        for tool in TOOLS:
            (self.root / "bin" / tool).symlink_to(shutil.which(tool))
        said = ('echo "${0##*/} $* gpus=${CUDA_VISIBLE_DEVICES:-} waits=${SLIPWAY_GPU_WAIT:-} '
                'mps=${CUDA_MPS_PIPE_DIRECTORY:+set}" >>"$LOG"\n')
        self.fake("bin/nvidia-smi", "echo H200")
        self.fake("bin/python3", said + 'echo "says $1"; [[ $* != *"${FAIL_IN:-nowhere}"* ]]')
        self.fake("packed/bin/mpiexec.hydra", said + 'echo "says $4"\n'
                  '[[ $* != *"${HANG_IN:-nowhere}"* ]] || sleep 600\n'
                  '[[ $* != *"${FAIL_IN:-nowhere}"* ]] || exit 3\n'
                  '[[ $* != *"${SKIP_IN:-nowhere}"* ]] || { echo "skipped: no peers"; exit 77; }')

    def tearDown(self):
        self.home.cleanup()

    def fake(self, name, script):
        path = self.root / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def fake_mps(self, ending=""):
        self.fake("bin/nvidia-cuda-mps-control", '[[ $* == -d ]] || read -r word\n'
                  'echo "mps-control ${word:-$*} $CUDA_MPS_PIPE_DIRECTORY" >>"$LOG"\n'
                  '[[ ${word:-} != get_server_list ]] || echo ${SERVER-17}\n' + ending)

    def run_all(self, *groups, **variables):
        """Exit status, and name -> result of the table."""
        log = self.root / "log"
        log.unlink(missing_ok=True)
        out = self.root / "out"
        (out / "summary").unlink(missing_ok=True)
        done = subprocess.run([ROOT / "tests/gpu/run_all", "run", self.root / "packed", *groups], capture_output=True,
                              text=True, timeout=240, cwd="/", check=False,
                              env={"PATH": f"{self.root}/bin", "TMPDIR": str(self.root), "LOG": str(log),
                                   "OUT": str(out), **variables})
        self.output = done.stdout + done.stderr
        self.log = log.read_text().splitlines() if log.exists() else []
        summary = (out / "summary").read_text() if (out / "summary").exists() else ""
        self.assertTrue(done.stdout.endswith(summary), self.output)
        rows = [line.split(" s  ") for line in summary.splitlines()]
        return done.returncode, {about.rsplit(None, 1)[0]: result for about, result in rows}

    def test_runs_all_steps(self):
        self.fake_mps()
        status, table = self.run_all()
        self.assertEqual(status, 0, self.output)
        self.assertEqual(set(table), {*CHECKS, *MPS, "ways-2", "ways-2-events", "bench-1", "bench-2", "bench-2-events",
                                      "bench-4", "bench-4-events", "in all"})
        self.assertEqual(set(table.values()), {"passed"})
        self.assertEqual(list(table)[:3], CHECKS[:3])
        self.assertEqual((self.root / "out/faces-4").read_text(), "says tests/gpu/faces_on_gpu.py\n")

    def test_runs_the_steps_of_chosen_groups(self):
        status, table = self.run_all("checks")
        self.assertEqual((status, list(table)), (0, [*CHECKS, "in all"]), self.output)
        _, table = self.run_all("ways", "bench")
        self.assertEqual(list(table)[:3], ["ways-2", "ways-2-events", "bench-2"])
        self.assertEqual([line.split()[-2] for line in self.log if " 2 " in line], 2 * ["waits=", "waits=events"])
        status, table = self.run_all("speed")
        self.assertEqual((status, table, self.log), (2, {}, []))
        self.assertIn("no group 'speed'", self.output)

    def test_a_failure_is_kept_and_the_next_steps_run(self):
        for broken, expected in (("exchange_on_gpu", "failed 3"), ("doctor_on_gpu", "failed 1")):
            with self.subTest(broken):
                status, table = self.run_all("checks", FAIL_IN=broken)
                name = {"exchange_on_gpu": "exchange-2", "doctor_on_gpu": "doctor"}[broken]
                self.assertEqual((status, table[name], table["in all"]), (1, expected, "failed"), self.output)
                self.assertEqual((table["faces-4"], table["train"]), ("passed", "passed"))
        _, table = self.run_all("checks", FAIL_IN="data_on_gpu.py train")
        self.assertEqual(table["train"], "failed 1", self.output)

    def test_without_the_names_of_the_gpus_all_steps_run(self):
        self.fake("bin/nvidia-smi", "exit 9")
        status, table = self.run_all("ways")
        self.assertEqual((status, table["ways-2"]), (0, "passed"), self.output)
        self.assertIn("nvidia-smi: failed 9", self.output)

    def test_a_step_that_is_skipped_is_not_passed(self):
        status, table = self.run_all("checks", SKIP_IN="exchange_on_gpu")
        self.assertEqual((status, table["exchange-2-events"], table["in all"]), (0, "skipped: no peers", "passed"),
                         self.output)
        status, table = self.run_all("ways", SKIP_IN="ways_on_gpu")
        self.assertEqual((status, table["ways-2"], table["in all"]), (1, "skipped: no peers", "failed"), self.output)

    def test_steps_without_time_are_not_run(self):
        status, table = self.run_all("checks", SECONDS_IN_ALL="0")
        self.assertEqual((status, self.log), (1, []))
        self.assertEqual({table[name] for name in CHECKS}, {"not run: no time left"})

    def test_a_step_that_hangs_is_ended_with_the_time_of_all(self):
        status, table = self.run_all("ways", SECONDS_IN_ALL="3", HANG_IN="ways_on_gpu")
        self.assertEqual(status, 1)
        self.assertEqual(table["ways-2-events"], "not run: no time left", self.output)
        self.assertIn(table["ways-2"], ("failed 124", "not run: no time left"))

    def test_mps_is_started_used_and_stopped(self):
        for broken in ("nowhere", "exchange_on_gpu"):
            with self.subTest(broken):
                self.fake_mps()
                status, table = self.run_all("mps", "checks", FAIL_IN=broken)
                self.assertEqual(status, 0 if broken == "nowhere" else 1, self.output)
                calls = [line.split() for line in self.log if line.startswith("mps-control")]
                self.assertEqual([words[1] for words in calls], ["-d", "get_server_list", "quit"])
                self.assertEqual(len({words[2] for words in calls}), 1)
                ranks = [line for line in self.log if line.startswith("mpiexec")]
                self.assertEqual(sum("mps=set" in line for line in ranks), 3, ranks)
                self.assertTrue(all(("gpus=0 " in line) == ("mps=set" in line) for line in ranks), ranks)
                self.assertEqual(table["mps-bench-2-events"], "passed")

    def test_nothing_is_measured_where_ranks_do_without_mps(self):
        self.fake_mps()
        status, table = self.run_all("mps", SERVER="")
        self.assertEqual((status, table["mps-exchange-2"], table["mps-server"]), (1, "passed", "failed 1"), self.output)
        self.assertEqual({table[name] for name in MPS[3:]}, {"not run: mps-server failed 1"})

    def test_without_the_program_of_mps_nothing_fails(self):
        status, table = self.run_all("mps")
        self.assertEqual((status, table["mps"]), (0, "not run: no nvidia-cuda-mps-control"), self.output)

    def test_nothing_runs_under_a_daemon_that_does_not_start_or_stop(self):
        self.fake_mps("[[ $* != -d ]] || exit 4")
        status, table = self.run_all("mps")
        self.assertEqual((status, table["mps-start"]), (1, "failed 4"))
        self.assertEqual({table[name] for name in MPS[1:]}, {"not run: mps-start failed 4"})
        self.assertNotIn("mps-stop", table)
        self.assertIn("mps-control quit", self.log[-1])
        self.fake_mps("[[ ${word:-} != quit ]] || exit 4")
        status, table = self.run_all("mps")
        self.assertEqual((status, table["mps-bench-2"], table["mps-stop"]), (1, "passed", "failed"))


if __name__ == "__main__":
    unittest.main()
