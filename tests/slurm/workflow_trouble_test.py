#!/usr/bin/python3
"""Workflows of Slurm jobs in trouble: ends that Slurm has missed or forgotten, a site that takes no more jobs, and who
gets to know."""

import contextlib
import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time

import support
import workflow_test

GATE = "import time\nwhile not (place / 'go').exists(): time.sleep(0.05)\n"


class Server:
    """Remembers the JSON documents that are posted to it."""

    def __init__(self):
        self.documents = []
        documents = self.documents

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                documents.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Flow(workflow_test.Flow):
    def folder(self):
        return self.place / "runs" / self.json("status", "last", status=None)["run"]

    def job_of(self, step):
        return self.steps()[step]["job"]

    def until(self, step, state):
        support.wait_for(lambda: self.states()[step] == state, 60, f"step {step} {state}")

    def go(self):
        (self.place / "go").touch()

    def kill_the_program_of(self, step):
        """The process in the job of the step, and so without a record of its end."""
        pids = support.processes_with(f"workflow\0step\0{self.folder()}\0{step}")
        self.assertTrue(pids)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # a child that was about to become a program of its own
                os.kill(pid, signal.SIGKILL)


class Notices(Flow):
    def setUp(self):
        super().setUp()
        commands = self.place / "told"
        commands.mkdir(mode=0o777)
        commands.chmod(0o777)
        said = f"{self.place}/said.$(hostname).$$"  # nobody reads it before all of it is there
        self.notify = [{"on": ["end", "failure"],
                        "command": ["sh", "-c", f"cat > {said} && mv {said} {commands}/$(date +%s%N).$$"]}]

    def told(self):
        """What each notification has said, in order."""
        return [json.loads(path.read_text()) for path in sorted((self.place / "told").iterdir())]

    def events(self):
        return sorted((each["event"], each["state"]) for each in self.told())

    def test_of_the_end_come_once_although_two_jobs_end_at_once(self):
        self.program_of_steps(GATE)
        self.flow({f"s{i}": ["x"] for i in range(4)}, notify=self.notify)
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: len(self.ran()) == 4, 60, "all steps")
        waiting = [subprocess.Popen([self.program, "wait", "last"], env=self.bed.environment, cwd=self.place,
                                    stdout=subprocess.DEVNULL, **support.ordinary_user()) for _ in range(3)]
        self.go()
        self.assertEqual([each.wait(60) for each in waiting], [0, 0, 0])
        support.wait_for(self.told, 60, "the notification")
        self.json("status", "last")
        self.json("ls")
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the jobs")
        self.assertEqual(self.events(), [("end", "succeeded")])

    def test_of_a_failed_step_and_of_the_end_come_once_each(self):
        self.program_of_steps("sys.exit('bad' in sys.argv)\n")
        self.flow({"bad": ["bad"], "after": {"command": ["x"], "after": ["bad"]}, "good": ["x"]}, notify=self.notify)
        self.json("submit", "flow.yaml")
        self.wait(status=1)
        support.wait_for(lambda: len(self.told()) == 2, 60, "two notifications")
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the jobs")
        self.assertEqual(self.events(), [("failure", "failed"), ("failure", "running")])
        self.assertIn("step 'bad' failed: exit status 1", next(each["reason"] for each in self.told()
                                                              if each["state"] == "running"))

    def test_of_what_left_no_record_come_from_who_looks(self):
        self.program_of_steps(GATE)
        self.flow({"only": ["x"]}, notify=self.notify)
        self.json("submit", "flow.yaml")
        self.until("only", "running")
        self.kill_the_program_of("only")
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the job")
        self.assertEqual(self.told(), [])
        self.assertEqual(self.json("status", "last", status=1)["phase"], "failed")
        self.json("status", "last", status=1)
        self.assertEqual(self.events(), [("failure", "failed"), ("failure", "running")])

    def test_reach_a_server_and_keep_its_address_secret(self):
        server = Server()
        self.addCleanup(server.close)
        self.program_of_steps("")
        shown = self.bed.client("scontrol", "show", "config").stdout
        address = re.search(r"SlurmctldHost\[0\]\s*=\s*\S+\(([\d.]+)\)", shown).group(1)
        url = f"http://{address}:{server.server.server_port}/s3cret"
        self.flow({"only": ["x"]}, notify=[{"on": "end", "webhook": url}])
        self.json("submit", "flow.yaml")
        self.wait()
        support.wait_for(lambda: server.documents, 60, "the notification")
        self.assertEqual([each["state"] for each in server.documents], ["succeeded"])
        folder = self.folder()
        self.assertEqual((folder / "submitted.json").stat().st_mode & 0o077, 0)
        self.assertNotIn("s3cret", (folder / "workflow.yaml").read_text())


