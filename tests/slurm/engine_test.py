#!/usr/bin/python3
"""The Slurm engine: `slipway submit` and its relatives on a real Slurm, with runs that fit one node."""

import collections
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import unittest

import support

BUILT = pathlib.Path(os.environ["SLIPWAY_TEST_PROGRAM"]).parent.parent
PARTS = ("bin/slipway", "libexec/slipway/slipway-agent", "libexec/slipway/slipway-gpus",
         "libexec/slipway/slipway-rank", "libexec/slipway/slipway-slurm", "libexec/slipway/slipway-supervisor",
         "lib/slipway/slurm")
HELPERS = ("libexec/slipway/bench-workflow", "libexec/slipway/slipway-hdf5", "libexec/slipway/slipway-notify",
           "lib/slipway/libslipway_mpi_check.so")


DOCTOR = ("libexec/slipway/doctor-ranks", "lib/slipway/openmpi", "lib/slipway/mpich")


def install(prefix):
    """What jobs need, where every node and user sees it: each node has a /tmp of its own, where the tree may lie."""
    for part in PARTS + tuple(part for part in HELPERS + DOCTOR if (BUILT / part).exists()):
        (prefix / part).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (BUILT / part).is_dir() else shutil.copy
        copy(BUILT / part, prefix / part)
    return prefix / PARTS[0]


