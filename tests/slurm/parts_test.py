#!/usr/bin/python3
"""The parts of the test bed that need no Slurm: its configuration, and the stand-in for dw_wlm_cli."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(FOLDER), str(FOLDER / "burst")]

from bed import config, plan  # noqa: E402: the line above says where they are
from directives import BB_LUA, DW, DirectiveError, Transfer, read  # noqa: E402

JOB = b"#DW jobdw capacity=1GiB access_mode=striped type=scratch\n"


class Directives(unittest.TestCase):
    def refusal(self, script, dialect=DW):
        with self.assertRaises(DirectiveError) as caught:
            read(script, dialect)
        return str(caught.exception)

    def test_a_whole_job_is_read(self):
        request = read(b"#!/bin/sh\n#SBATCH -N1\n" + JOB +
                       b"#DW persistentdw name=train\n"
                       b"#DW stage_in type=list source=/l destination=$DW_PERSISTENT_STRIPED_train\n"
                       b"#DW stage_out type=file source=${DW_JOB_STRIPED}/a/b destination='/out of/b'\n\0", DW)
        self.assertTrue(request.job_buffer)
        self.assertEqual(request.persistent, ["train"])
        self.assertEqual(request.stage_in, [Transfer("list", "/l", "DW_PERSISTENT_STRIPED_train", "")])
        self.assertEqual(request.stage_out, [Transfer("file", "/out of/b", "DW_JOB_STRIPED", "a/b")])

    def test_it_ends_at_the_first_command_and_not_at_blank_lines(self):
        request = read(JOB + b"\n\n#DW persistentdw name=a\necho\n#DW persistentdw name=b\n", DW)
        self.assertEqual(request.persistent, ["a"])

    def test_lines_are_continued(self):
        request = read(JOB + b"#DW stage_in type=file \\\n#DW source=/a \\\n#DW destination=$DW_JOB_STRIPED/a\n", DW)
        self.assertEqual(request.stage_in, [Transfer("file", "/a", "DW_JOB_STRIPED", "a")])

    def test_a_script_without_directives_asks_for_nothing(self):
        for script in (b"", b"\0", b"#!/bin/sh\ntrue\n", b"#DWARF\n", b"# DW jobdw\n"):
            self.assertFalse(read(script, DW).job_buffer)

    def test_the_words_of_lua_have_no_types(self):
        request = read(b"#BB_LUA pool=p capacity=4G\n"
                       b"#BB_LUA stage_in source=/a destination=$BB_JOB_STRIPED/a\n", BB_LUA)
        self.assertEqual(request.stage_in, [Transfer(None, "/a", "BB_JOB_STRIPED", "a")])

    def test_mistakes_are_quoted_with_the_reason(self):
        for line, reason in ((b"stage_in type=tape source=/a destination=$DW_JOB_STRIPED/a", "type=tape"),
                             (b"stage_in source=/a destination=$DW_JOB_STRIPED/a", "type= is missing"),
                             (b"stage_in type=file source=a destination=$DW_JOB_STRIPED/a", "absolute"),
                             (b"stage_in type=file source=/a destination=/b", "in no buffer"),
                             (b"stage_in type=file source=/a destination=$DW_JOB_STRIPED/a/../../b", "without .."),
                             (b"stage_in type=file source=/a destination=$HOME/b", "no buffer of this job"),
                             (b"stage_in type=file source=/a destination=$DW_PERSISTENT_STRIPED_x/b", "no buffer"),
                             (b"persistentdw", "name= is missing"), (b"swap 3GiB", "unknown command swap"),
                             (b"jobdw capacity=1GiB access_mode=private type=scratch", "striped"),
                             (b"jobdw capacity=1GiB colour=red", "knows no colour")):
            self.assertIn(reason, self.refusal(JOB + b"#DW " + line + b"\n"))


class Store(unittest.TestCase):
    """The program as Slurm calls it, without Slurm."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = pathlib.Path(folder.name)
        (self.store / "pool").write_text("pool 64\n")
        self.script = self.store / "script"
        self.script.write_bytes(JOB + b"\0")

    def call(self, function, *words, dialect="DW"):
        program = [sys.executable, "-IB", FOLDER / "burst" / "dw_wlm_cli.py"]
        return subprocess.run([*program, "--store", self.store, "--dialect", dialect, "--function", function, *words],
                              capture_output=True, text=True)

    def setup_job(self, token="7", size="20MiB"):
        return self.call("setup", "--token", token, "--caller", "SLURM", "--user", str(os.getuid()), "--groupid",
                         str(os.getgid()), "--capacity", f"pool:{size}", "--job", str(self.script))

    def test_a_buffer_is_made_shown_and_removed(self):
        self.assertEqual(self.setup_job().returncode, 0)
        self.assertEqual(self.call("real_size", "--token", "7").stdout, '{"units": "bytes", "capacity": 33554432}\n')
        self.assertIn('"free": 2', self.call("pools").stdout)
        for function in ("show_sessions", "show_instances", "show_configurations"):
            self.assertIn('"id": 1', self.call(function).stdout)
        self.assertEqual(self.call("paths", "--token", "7", "--job", self.script, "--pathfile",
                                   self.store / "path").returncode, 0)
        variable, _, data = (self.store / "path").read_text().strip().partition("=")
        self.assertEqual(variable, "DW_JOB_STRIPED")
        self.assertTrue(pathlib.Path(data).is_dir())
        self.assertEqual(self.call("teardown", "--token", "7", "--job", self.script, "--hurry").returncode, 0)
        self.assertFalse(pathlib.Path(data).exists())
        self.assertIn('"free": 4', self.call("pools").stdout)

    def test_what_is_gone_is_told_in_the_words_that_slurm_waits_for(self):
        gone = self.call("teardown", "--token", "7", "--job", self.script)
        self.assertEqual(gone.returncode, 1)
        self.assertIn("token not found", gone.stderr)

    def test_the_pool_is_not_overdrawn(self):
        self.assertEqual(self.setup_job("7", "40MiB").returncode, 0)
        refused = self.setup_job("8", "40MiB")
        self.assertEqual((refused.returncode, refused.stderr),
                         (1, "the pool pool has 16777216 bytes free, 50331648 are asked for\n"))
        self.assertEqual(self.setup_job("7", "64MiB").returncode, 0, "a job that starts over gives its old buffer up")

    def test_tokens_do_not_lead_out_of_the_store(self):
        for token in ("../7", "/tmp", ".", "..", ""):
            self.assertEqual(self.call("teardown", "--token", token).returncode, 1)


class Conf(unittest.TestCase):
    def text(self, **settings):
        return config.slurm_conf(plan.Plan(plan.Settings(state=pathlib.Path("/s"), **settings), 3, "host", None, "me"))

    def test_values_are_replaced_and_lines_added(self):
        text = self.text(conf=("KillWait=9", "Absent=1", "PartitionName=night Nodes=ALL"))
        self.assertEqual([line for line in text.splitlines() if line.startswith(("KillWait", "Absent"))],
                         ["KillWait=9", "Absent=1"])
        self.assertTrue(text.endswith("PartitionName=night Nodes=ALL\n"))

    def test_beds_differ_in_address_or_port(self):
        self.assertIn("NodeName=n2 NodeAddr=10.77.3.2 Port=17301 ", self.text(mode=plan.NAMESPACES))
        self.assertIn("NodeName=n2 NodeHostname=host NodeAddr=127.0.0.1 Port=17302 ", self.text())

    def test_no_line_is_without_a_value(self):
        for burst_buffer in (plan.NO_BUFFER, plan.DATAWARP, plan.LUA):
            self.assertNotRegex(self.text(burst_buffer=burst_buffer), "(?m)=$")


if __name__ == "__main__":
    unittest.main()