class Unseen(Flow):
    """Files that a node has made, and that this host does not see yet, as on NFS."""

    def test_an_end_that_is_not_visible_yet_is_waited_for(self):
        self.program_of_steps("")
        self.flow({"first": ["x"], "second": {"command": ["x"], "after": ["first"]}})
        self.drain()
        self.json("submit", "flow.yaml")
        folder, = (self.place / "runs").glob("flow-*")
        journal = folder / "steps/first/journal.jsonl"
        self.assertTrue(journal.exists(), "before a node makes it: a host keeps what it has not found")
        self.bed.client("scontrol", "hold", self.job_of("second"))
        self.undrain()
        self.bed.wait_for_end(self.job_of("first"))
        journal.rename(folder / "hidden")
        step = self.steps()["first"]
        self.assertEqual((step["state"], self.states()["second"]), ("running", "waiting"))
        self.assertIn("its record is not visible on this host yet", step["reason"])
        self.assertEqual(self.json("status", "last")["phase"], "running")
        (folder / "hidden").rename(journal)
        self.assertEqual(self.states()["first"], "done")
        self.bed.client("scontrol", "release", self.job_of("second"))
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {"first": 1, "second": 1})


class FullDisk(Flow):
    def test_a_job_whose_number_could_not_be_written_down_is_found(self):
        self.program_of_steps("")
        self.flow({"only": ["x"]})
        self.drain()
        refused = self.slipway("submit", "flow.yaml", status=3, LD_PRELOAD=os.environ["SLIPWAY_TEST_FULL_DISK"],
                               FULL_DISK="batch_job.json 2")
        self.assertIn("No space left on device", refused.stderr)
        self.assertIn("slipway resume", refused.stderr)
        self.assertEqual(len(self.in_the_queue()), 1)
        resumed = self.json("resume", "last")
        self.assertEqual((resumed["jobs"], resumed["kept"]), (0, 1))
        self.undrain()
        self.assertEqual(self.states(self.wait()), {"only": "done"})
        self.assertEqual(self.ran(), {"only": 1})


