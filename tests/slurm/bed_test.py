#!/usr/bin/python3
"""The bed itself: what its nodes have of their own, MPI over them, what slurmctld refuses, and that nothing is left."""

import collections
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import support

WORLD = os.environ.get("SLIPWAY_TEST_WORLD")  # a program that prints rank, size and host of each MPI rank
EIGHT_RANKS = "#!/bin/bash\n#SBATCH --nodes=4 --ntasks-per-node=2\nmpirun ./world\n"


def lines(done):
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


class EightRanks:
    """Open MPI in an allocation of four nodes; for beds of either mode."""

    def test_mpirun_starts_eight_ranks_over_four_nodes(self):
        if WORLD is None:
            self.skipTest("SLIPWAY_TEST_WORLD names no MPI program")
        shutil.copy(WORLD, self.bed.shared / "world")
        job = self.bed.submit(EIGHT_RANKS)
        self.assertEqual(self.bed.wait_for_end(job), "COMPLETED", self.bed.output_of(job))
        ranks = [line.split() for line in self.bed.output_of(job).splitlines()]
        self.assertEqual([rank[:2] for rank in ranks], [[str(i), "8"] for i in range(8)])
        self.check_hosts(collections.Counter(host for _, _, host in ranks))


class NodesInNamespaces(EightRanks, support.TestWithBed):
    OPTIONS = ("--mode", "namespaces", "--gpus", "2", "--conf", "Licenses=software:3")

    def test_all_nodes_are_idle(self):
        self.assertEqual(self.bed.node_states(), {f"n{i}": "idle" for i in range(1, 5)})

    def test_each_node_has_its_own_name(self):
        self.assertEqual(lines(self.bed.client("srun", "-N4", "hostname")), ["n1", "n2", "n3", "n4"])

    def test_each_node_has_its_own_address(self):
        shown = lines(self.bed.client("srun", "-N4", "ip", "-4", "-o", "address", "show", "dev", "eth0"))
        self.assertEqual(len({line.split()[3] for line in shown}), 4)

    def test_the_nodes_reach_each_other_by_name(self):
        known = lines(self.bed.client("srun", "-N1", "getent", "hosts", "n1", "n2", "n3", "n4"))
        self.assertEqual(len({line.split()[0] for line in known}), 4)

    def test_tmp_and_shared_memory_are_private(self):
        for folder in ("/tmp", "/dev/shm"):
            write = f'echo "$SLURMD_NODENAME" >{folder}/slurm-bed-whose'
            lines(self.bed.client("srun", "-N4", "sh", "-c", write))
            read = f'echo "$SLURMD_NODENAME $(cat {folder}/slurm-bed-whose)"'
            found = lines(self.bed.client("srun", "-N4", "sh", "-c", read))
            self.assertEqual(found, [f"n{i} n{i}" for i in range(1, 5)])
            self.assertFalse(pathlib.Path(folder, "slurm-bed-whose").exists())

    def test_all_nodes_see_the_shared_folder(self):
        lines(self.bed.client("srun", "-N4", "sh", "-c", 'echo "$SLURMD_NODENAME" >"from-$SLURMD_NODENAME"'))
        read = ("srun", "-N1", "-w", "n4", "cat", "from-n1", "from-n2", "from-n3")
        self.assertEqual(lines(self.bed.client(*read)), ["n1", "n2", "n3"])

    def test_lines_of_slurm_conf_can_be_replaced(self):
        self.assertIn("Total=3", self.bed.client("scontrol", "show", "license").stdout)

    def test_each_task_is_told_its_gpus(self):
        told = self.bed.client("srun", "-n2", "-N1", "--gpus-per-task=1", "--gpu-bind=single:1", "printenv",
                               "CUDA_VISIBLE_DEVICES")
        self.assertEqual(lines(told), ["0", "1"])

    def check_hosts(self, hosts):
        self.assertEqual(hosts, {"n1": 2, "n2": 2, "n3": 2, "n4": 2})