class Engine(support.TestWithBed):
    OPTIONS = ("--nodes", "2")
    # The first trial ends at once. The others wait to be ended, and end at once in the next job.
    FIRST_OF_TRIALS = '[ "$1" = 1 ] || [ -e next ] || { touch up."$1"; exec sleep 300; }; echo FoM: "$1"'

    @classmethod
    def setUpClass(cls):
        if not (BUILT / PARTS[-1]).exists():
            raise unittest.SkipTest("this build has no module for libslurm")
        super().setUpClass()
        cls.program = install(cls.bed.shared / "prefix")

    def setUp(self):
        self.place = self.bed.shared / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        support.give_to_ordinary_user(self.place)

    def slipway(self, *words, status=0, **variables):
        environment = {**self.bed.environment, **variables}
        done = subprocess.run([self.program, *map(str, words)], env=environment, cwd=self.place, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=240, **support.ordinary_user())
        if status not in (None, done.returncode):
            self.fail(f"{words}: {done.returncode} != {status}\n{done.stdout}\n{done.stderr}\n{self.bed.situation()}")
        return done

    def write(self, command, slurm=None, ensemble=None, **launch):
        spec = {"name": "small", "launch": {"engine": "slurm", "slurm": slurm or {}, "workdir": "spec", **launch},
                "train": {"command": ["sh", "-c", command],
                          "metrics": {"from": "stdout", "pattern": r"FoM: (?<objective>\S+)"}}}
        if ensemble:
            spec["checkpoint"] = {"on_time_limit": "requeue"}
            spec["train"]["command"] += ["sh", "{x}"]
            spec["ensemble"] = ensemble
        (self.place / "exp.yaml").write_text(json.dumps(spec))

    def submit(self):
        return json.loads(self.slipway("submit", "exp.yaml", "--json").stdout)

    def status(self):
        return json.loads(self.slipway("status", "--json", status=None).stdout)

    def states_of_trials(self):
        trials = json.loads(self.slipway("trials", "ls", "--json").stdout)["trials"]
        return collections.Counter(trial["state"] for trial in trials)

    def first_trial_is_complete(self, *others):
        """And these are at work in its place."""
        ups = [self.place / f"up.{other}" for other in others]
        support.wait_for(lambda: all(up.exists() for up in ups), 60, "the trials that wait")
        support.wait_for(lambda: self.states_of_trials()["complete"] == 1, 60, "the first trial")
        (self.place / "next").touch()

    def until(self, phase):
        support.wait_for(lambda: self.status()["phase"] == phase, what=lambda: f"{phase} of {self.status()}")

    def in_the_queue(self):
        return self.bed.ask("squeue", "-h", "-o", "%i %T").splitlines()

    def on_node(self, *words):
        self.bed.administrate(*map(str, words))

    def give_up(self, node):
        """What Slurm does by itself when a dead node has been silent for SlurmdTimeout. With a short one a busy machine
        would lose nodes that are alive."""
        self.on_node("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    def drained(self):
        return [node for node, state in self.bed.node_states().items() if state.startswith("dr")]

    def undrain(self):
        """Lets jobs begin. A node that is not drained refuses, and one that registers again may cease to be."""
        for node in self.drained():
            try:
                self.on_node("scontrol", "update", f"nodename={node}", "state=resume")
            except AssertionError:
                if node in self.drained():
                    raise

    def read_on(self, stream, words):
        """Returns what comes from the descriptor `stream`, up to these words or a little further."""
        said = b""
        while words.encode() not in said:
            ready, _, _ = select.select([stream], [], [], support.PATIENCE_S)
            more = os.read(stream, 4096) if ready else b""
            self.assertTrue(more, f"not '{words}' but {said.decode(errors='replace')}")
            said += more
        return said.decode(errors="replace")

    def open_partition(self, name):
        self.on_node("scontrol", "update", f"partitionname={name}", "state=up")

    def close_partition(self, name, state):
        """Until the test opens it, or ends."""
        self.on_node("scontrol", "update", f"partitionname={name}", f"state={state}")
        self.addCleanup(self.open_partition, name)


class Submitted(Engine):
    def test_run_has_the_node_and_says_how_it_ended(self):
        self.write("echo $SLURMD_NODENAME > where; echo FoM: 7", ranks_per_node=1)
        submitted = self.submit()
        done = self.slipway("wait", "--timeout", "200s")
        self.assertIn("succeeded", done.stdout)
        self.assertIn((self.place / "where").read_text().strip(), ("n1", "n2"))
        self.assertEqual(self.status()["batch_job"], submitted["batch_job"])
        self.assertIn("exec ", (self.place / "runs" / submitted["run"] / "job.sh").read_text())
        self.assertIn("7", self.slipway("logs").stdout)

    def test_several_ranks_of_a_node_start(self):
        self.write("echo $RANK of $WORLD_SIZE > rank.$RANK", ranks_per_node=2)
        self.submit()
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual([(self.place / f"rank.{rank}").read_text() for rank in (0, 1)], ["0 of 2\n", "1 of 2\n"])

    def test_failure_is_told_on_the_login_node(self):
        self.write("echo out of luck; exit 3")
        self.submit()
        done = self.slipway("wait", "--timeout", "200s", status=1)
        self.assertIn("exit status 3", done.stdout)
        self.assertIn("out of luck", done.stdout)
        explained = json.loads(self.slipway("explain", "--json").stdout)
        self.assertEqual(explained["ranks"], [{"rank": 0, "exit_code": 3, "signal": 0}])
        self.assertEqual(explained["log"]["lines"], "out of luck")

    def test_suspended_run_says_so_and_can_be_cancelled(self):
        self.write("touch up; sleep 300", ranks_per_node=1)
        job = self.submit()["batch_job"]
        support.wait_for((self.place / "up").exists, 60, "its program")
        self.until("running")
        self.on_node("scontrol", "suspend", job)
        says = f"job {job} is suspended by Slurm: it keeps its nodes"
        self.assertEqual((self.status()["phase"], self.status()["reason"]), ("running", says))
        self.assertIn(says, self.slipway("explain").stdout)
        self.slipway("cancel")
        self.until("cancelled")
        self.assertEqual(self.bed.wait_for_end(job), "CANCELLED")
        self.assertEqual(self.status()["phase"], "cancelled")

    def test_held_run_says_how_to_release_it(self):
        self.write("true")
        for node in ("n1", "n2"):
            self.on_node("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
        self.addCleanup(self.undrain)
        job = self.submit()["batch_job"]
        self.bed.client("scontrol", "hold", str(job))
        support.wait_for(lambda: "is held by its owner" in self.status()["reason"], 60, "the reason")
        self.assertIn(f"scontrol release {job} lets it go", self.status()["reason"])
        self.slipway("cancel")

    def test_run_in_the_foreground_waits_for_its_job(self):
        self.write("echo FoM: 1")
        self.assertIn("succeeded", self.slipway("run", "exp.yaml").stdout)

    def test_what_no_partition_takes_is_refused_before_it_is_submitted(self):
        for slurm, launch, words in (({"partition": "debgu"}, {}, "debug"),
                                     ({"partition": "short"}, {"time_limit": "10d"}, "time_limit")):
            self.write("true", slurm, **launch)
            refused = self.slipway("submit", "exp.yaml", status=2)
            self.assertIn(words, refused.stderr)
            self.assertEqual(list((self.place / "runs").iterdir()), [])

    def test_auto_is_slurm_where_there_is_one_and_an_error_where_it_does_not_answer(self):
        self.write("echo FoM: 1", engine="auto")
        shown = json.loads(self.slipway("plan", "exp.yaml", "--json", SLIPWAY_ENGINE="").stdout)
        self.assertEqual((shown["engine"], shown["engine_reason"]),
                         ("slurm", f"there is a {self.bed.environment['SLURM_CONF']}"))
        self.assertIn("succeeded", self.slipway("run", "exp.yaml", SLIPWAY_ENGINE="").stdout)
        self.assertGreater(self.status()["batch_job"], 0)
        conf = self.place / "other.conf"
        conf.write_text("ClusterName=none\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=9\nAuthType=auth/none\n")
        conf.chmod(0o644)
        self.slipway("run", "exp.yaml", status=3, SLIPWAY_ENGINE="", SLURM_CONF=str(conf))

    def test_run_in_an_allocation_uses_it(self):
        self.write("echo $SLURMD_NODENAME > where; echo FoM: 1", engine="auto")
        job = self.bed.submit(f"#!/bin/sh\ncd {self.place} && SLIPWAY_ENGINE= {self.program} run exp.yaml\n",
                              "--ntasks=1")
        self.assertEqual(self.bed.wait_for_end(job), "COMPLETED")
        self.assertIn((self.place / "where").read_text().strip(), ("n1", "n2"))
        self.assertEqual(self.status()["batch_job"], 0)


class Waiting(Engine):
    def setUp(self):
        super().setUp()
        for node in ("n1", "n2"):
            self.on_node("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
        self.addCleanup(self.undrain)

    def count_questions(self):
        """Puts a program before the helper that asks Slurm; returns the file that gets a line for each question."""
        helper = self.program.parent.parent / "libexec/slipway/slipway-slurm"
        kept = helper.rename(helper.with_name("slipway-slurm-kept"))
        self.addCleanup(kept.rename, helper)
        asked = self.place / "asked"
        helper.write_text(f"#!/bin/sh\necho asked >> {asked}\nexec {kept}\n")
        helper.chmod(0o755)
        return asked

    def test_run_says_why_it_waits_and_can_be_cancelled(self):
        self.write("touch ran")
        job = self.submit()["batch_job"]
        support.wait_for(lambda: f"job {job} waits" in self.status()["reason"], 60, "the reason")
        self.assertEqual(self.status()["phase"], "queued")
        self.assertIn("\n  submitted ", self.slipway("status").stdout)
        self.slipway("cancel")
        self.assertEqual(self.status()["phase"], "cancelled")
        self.assertEqual(self.bed.wait_for_end(job), "CANCELLED")
        self.assertFalse((self.place / "ran").exists())

    def test_what_holds_it_up_is_explained(self):
        self.write("touch ran")
        job = self.submit()["batch_job"]
        support.wait_for(lambda: f"job {job} waits" in self.status()["reason"], 60, "the reason")
        explained = json.loads(self.slipway("explain", "--json").stdout)
        self.assertEqual(explained["phase"], "queued")
        self.assertEqual(explained["job"]["id"], job)
        self.assertIn(f"as job {job}", explained["headline"])
        self.assertIn(f"({explained['job']['reason']})", explained["because"][0])
        self.assertIn("slipway cancel", explained["next"][-1])
        self.on_node("scontrol", "hold", job)
        support.wait_for(lambda: "it is held: its priority is 0" in self.slipway("explain").stdout, 60, "the hold")
        self.slipway("cancel")

    def test_list_asks_about_all_runs_at_once(self):
        self.write("touch ran")
        jobs = [self.submit()["batch_job"] for _ in range(3)]
        questions = self.count_questions()
        runs = json.loads(self.slipway("ls", "--json").stdout)["runs"]
        self.assertEqual(questions.read_text(), "asked\n")
        self.assertEqual(sorted(run["batch_job"] for run in runs), sorted(jobs))
        self.assertEqual({run["phase"] for run in runs}, {"queued"})
        for run in runs:
            self.slipway("cancel", run["run"])

    def test_job_that_another_removes_is_cancelled_and_the_run_can_be_resumed(self):
        self.write("touch ran")
        run = self.submit()
        self.on_node("scancel", run["batch_job"])
        self.until("cancelled")
        self.undrain()
        self.assertIn(f"slipway status {run['folder']}\n", self.slipway("resume", run["folder"]).stdout)
        self.slipway("wait", "--timeout", "200s")
        self.assertTrue((self.place / "ran").exists())


class Running(Engine):
    ENSEMBLE = {"objective": {"metric": "objective", "goal": "maximize"}, "trials": 12, "parallel": 2,
                "sampler": "grid", "space": {"x": {"int": [1, 12]}}}

    def test_cancel_ends_it_in_order(self):
        self.write("touch up; sleep 300")
        job = self.submit()["batch_job"]
        support.wait_for((self.place / "up").exists, 60, "the program")
        self.until("running")
        self.assertIn("has not ended", self.slipway("resume", status=4).stderr)
        self.slipway("cancel")
        self.assertEqual(self.status()["phase"], "cancelled")
        self.bed.wait_for_end(job)

    def test_warning_of_the_time_limit_without_progress_ends_it(self):
        self.write("touch up; sleep 300")
        job = self.submit()["batch_job"]
        support.wait_for((self.place / "up").exists, 60, "the program")
        self.on_node("scancel", "--batch", f"--signal={signal.SIGUSR1.name[3:]}", job)
        self.slipway("wait", "--timeout", "200s", status=1)
        self.assertIn("time limit", self.status()["reason"])

    def test_ensemble_without_progress_is_not_queued_again_for_ever(self):
        self.write("touch up; sleep 300", ensemble=dict(self.ENSEMBLE, trials=2))
        job = self.submit()["batch_job"]
        support.wait_for((self.place / "up").exists, 60, "the first trial")
        self.on_node("scancel", "--batch", f"--signal={signal.SIGUSR1.name[3:]}", job)
        self.slipway("wait", "--timeout", "200s", status=1)
        self.assertIn("before it had written a checkpoint", self.status()["reason"])

    def test_ensemble_goes_on_in_the_next_job_after_the_warning(self):
        self.write(self.FIRST_OF_TRIALS, ensemble=self.ENSEMBLE)
        job = self.submit()["batch_job"]
        self.first_trial_is_complete(2, 3)
        self.on_node("scancel", "--batch", f"--signal={signal.SIGUSR1.name[3:]}", job)
        self.slipway("wait", "--timeout", "80s")
        self.assertEqual(self.bed.job(job)["Restarts"], "1")
        self.assertEqual(self.states_of_trials(), {"complete": 12})


class Resumed(Engine):
    """With other values than the run began with."""

    def test_run_goes_on_with_them_in_its_next_job(self):
        self.write("[ {ok} = 1 ] || exit 3; echo $OK_TOO > seen; echo FoM: 1", time_limit="9m")
        spec = json.loads((self.place / "exp.yaml").read_text())
        spec["train"]["args"] = {"ok": 0}
        (self.place / "exp.yaml").write_text(json.dumps(spec))
        first = self.submit()["batch_job"]
        self.slipway("wait", "--timeout", "200s", status=1)
        self.slipway("resume", "--set", "train.args.ok=1", "--set", "launch.time_limit=7m", "--set",
                     "launch.slurm.partition=urgent", "--set", "launch.env={OK_TOO: yes}")
        self.slipway("wait", "--timeout", "200s")
        status = self.status()
        self.assertNotEqual(status["batch_job"], first)
        job = self.bed.job(status["batch_job"])
        self.assertEqual((job["TimeLimit"], job["Partition"]), ("00:07:00", "urgent"))
        self.assertEqual((self.place / "seen").read_text(), "yes\n")
        self.assertEqual({change["key"] for change in status["changes"]},
                         {"train.args.ok", "launch.time_limit", "launch.slurm.partition", "launch.env.OK_TOO"})

    def test_ensemble_has_more_trials_in_its_next_job(self):
        self.write('echo "$1" >> ran; echo FoM: "$1"', ensemble=dict(Running.ENSEMBLE, sampler="random", trials=3))
        self.submit()
        self.slipway("wait", "--timeout", "200s")
        self.slipway("resume", "--set", "ensemble.trials=5", "--set", "ensemble.parallel=1")
        self.slipway("wait", "--timeout", "200s")
        trials = json.loads(self.slipway("trials", "ls", "--json").stdout)["trials"]
        self.assertEqual(collections.Counter(trial["state"] for trial in trials), {"complete": 5})
        self.assertEqual(len((self.place / "ran").read_text().split()), 5)

    def test_what_may_not_change_leaves_the_run_as_it_is(self):
        self.write('echo FoM: "$1"', ensemble=dict(Running.ENSEMBLE, trials=2))
        self.submit()
        self.slipway("wait", "--timeout", "200s")
        self.assertIn("cannot change", self.slipway("resume", "--set", "ensemble.seed=7", status=2).stderr)
        self.assertEqual(self.status()["phase"], "succeeded")


class Followed(Engine):
    """`slipway run` on a terminal, and Ctrl-C."""

    def follow(self, terminal=True):
        """Starts a run and reads on until it shows what its program says; returns it and what types and reads there."""
        self.write("echo at work; sleep 300")
        ours, theirs = os.openpty() if terminal else (None, subprocess.PIPE)
        run = subprocess.Popen([self.program, "run", "exp.yaml"], env=self.bed.environment, cwd=self.place,
                               stdin=theirs,
                               stdout=theirs, stderr=theirs, start_new_session=True, **support.ordinary_user())
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        if terminal:
            os.close(theirs)
            self.addCleanup(os.close, ours)
        else:
            for stream in (run.stdin, run.stdout, run.stderr):
                self.addCleanup(stream.close)
        self.read_on(ours if terminal else run.stdout.fileno(), "at work")
        self.until("running")
        return run, ours

    def asked(self, run, terminal):
        """Presses Ctrl-C and reads on to the question."""
        run.send_signal(signal.SIGINT)
        self.read_on(terminal, "leaves it running")

    def test_second_ctrl_c_cancels_the_job(self):
        run, terminal = self.follow()
        self.asked(run, terminal)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(60), 130)
        self.assertEqual(self.status()["phase"], "cancelled")

    def test_yes_cancels_the_job(self):
        run, terminal = self.follow()
        self.asked(run, terminal)
        os.write(terminal, b"y\n")
        self.assertEqual(run.wait(60), 130)
        self.assertEqual(self.status()["phase"], "cancelled")

    def test_anything_else_leaves_it_running(self):
        run, terminal = self.follow()
        self.asked(run, terminal)
        os.write(terminal, b"\n")
        self.assertEqual(run.wait(60), 130)
        self.assertEqual(self.status()["phase"], "running")
        self.slipway("cancel")

    def test_without_a_terminal_nobody_is_asked_and_the_job_goes_on(self):
        run, _ = self.follow(terminal=False)
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=60)[0].decode()
        self.assertEqual(run.returncode, 130)
        self.assertIn("slipway cancel", said)
        self.assertEqual(self.status()["phase"], "running")
        self.slipway("cancel")


class Doctor(Engine):
    def findings(self, done):
        checks = json.loads(done.stdout[done.stdout.index("{"):])["checks"]
        return {finding["about"]: finding for check in checks for finding in check["findings"]}

    def test_login_node_is_in_order(self):
        found = self.findings(self.slipway("doctor", "--json"))
        self.assertIn("partitions up", found["slurm"]["text"])
        for about in ("slurm", "libslurm", "munge", "run folders"):
            self.assertEqual(found[about]["grade"], "ok", found[about])

    @unittest.skipUnless((BUILT / DOCTOR[0]).exists(), "built without MPI")
    def test_ranks_are_tried_in_an_allocation(self):
        script = f"#!/bin/sh\ncd {self.place} && {self.program} doctor --srun --json\n"
        job = self.bed.submit(script, "--ntasks=2", "--nodes=1", "--time=5")
        self.bed.wait_for_end(job, patience_s=90)
        output = self.bed.output_of(job)
        found = self.findings(subprocess.CompletedProcess([], 0, output))
        self.assertEqual(found["engine"]["text"], f"slurm (SLURM_JOB_ID: in the allocation of job {job})")
        self.assertEqual(found["mpirun"]["grade"], "ok", found)
        self.assertIn(found["srun --mpi=pmix"]["grade"], ("ok", "warn"))


if __name__ == "__main__":
    support.main()