class Losses(Flow):
    OPTIONS = ("--nodes", "2", "--mode", "namespaces", "--conf", "SlurmdTimeout=20")

    def chain(self, **more):
        self.program_of_steps(GATE)
        self.flow({"first": ["x"], "second": {"command": ["x"], "after": ["first"]}, **more})
        self.json("submit", "flow.yaml")
        self.until("first", "running")

    def let_slurm_forget(self):
        """As after a crash of the controller's disk: numbers begin anew."""
        self.bed.order("kill", "slurmctld")
        for file in (self.bed.state / "controller").glob("*job_state*"):
            file.unlink()
        self.bed.order("start", "slurmctld")
        self.bed.wait_until_idle()

    def begin_again(self, ran):
        self.go()
        self.json("resume", "last")
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), ran)

    def test_a_job_that_slurm_forgot_has_failed_and_runs_again(self):
        self.chain()
        job = self.job_of("first")
        self.let_slurm_forget()
        document = self.wait(status=1)
        self.assertEqual(self.states(document), {"first": "failed", "second": "blocked"})
        reason = self.steps(document)["first"]["reason"]
        self.assertIn(f"Slurm no longer knows job {job}, and it left no record of its end", reason)
        self.assertIn("slipway resume", reason)
        self.begin_again({"first": 2, "second": 1})

    def test_what_is_cancelled_after_slurm_forgot_it_has_ended(self):
        self.chain()
        self.let_slurm_forget()
        self.assertIn("has ended already: failed", self.slipway("cancel", "last").stdout)
        self.begin_again({"first": 2, "second": 1})

    def test_jobs_that_slurm_removed_and_forgot_are_blocked(self):
        self.program_of_steps("if 'bad' in sys.argv and not (place / 'go').exists(): sys.exit(1)\n" + GATE)
        self.flow({"bad": ["bad"], "after_bad": {"command": ["x"], "after": ["bad"]}, "other": ["x"]})
        self.json("submit", "flow.yaml")
        self.until("other", "running")
        self.until("bad", "failed")
        self.let_slurm_forget()
        self.assertEqual(self.states(self.wait(status=1)),
                         {"bad": "failed", "after_bad": "blocked", "other": "failed"})
        self.begin_again({"bad": 2, "after_bad": 1, "other": 2})

    def test_a_killed_program_has_failed(self):
        self.chain()
        self.kill_the_program_of("first")
        document = self.wait(status=1)
        self.assertEqual(self.states(document), {"first": "failed", "second": "blocked"})
        self.assertIn("SIGKILL", self.steps(document)["first"]["reason"])
        self.begin_again({"first": 2, "second": 1})

    def test_a_node_that_dies_with_a_job_that_is_not_queued_again(self):
        self.chain()
        job = self.job_of("first")
        self.on_node("scontrol", "update", f"jobid={job}", "requeue=0")
        node = self.bed.job(job)["BatchHost"]
        self.addCleanup(self.bed.order, "start", f"node:{node}")
        self.bed.order("kill", f"node:{node}")
        self.give_up(node)
        document = self.wait(status=1)
        self.assertEqual(self.states(document), {"first": "failed", "second": "blocked"})
        self.assertIn(f"job {job}: ", self.steps(document)["first"]["reason"])
        self.bed.start_again(node)
        self.begin_again({"first": 2, "second": 1})

    def test_an_end_that_slurm_missed_frees_what_waits_for_it(self):
        """The daemon of the job is stopped: Slurm takes the job to be running."""
        self.chain()
        job = self.job_of("first")
        daemons = support.processes_with(f"slurmstepd: [{job}.batch]")
        self.assertTrue(daemons)
        for pid in daemons:
            os.kill(pid, signal.SIGSTOP)
            self.addCleanup(os.kill, pid, signal.SIGCONT)
        self.go()
        self.until("first", "done")
        self.assertEqual(self.bed.state_of(job), "RUNNING")
        self.assertEqual((self.states()["second"], self.json("resume", "last")["kept"]), ("ready", 1))
        journal = self.folder() / "steps/first/journal.jsonl"
        long_ago = time.time() - 100
        os.utime(journal, (long_ago, long_ago))
        self.assertEqual(self.json("resume", "last")["jobs"], 1)
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {"first": 1, "second": 1})


class Closed(Flow):
    def test_a_partition_that_is_drained_lets_the_rest_wait(self):
        self.program_of_steps(GATE)
        self.flow({"s0": ["0"], "s1": {"command": ["1"], "slurm": {"partition": "short"}}})
        self.json("submit", "flow.yaml")
        self.bed.client("scancel", self.job_of("s1"))
        self.until("s1", "cancelled")
        support.wait_for(lambda: len(self.in_the_queue()) == 1, 60, "the end of the job")
        self.close_partition("short", "drain")
        refused = self.slipway("resume", "last", "--submit-for", "1s", status=2)
        self.assertIn("the jobs of 1 of 2 steps are submitted: the partition takes no jobs at present", refused.stderr)
        self.assertIn("trying again for 1", refused.stderr)
        self.open_partition("short")
        self.slipway("resume", "last")
        self.go()
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})

    def test_a_partition_that_is_drained_refuses_the_first_job(self):
        self.close_partition("short", "drain")
        self.program_of_steps("")
        self.flow({"s0": {"command": ["0"], "slurm": {"partition": "short"}}})
        refused = self.slipway("submit", "flow.yaml", status=2)
        self.assertIn("'short' is drained or inactive", refused.stderr)
        self.assertNotIn("trying again", refused.stderr)