class Refusals(support.TestWithBed):
    """What can never be is said at once, by slurmctld and by the bed."""
    OPTIONS = ("--nodes", "2", "--banner", "welcome to the bed")

    def refused(self, *options):
        done = self.bed.client("sbatch", *options, stdin="#!/bin/sh\n")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def test_an_unknown_partition(self):
        self.assertIn("invalid partition", self.refused("--partition=absent"))

    def test_an_account_that_the_partition_does_not_take(self):
        self.assertIn("Invalid account", self.refused("--partition=small", "--account=history"))
        self.bed.submit("#!/bin/sh\n", "--partition=small", "--account=physics")

    def test_an_unknown_account(self):
        self.assertIn("Invalid account", self.refused("--account=absent"))

    def test_the_banner_is_shown_to_those_who_submit(self):
        self.assertIn("welcome to the bed", self.refused("--account=absent"))

    def test_more_time_than_the_partition_has(self):
        self.assertIn("time limit", self.refused("--partition=short", "--time=2"))

    def test_more_nodes_than_there_are(self):
        self.assertIn("Node count specification invalid", self.refused("--nodes=5"))

    def test_orders_that_make_no_sense_are_refused(self):
        for words, reason in ((("kill", "node:n9"), "no node n9"), (("kill", "printer"), "unknown target"),
                              (("cut", "slurmctld"), "is for nodes"), (("freeze", "node:n1"), "slurmd:n1")):
            done = self.bed.order(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(reason, done.stderr)


class PlainNodes(EightRanks, support.TestWithBed):
    """Without root: as an ordinary user, also when the tests run as root."""
    @classmethod
    def setUpClass(cls):
        cls.bed = support.Bed("--mode", "plain", **support.ordinary_user())
        cls.addClassCleanup(cls.bed.down)

    def test_each_task_knows_its_node(self):
        self.assertEqual(lines(self.bed.client("srun", "-N4", "printenv", "SLURMD_NODENAME")), ["n1", "n2", "n3", "n4"])

    def check_hosts(self, hosts):
        self.assertEqual(hosts, {os.uname().nodename: 8})


class NothingIsLeft(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.skip_unless_possible()

    def setUp(self):
        self.folder = support.Folder(self).path

    def left(self):
        """What is there of the beds of this test: their interfaces, mounts and processes, by their folders."""
        mark = str(self.folder.parent)
        aliases = pathlib.Path("/sys/class/net").glob("*/ifalias")
        interfaces = {path.parent.name for path in aliases if mark in self.alias(path)}
        mounts = {line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if mark in line}
        return interfaces | mounts | self.processes(os.fsencode(mark))

    @staticmethod
    def alias(path):
        """Empty for the interface of another bed that just went."""
        try:
            return path.read_text()
        except OSError:
            return ""

    def processes(self, mark):
        """Programs that know of a bed, by their environment or arguments."""
        found = set()
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                text = b"".join(pathlib.Path("/proc", entry, name).read_bytes() for name in ("cmdline", "environ"))
            except OSError:
                continue
            if mark in text:
                found.add(text.split(b"\0")[0])
        return found

    def assert_nothing_is_left(self):
        self.assertEqual(self.left(), set())

    def start(self, *words):
        """`run` in the background, once its command runs."""
        command = [support.PROGRAM, "run", "--state", self.folder, "--nodes", "2", "--", *words]
        run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(run.stderr.close)
        support.wait_for((self.folder / "shared" / "started").exists, 60, "the start of the command")
        return run

    # The command and its job outlive the signal, unless they are ended.
    JOB = 'srun -N2 sh -c \'touch "$SLIPWAY_TESTBED_SHARED/started"; exec sleep 300\''
    COMMAND = ("sh", "-c", f"{JOB} & wait")

    def test_run_returns_the_status_of_its_command(self):
        for command, status in (("exit 5", 5), ("kill -9 $$", 137), ("sinfo >/dev/null", 0)):
            done = support.testbed("run", "--state", self.folder, "--nodes", "1", "--", "sh", "-c", command)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertFalse(self.folder.exists())
            self.assert_nothing_is_left()

    def test_after_control_c(self):
        run = self.start(*self.COMMAND)
        os.killpg(run.pid, signal.SIGINT)
        self.assertEqual(run.wait(60), 130)
        self.assertFalse(self.folder.exists())
        self.assert_nothing_is_left()

    def test_after_a_request_to_terminate(self):
        run = self.start(*self.COMMAND)
        run.terminate()
        self.assertEqual(run.wait(60), 143)
        self.assertFalse(self.folder.exists())
        self.assert_nothing_is_left()

    def test_after_the_supervisor_was_killed_only_the_folder(self):
        bed = support.Bed("--state", self.folder, "--nodes", "2")
        self.assertGreaterEqual(len(self.left()), 4, "slurmctld, munged and two slurmd, else the test is blind")
        supervisor, = {*support.processes_with(f"\0{self.folder}\0")} & {*support.processes_with("\0up\0")}
        os.kill(supervisor, signal.SIGKILL)
        support.wait_for(lambda: not self.left(), 60, "the end of all that the supervisor started")
        bed.down()
        self.assertFalse(self.folder.exists())

    def test_after_a_start_that_failed(self):
        for command in ("up", "run"):
            failed = support.testbed(command, "--state", self.folder, "--conf", "SelectType=select/absent",
                                     *(["--", "true"] if command == "run" else []))
            self.assertEqual(failed.returncode, 3, failed.stderr)
            self.assertIn("select/absent", failed.stderr)
            self.assertFalse(self.folder.exists())
            self.assert_nothing_is_left()

    def test_when_the_process_that_the_bed_follows_ends(self):
        followed = subprocess.Popen(["sleep", "600"])
        up = support.testbed("up", "--state", self.folder, "--nodes", "1", "--follow", followed.pid)
        self.assertEqual(up.returncode, 0, up.stderr)
        followed.kill()
        followed.wait()
        support.wait_for(lambda: not self.folder.exists(), 60, "the end of the bed")
        support.wait_for(lambda: not self.left(), 60, "nothing left")

    def test_a_folder_with_files_in_it_is_not_touched(self):
        self.folder.mkdir()
        (self.folder / "mine").write_text("mine")
        refused = support.testbed("up", "--state", self.folder)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertEqual((self.folder / "mine").read_text(), "mine")
        self.assertEqual(support.testbed("down", "--state", self.folder).returncode, 3)
        self.assertEqual((self.folder / "mine").read_text(), "mine")

    def test_beds_side_by_side_do_not_meet(self):
        beds = [support.Bed("--nodes", count, "--state", self.folder.parent / str(count)) for count in (1, 2, 3)]
        try:
            self.assertEqual([len(bed.node_states()) for bed in beds], [1, 2, 3])
            beds[1].down()
            for bed, count in ((beds[0], 1), (beds[2], 3)):
                self.assertEqual(len(lines(bed.client("srun", f"-N{count}", "hostname"))), count)
        finally:
            beds[0].down()
            beds[2].down()
        self.assert_nothing_is_left()

    def test_a_bed_needs_no_folder_of_the_user(self):
        script = 'test -d "$SLIPWAY_TESTBED" && echo "$SLIPWAY_TESTBED"'
        done = support.testbed("run", "--nodes", "4", "--", "sh", "-c", script, timeout=60)  # a quiet machine needs seconds
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(pathlib.Path(done.stdout.strip()).exists())


if __name__ == "__main__":
    support.main()
