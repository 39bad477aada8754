#!/usr/bin/python3
"""What keeps a job from beginning is told to the user, and what a running one says is seen at once."""

import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import threading
import unittest

import engine_test
import support

# An exported function, as sites with Lmod or Environment Modules have it; the job inherits it.
MODULE = {"BASH_FUNC_module%%": "() { [ \"$2\" = good/1 ] || { echo \"ERROR: Unable to locate a modulefile for '$2'\" "
                                ">&2; return 1; }; }"}


class NeverBegun(engine_test.Engine):
    OPTIONS = ("--nodes", "2", "--mode", "namespaces")

    def explained(self, *more):
        return self.slipway(*more, "explain", status=None).stdout

    def test_a_module_that_is_not_there_is_named_at_submission_and_afterwards(self):
        self.write("true", modules=["good/1", "opnmpi/4.1"])
        submitted = self.slipway("submit", "exp.yaml", **MODULE)
        self.assertIn("launch.modules (good/1, opnmpi/4.1) cannot all be loaded on this host", submitted.stderr)
        self.assertIn("Unable to locate a modulefile for 'opnmpi/4.1'", submitted.stderr)
        followed = self.slipway("logs", "-f", status=None)
        self.assertIn("Unable to locate a modulefile for 'opnmpi/4.1'", followed.stdout)
        ended = self.slipway("wait", "--timeout", "200s", status=1)
        self.assertIn("Unable to locate a modulefile for 'opnmpi/4.1'", ended.stdout)
        self.assertIn("Unable to locate a modulefile for 'opnmpi/4.1'", self.explained())
        self.assertIn("Unable to locate a modulefile for 'opnmpi/4.1'", self.slipway("logs").stdout)

    def test_modules_that_are_there_are_not_mentioned(self):
        self.write("echo FoM: 1", modules=["good/1"])
        self.assertNotIn("modules", self.slipway("submit", "exp.yaml", **MODULE).stderr)
        self.slipway("wait", "--timeout", "200s")

    def hidden_folder(self, parent):
        """A folder of the login node that no node sees."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="slurm-test-runs-", dir=parent))
        self.addCleanup(shutil.rmtree, folder)
        folder.chmod(0o777)
        return folder

    def test_a_run_folder_that_the_nodes_do_not_see_is_named(self):
        folder = self.hidden_folder("/tmp")
        self.write("true")
        self.slipway("--runs-dir", folder, "submit", "exp.yaml")
        ended = self.slipway("--runs-dir", folder, "wait", "--timeout", "200s", status=1).stdout
        self.assertRegex(ended, f"node n[12] cannot open '{folder}/small-.*/manager.log'")
        self.assertIn("--runs-dir", ended)
        self.assertIn("cannot open", self.explained("--runs-dir", folder))

    def test_nodes_that_do_not_see_slipway_are_named(self):
        self.program = engine_test.install(self.hidden_folder("/tmp"))
        self.write("true")
        self.submit()
        self.slipway("wait", "--timeout", "200s", status=1)
        wanted = f"the nodes do not see slipway at {self.program}: install it on a shared file system"
        self.assertIn(wanted, self.explained())

    def test_a_constraint_that_no_node_has_is_named(self):
        self.write("true", slurm={"constraint": "moon"})
        refused = self.slipway("submit", "exp.yaml", status=2)
        self.assertIn("the job asks for launch.slurm.constraint 'moon'", refused.stderr)

    def test_a_run_folder_in_the_memory_of_this_host_is_warned_of(self):
        folder = self.hidden_folder("/dev/shm")
        self.write("true")
        submitted = self.slipway("--runs-dir", folder, "submit", "exp.yaml")
        self.assertIn(f"other nodes do not see '{folder}'", submitted.stderr)
        self.slipway("--runs-dir", folder, "wait", "--timeout", "200s", status=1)


class Seen(engine_test.Engine):
    def test_run_prints_what_the_ranks_write_while_they_write_it(self):
        self.write("echo begun by $RANK; while ! [ -e go ]; do sleep 0.1; done; echo FoM: 1", ranks_per_node=2)
        run = subprocess.Popen([self.program, "run", "exp.yaml"], env=self.bed.environment, cwd=self.place,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               **support.ordinary_user())
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.kill)
        watchdog = threading.Timer(120, run.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        self.assertEqual({run.stdout.readline(), run.stdout.readline()}, {"[0] begun by 0\n", "[1] begun by 1\n"})
        self.assertEqual(self.status()["phase"], "running")
        (self.place / "go").touch()
        rest = run.stdout.read()
        self.assertEqual(run.wait(60), 0)
        self.assertIn("[0] FoM: 1", rest)
        self.assertEqual(rest.count("begun"), 0)

    def test_what_may_hold_keys_is_for_nobody_else(self):
        self.write("echo FoM: 1", env={"API_KEY": "${KEY_OF_TEST}"})
        self.slipway("submit", "exp.yaml", KEY_OF_TEST="top secret")
        self.slipway("wait", "--timeout", "200s")
        (folder,) = (self.place / "runs").iterdir()
        folder.chmod(0o755)
        holds = [path for path in folder.rglob("*") if path.is_file() and b"top secret" in path.read_bytes()]
        self.assertEqual({path.name for path in holds}, {"plan.json", "job.sh"})
        for path in holds:
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)

    @unittest.skipIf(os.geteuid() != 0, "needs two users")
    def test_others_who_may_look_at_a_run_see_its_status(self):
        self.write("echo FoM: 1")
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "200s")
        for path in (self.place / "runs", self.place / "runs" / run):
            path.chmod(0o755)
        (self.place / "runs" / run / "state.json").chmod(0o644)
        other = {"user": 12345, "group": 12345, "extra_groups": []}
        done = subprocess.run([self.program, "status", run], env=self.bed.environment, cwd=self.place,
                              capture_output=True, text=True, timeout=60, **other)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("succeeded", done.stdout)

    def test_doctor_names_the_controller_that_is_down_and_not_munge(self):
        self.bed.order("end", "slurmctld")
        self.addCleanup(self.bed.order, "start", "slurmctld")
        done = self.slipway("doctor", "--json", status=None)
        found = engine_test.Doctor.findings(self, done)
        self.assertEqual(found["slurm"]["grade"], "fail")
        self.assertIn("controller does not answer", found["slurm"]["text"])
        self.assertEqual(found["munge"]["grade"], "ok", found["munge"])


class Uneven(engine_test.Engine):
    """An allocation whose tasks Slurm has laid out otherwise than the run."""
    OPTIONS = ("--nodes", "2", "--mode", "namespaces", "--cpus", "3")

    def test_ranks_are_where_the_spec_puts_them(self):
        for start in ("mpirun", "pmix"):
            with self.subTest(start):
                self.ranks_are_where_the_spec_puts_them(start)

    def ranks_are_where_the_spec_puts_them(self, start):
        self.write("hostname > host.$RANK", {"start": start}, nodes=2, ranks_per_node=2)
        job = self.bed.submit(f"#!/bin/sh\necho $SLURM_TASKS_PER_NODE > layout\ncd {self.place} && "
                              f"{self.program} run exp.yaml\n", "--nodes=2", "--ntasks=4")
        state = self.bed.wait_for_end(job, 90)
        self.assertEqual((self.bed.shared / "layout").read_text(), "3,1\n")
        self.assertEqual(state, "COMPLETED", self.bed.output_of(job))
        hosts = [(self.place / f"host.{rank}").read_text().strip() for rank in range(4)]
        for rank in range(4):
            (self.place / f"host.{rank}").unlink()
        self.assertEqual(hosts, ["n1", "n1", "n2", "n2"])


if __name__ == "__main__":
    support.main()