class Full(Flow):
    OPTIONS = ("--nodes", "2", "--conf", "MaxJobCount=4", "--conf", "MinJobAge=2")

    def chain(self, count, gate=""):
        self.program_of_steps(gate)
        self.flow({f"s{i}": {"command": [str(i)], "after": [f"s{i - 1}"] if i else []} for i in range(count)})

    def setUp(self):
        super().setUp()
        support.wait_for(lambda: not self.bed.ask("squeue", "-h", "--states=all"), 120, "an empty controller")

    def test_the_rest_is_submitted_when_jobs_have_ended(self):
        self.chain(5)
        done = self.slipway("submit", "flow.yaml", "--submit-for", "100s")
        self.assertIn("the jobs of 3 of 5 steps are submitted: Slurm takes no more jobs", done.stderr)
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {f"s{i}": 1 for i in range(5)})

    def test_resume_submits_the_rest_after_the_time_is_up(self):
        self.chain(4, GATE)
        refused = self.slipway("submit", "flow.yaml", "--submit-for", "1s", status=75)
        self.assertIn("the jobs of 3 of 4 steps are submitted", refused.stderr)
        self.assertIn("slipway resume", refused.stderr)
        self.assertEqual(len(self.in_the_queue()), 3)
        self.assertIn("1 of 4 steps are not submitted: slipway resume", self.json("status", "last")["reason"])
        self.go()
        support.wait_for(lambda: self.ran().get("s2") == 1, 60, "the steps that are submitted")
        self.slipway("resume", "last", "--submit-for", "100s", status=None)
        support.wait_for(lambda: self.resumed(), 100, "room for the rest")
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {f"s{i}": 1 for i in range(4)})

    def resumed(self):
        """With no job of the run in the queue, a site that is full refuses at once."""
        if self.steps()["s3"]["job"] != 0:
            return True
        self.slipway("resume", "last", status=None)
        time.sleep(1)
        return False

    def begin(self):
        begun = subprocess.Popen([self.program, "submit", "flow.yaml"], env=self.bed.environment, cwd=self.place,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 **support.ordinary_user())
        self.addCleanup(begun.kill)
        self.said = self.read_on(begun.stderr.fileno(), "Slurm takes no more jobs")
        self.assertEqual(len(self.in_the_queue()), 3)
        return begun

    def test_ctrl_c_keeps_what_is_submitted(self):
        self.chain(4, GATE)
        begun = self.begin()
        self.assertIn("1 of 4 steps are not submitted: slipway submits them now", self.json("status", "last")["reason"])
        begun.send_signal(signal.SIGINT)
        said = self.said + begun.communicate(timeout=60)[1]
        self.assertEqual(begun.returncode, 130, said)
        self.assertIn("the jobs of 3 of 4 steps are submitted", said)
        self.assertIn("slipway resume", said)
        self.assertEqual(len(self.in_the_queue()), 3)

    def test_cancel_ends_a_submission_that_waits(self):
        self.chain(4, GATE)
        begun = self.begin()
        self.slipway("cancel", "last", status=None)
        begun.communicate(timeout=60)
        self.assertEqual(self.wait(status=130)["phase"], "cancelled")
        self.assertEqual(set(self.states().values()), {"cancelled"})

    def test_steps_whose_needs_fail_meanwhile_are_not_submitted(self):
        self.program_of_steps("sys.exit('0' in sys.argv)\n")
        self.flow({f"s{i}": {"command": [str(i)], "after": [f"s{i - 1}"] if i else []} for i in range(4)})
        self.slipway("submit", "flow.yaml", "--submit-for", "100s")
        document = self.wait(status=1)
        self.assertEqual(self.states(document), {"s0": "failed", "s1": "blocked", "s2": "blocked", "s3": "blocked"})
        self.assertEqual(self.ran(), {"s0": 1})


class Accounts(Flow):
    OPTIONS = ("--nodes", "2", "--accounting", "--conf", "AccountingStorageEnforce=associations,limits")

    def associations(self):
        return self.bed.client("scontrol", "show", "assoc_mgr", "flags=assoc").stdout

    def open_account(self, account, most_jobs=None):
        """An earlier test may have opened it. `most_jobs`: that the user may have in the queue with it."""
        known, user = f"Account={account} UserName={support.ORDINARY_USER}", support.ORDINARY_USER
        if known not in self.associations():
            self.on_node("sacctmgr", "-i", "add", "account", account)
            self.on_node("sacctmgr", "-i", "add", "user", user, f"account={account}")
            support.wait_for(lambda: known in self.associations(), 60, known)
        if most_jobs is not None:
            limit = f"MaxSubmitJobs={most_jobs}"
            self.on_node("sacctmgr", "-i", "modify", "user", user, "where", f"account={account}", "set", limit)
            support.wait_for(lambda: f"{limit}(" in self.associations(), 60, limit)

    def test_a_limit_of_the_user_lets_the_rest_wait(self):
        self.open_account("physics", most_jobs=2)
        self.program_of_steps("")
        self.flow({f"s{i}": {"command": [str(i)], "after": [f"s{i - 1}"] if i else []} for i in range(4)},
                  defaults={"engine": "slurm", "slurm": {"account": "physics"}})
        done = self.slipway("submit", "flow.yaml", "--submit-for", "60s")
        self.assertIn("the jobs of 2 of 4 steps are submitted: a limit of the account", done.stderr)
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {f"s{i}": 1 for i in range(4)})

    def test_an_array_beyond_the_limit_of_the_user_ends_the_submission(self):
        self.open_account("physics", most_jobs=4)  # the one that the partition allows
        self.program_of_steps("")
        self.flow({"first": ["0"], "each": {"command": ["${item}"], "foreach": [str(i) for i in range(6)],
                                            "after": ["first"], "jobs": "array"}},
                  defaults={"engine": "slurm", "slurm": {"account": "physics"}})
        refused = self.slipway("submit", "flow.yaml", "--submit-for", "300s", status=2)
        self.assertIn("it is an array of 6 tasks, and you may have 4 jobs in the queue", refused.stderr)
        self.assertIn("the jobs of 1 of 7 steps are submitted", refused.stderr)
        self.assertIn("next: set 'jobs: packed' of the step", refused.stderr)

    def test_a_job_beyond_a_limit_of_one_job_ends_the_submission(self):
        self.on_node("sacctmgr", "-i", "modify", "qos", "normal", "set", "flags=DenyOnLimit", "MaxTRESPerJob=cpu=1",
                     "MaxWall=10")
        self.open_account("history")
        self.program_of_steps("")
        slurm = {"account": "history"}
        for name, more, what in (("wide", {"resources": {"cpus": 2}}, "1 node with 2 cores"),
                                 ("long", {"time_limit": "20m"}, "a time limit of 21m00s")):
            with self.subTest(name):
                self.flow({"first": {"command": ["0"], "slurm": slurm},
                           name: {"command": ["1", name], "after": ["first"], "slurm": slurm, **more}})
                refused = self.slipway("submit", "flow.yaml", "--submit-for", "300s", status=2)
                self.assertIn("beyond a limit of the account, the QOS or the partition: it has " + what, refused.stderr)
                self.assertIn("submitting job 'flow." + name, refused.stderr)
                self.assertIn("sacctmgr show qos", refused.stderr)


if __name__ == "__main__":
    support.main()
