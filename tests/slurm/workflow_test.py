#!/usr/bin/python3
"""Workflows whose steps are Slurm jobs."""

import collections
import json
import sys

import engine_test
import support

STEP = """import os, pathlib, sys
place = pathlib.Path(os.environ["SLIPWAY_SPEC_DIR"])
with open(place / "ran", "a") as file:
    file.write(os.environ["SLIPWAY_STEP"] + "\\n")
"""


class Flow(engine_test.Engine):
    OPTIONS = ("--nodes", "2", "--conf", "MinJobAge=300")

    def setUp(self):
        super().setUp()
        self.addCleanup(self.bed.client, "scancel", f"--user={support.ORDINARY_USER}")
        self.addCleanup(self.undrain)

    def program_of_steps(self, text):
        (self.place / "step.py").write_text(STEP + text)

    def flow(self, steps, **top):
        """A workflow; a step that is a list is a command of step.py with these words."""
        whole = {}
        for name, step in steps.items():
            body = step if isinstance(step, dict) else {"command": step}
            if "command" in body:
                body = {**body, "command": [sys.executable, "step.py", *body["command"]]}
            whole[name] = body
        document = {"name": "flow", "defaults": {"engine": "slurm"}, "steps": whole, **top}
        # Not in braces on one line: a workflow is known by lines that begin with 'steps:'.
        lines = (f"{key}: {json.dumps(value)}\n" for key, value in document.items())
        (self.place / "flow.yaml").write_text("".join(lines))

    def ran(self):
        """How often each step has begun."""
        path = self.place / "ran"
        return collections.Counter(path.read_text().split()) if path.exists() else {}

    def json(self, *words, status=0):
        return json.loads(self.slipway(*words, "--json", status=status).stdout)

    def steps(self, document=None):
        document = document or self.json("status", "last", status=None)
        return {step["name"]: step for step in document["steps"]}

    def states(self, document=None):
        return {name: step["state"] for name, step in self.steps(document).items()}

    def wait(self, status=0):
        return self.json("wait", "last", "--timeout", "100s", status=status)

    def drain(self):
        for node in self.bed.node_states():
            self.on_node("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")


class Chains(Flow):
    def test_two_steps_run_as_jobs_that_depend_on_each_other(self):
        self.program_of_steps("if 'make' in sys.argv: pathlib.Path(sys.argv[2]).write_text('blue')\n"
                              "if 'use' in sys.argv: print('read', pathlib.Path(sys.argv[2]).read_text())\n")
        self.flow({"make": {"command": ["make", "${outputs.data}"], "outputs": {"data": "data.txt"}},
                   "use": ["use", "${steps.make.outputs.data}"]})
        submitted = self.json("submit", "flow.yaml")
        self.assertEqual(submitted["jobs"], 2)
        document = self.wait()
        self.assertEqual(document["phase"], "succeeded")
        self.assertEqual(self.states(document), {"make": "done", "use": "done"})
        self.assertEqual(self.ran(), {"make": 1, "use": 1})
        self.assertEqual(self.slipway("logs", "last/use").stdout, "read blue\n")
        jobs = {name: step["job"] for name, step in self.steps(document).items()}
        self.assertNotEqual(jobs["make"], jobs["use"])
        script = (self.place / "runs" / document["run"] / "steps/use/job.sh").read_text()
        self.assertIn(f"#SBATCH --dependency=afterok:{jobs['make']}\n#SBATCH --kill-on-invalid-dep=yes\n", script)
        again = self.json("submit", "flow.yaml")
        self.assertEqual(again["jobs"], 0)
        self.assertEqual(self.states(self.wait()), {"make": "reused", "use": "reused"})

    def test_the_gap_between_steps_is_measured_beside_sbatch(self):
        measured = self.slipway("bench", "workflow", "--engine", "slurm", "--steps", 3, "--rounds", 1, "--work", 0,
                                "--partition", "urgent", "--json")
        rows = {row["side"]: row for row in json.loads(measured.stdout)["rows"]}
        self.assertEqual({side: row["gaps"] for side, row in rows.items()}, {"sbatch": 2, "slipway": 2})
        self.assertGreater(rows["slipway"]["median_s"], 0)


SEARCH = {"train": {"command": ["sh", "-c", "echo FoM: $1", "sh", "{x}"],
                    "metrics": {"from": "stdout", "pattern": r"FoM: (?<objective>\S+)"}},
          "ensemble": {"objective": {"metric": "objective", "goal": "maximize"}, "trials": 4, "parallel": 2,
                       "sampler": "grid", "space": {"x": {"int": [1, 4]}}}}


class Diamonds(Flow):
    def diamond(self):
        """prepare -> search, side -> page of both; the best of the search goes to the last step."""
        self.program_of_steps("if 'prepare' in sys.argv: pathlib.Path(sys.argv[2]).write_text('data')\n"
                              "if 'last' in sys.argv: print('best', sys.argv[2], 'side', sys.argv[3])\n"
                              "if 'side' in sys.argv:\n"
                              "    open(os.environ['SLIPWAY_METRICS'], 'a').write('{\"metrics\": {\"size\": 7}}\\n')\n")
        self.flow({"prepare": {"command": ["prepare", "${outputs.data}"], "outputs": {"data": "d.txt"}},
                   "search": {"after": ["prepare"], "experiment": SEARCH},
                   "side": ["side", "${steps.prepare.outputs.data}"],
                   "last": ["last", "${steps.search.best.params.x}", "${steps.side.metrics.size}"],
                   "page": {"report": ["search"]}})

    def test_with_a_search_runs_from_end_to_end(self):
        self.diamond()
        planned = {step["name"]: step["job"] for step in self.json("plan", "flow.yaml")["steps"]}
        self.assertEqual(planned["search"]["cpus"], 2)
        self.assertEqual(planned["last"]["dependency"], "afterok:job-of-search:job-of-side")
        self.assertIn("#SBATCH --cpus-per-task=1\n", planned["last"]["script"])
        shown = self.slipway("plan", "flow.yaml").stdout
        self.assertIn("job of", shown)
        self.json("submit", "flow.yaml")
        document = self.wait()
        self.assertEqual(set(self.states(document).values()), {"done"})
        self.assertEqual(self.slipway("logs", "last/last").stdout, "best 4 side 7\n")
        trials = json.loads(self.slipway("trials", "ls", "last/search", "--json").stdout)["trials"]
        self.assertEqual(collections.Counter(trial["state"] for trial in trials), {"complete": 4})
        searched = json.loads(self.slipway("status", "last/search", "--json").stdout)
        self.assertEqual((searched["phase"], searched["batch_job"]),
                         ("succeeded", self.steps(document)["search"]["job"]))
        self.assertTrue((self.place / "runs" / document["run"] / "steps/page/result/outputs/report.html").exists())

    def test_after_an_edit_that_step_and_its_dependants_run_again(self):
        self.diamond()
        self.json("submit", "flow.yaml")
        self.wait()
        flow = self.place / "flow.yaml"
        flow.write_text(flow.read_text().replace('"side", "${steps', '"side", "-v", "${steps'))
        resumed = self.json("resume", "last")
        self.assertEqual((resumed["jobs"], resumed["settled"]), (2, 3))
        document = self.wait()
        self.assertEqual(set(self.states(document).values()), {"done"})
        self.assertEqual(self.ran(), {"prepare": 1, "side": 2, "last": 2})


class Endings(Flow):
    def test_a_failing_step_stops_its_dependants_and_nothing_else(self):
        self.program_of_steps("sys.exit(3 if 'bad' in sys.argv and not (place / 'fixed').exists() else 0)\n")
        self.flow({"bad": ["bad"], "after_bad": {"command": ["x"], "after": ["bad"]},
                   "end": {"command": ["x"], "after": ["after_bad"]}, "good": ["good"],
                   "after_good": {"command": ["x"], "after": ["good"]}})
        self.json("submit", "flow.yaml")
        document = self.wait(status=1)
        self.assertEqual(self.states(document), {"bad": "failed", "after_bad": "blocked", "end": "blocked",
                                                 "good": "done", "after_good": "done"})
        self.assertIn("exit status 3", self.steps(document)["bad"]["reason"])
        self.assertIn("slipway logs", self.slipway("explain", "last").stdout)
        support.wait_for(lambda: not self.in_the_queue(), 60, "the removal of the jobs that cannot start")
        self.assertEqual(self.ran(), {"bad": 1, "good": 1, "after_good": 1})
        self.assertEqual(self.json("ls")["runs"][0]["phase"], "failed")
        (self.place / "fixed").touch()
        self.assertEqual(self.json("resume", "last")["jobs"], 3)
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {"bad": 2, "good": 1, "after_good": 1, "after_bad": 1, "end": 1})

    def test_a_false_condition_skips_a_step_and_its_dependants(self):
        self.program_of_steps("open(os.environ['SLIPWAY_METRICS'], 'a').write('{\"metrics\": {\"a\": 1}}\\n')\n")
        self.flow({"first": ["x"], "no": {"command": ["x"], "when": "${steps.first.metrics.a} >= 2"},
                   "after_no": {"command": ["x"], "after": ["no"]},
                   "yes": {"command": ["x"], "when": "${steps.first.metrics.a} >= 1"}})
        self.json("submit", "flow.yaml")
        document = self.wait()
        self.assertEqual(self.states(document),
                         {"first": "done", "no": "skipped", "after_no": "skipped", "yes": "done"})
        self.assertIn("condition is false", self.steps(document)["no"]["reason"])
        self.assertEqual(self.ran(), {"first": 1, "yes": 1})

    def test_retries_and_time_limits(self):
        self.program_of_steps("import time\nif 'slow' in sys.argv: time.sleep(60)\n"
                              "sys.exit(os.environ['SLIPWAY_ATTEMPT'] != '3')\n")
        self.flow({"stubborn": {"command": ["x"], "retries": 2},
                   "slow": {"command": ["slow"], "time_limit": "1s"}})
        self.json("submit", "flow.yaml")
        document = self.wait(status=1)
        self.assertEqual(self.states(document), {"stubborn": "done", "slow": "failed"})
        self.assertEqual(self.steps(document)["stubborn"]["attempt"], 3)
        self.assertIn("time limit", self.steps(document)["slow"]["reason"])

    def test_cancel_ends_all_jobs_and_resume_goes_on(self):
        self.program_of_steps("import time\nif not (place / 'go').exists(): time.sleep(300)\n")
        self.flow({"first": ["x"], "second": {"command": ["x"], "after": ["first"]}})
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: self.states()["first"] == "running", 60, "the first step")
        self.assertEqual(self.states()["second"], "waiting")
        self.slipway("cancel", "last")
        document = self.json("status", "last", status=130)
        self.assertEqual((document["phase"], self.states(document)),
                         ("cancelled", {"first": "cancelled", "second": "cancelled"}))
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the jobs")
        (self.place / "go").touch()
        self.slipway("resume", "last")
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})

    def test_a_removed_job_is_cancelled(self):
        self.program_of_steps("import time\ntime.sleep(300)\n")
        self.flow({"first": ["x"], "second": {"command": ["x"], "after": ["first"]}})
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: self.states()["first"] == "running", 60, "the first step")
        self.on_node("scancel", self.steps()["first"]["job"])
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the jobs")
        folder = self.place / "runs" / self.json("ls")["runs"][0]["run"]
        self.assertEqual(self.json("ls")["runs"][0]["phase"], "cancelled")
        document = self.wait(status=130)
        self.assertEqual(self.states(document), {"first": "cancelled", "second": "cancelled"})
        self.assertEqual(json.loads((folder / "state.json").read_text())["phase"], "cancelled")

    def test_a_job_that_slurm_queues_again_begins_anew_and_a_finished_one_does_nothing(self):
        self.program_of_steps("import time\nif not (place / 'go').exists(): time.sleep(300)\n")
        self.flow({"first": ["x"], "second": {"command": ["x"], "after": ["first"]}})
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: self.ran().get("first") == 1, 60, "the first step")
        (self.place / "go").touch()
        job = self.steps()["first"]["job"]
        self.on_node("scontrol", "requeue", job)
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {"first": 2, "second": 1})
        again = self.bed.client(self.program, "workflow", "step",
                                self.place / "runs" / self.json("status")["run"], "first")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.ran(), {"first": 2, "second": 1})


class Submissions(Flow):
    def chain(self, count=4):
        self.program_of_steps("")
        self.flow({f"s{i}": {"command": ["x"], "after": [f"s{i - 1}"] if i else []} for i in range(count)})

    def test_what_an_interrupted_submission_has_left_out_is_submitted_by_resume(self):
        self.chain()
        self.drain()
        run = self.json("submit", "flow.yaml")["run"]
        steps = self.place / "runs" / run / "steps"
        jobs = {name: step["job"] for name, step in self.steps().items()}
        record = json.loads((steps / "s1/batch_job.json").read_text())
        (steps / "s1/batch_job.json").write_text(json.dumps({**record, "job": 0, "doubt": "it is being submitted"}))
        self.on_node("scancel", jobs["s3"])
        support.wait_for(lambda: self.bed.state_of(jobs["s3"]) == "CANCELLED", 60, "the removal")
        (steps / "s3/batch_job.json").unlink()  # and this one was never submitted
        self.assertIn("not submitted", self.json("status", "last")["reason"])
        resumed = self.json("resume", "last")
        self.assertEqual((resumed["jobs"], resumed["kept"]), (1, 3))
        self.undrain()
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {f"s{i}": 1 for i in range(4)})
        after = {name: step["job"] for name, step in self.steps().items()}
        self.assertEqual({name: after[name] for name in ("s0", "s1", "s2")},
                         {name: jobs[name] for name in ("s0", "s1", "s2")})

    def test_an_edit_while_jobs_wait_changes_nothing_that_was_submitted(self):
        self.chain(2)
        self.drain()
        self.json("submit", "flow.yaml")
        flow = self.place / "flow.yaml"
        flow.write_text(flow.read_text().replace("step.py", "gone.py"))
        self.slipway("resume", "last", "--set", "steps.s0.retries=2", status=4)
        self.assertEqual(self.json("resume", "last")["kept"], 2)
        self.undrain()
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})

    def test_run_follows_the_jobs(self):
        self.chain(2)
        done = self.slipway("run", "flow.yaml")
        self.assertIn("s1  done", done.stderr)
        self.assertIn("succeeded", done.stdout)

    def test_what_waits_says_why(self):
        self.chain(2)
        self.drain()
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: "waits" in self.steps()["s0"]["reason"], 60, "the reason")
        document = self.json("status", "last")
        self.assertEqual((document["phase"], self.states(document)), ("queued", {"s0": "ready", "s1": "waiting"}))
        job = self.steps(document)["s0"]["job"]
        self.bed.client("scontrol", "hold", job)
        support.wait_for(lambda: f"scontrol release {job} lets it go" in self.steps()["s0"]["reason"], 60, "the advice")
        self.slipway("cancel", "last")
        self.assertEqual(self.json("status", "last", status=130)["phase"], "cancelled")

    def test_one_whose_job_is_suspended_says_so(self):
        self.program_of_steps("import time\nwhile not (place / 'go').exists(): time.sleep(0.1)\n")
        self.flow({"s0": ["x"]})
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: self.states()["s0"] == "running", 60, "the step")
        job = self.steps()["s0"]["job"]
        self.on_node("scontrol", "suspend", job)
        step = self.steps()["s0"]
        self.assertEqual((step["state"], step["reason"]), ("running", f"job {job} is suspended by Slurm: it keeps its nodes"))
        self.on_node("scontrol", "resume", job)
        (self.place / "go").touch()
        self.assertEqual(self.states(self.wait()), {"s0": "done"})

    def test_one_whose_job_is_suspended_can_be_cancelled(self):
        self.program_of_steps("import time\ntime.sleep(300)\n")
        self.flow({"s0": ["x"]})
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: self.states()["s0"] == "running", 60, "the step")
        job = self.steps()["s0"]["job"]
        self.on_node("scontrol", "suspend", job)
        self.slipway("cancel", "last")
        self.assertEqual(self.states(self.wait(status=130)), {"s0": "cancelled"})
        self.assertEqual(self.bed.wait_for_end(job), "CANCELLED")

    def test_one_engine_for_all_steps(self):
        self.program_of_steps("")
        self.flow({"here": {"command": ["x"], "engine": "local"}, "there": ["x"]})
        for words in (("submit", "flow.yaml"), ("plan", "flow.yaml")):
            said = self.slipway(*words, status=2).stderr
            self.assertIn("step 'here' has engine local, and step 'there' is a Slurm job", said)
            self.assertIn("--engine slurm", said)

    def test_settings_of_slurm_are_checked_and_used(self):
        self.chain(1)
        self.flow({"s0": ["x"]}, defaults={"engine": "slurm", "slurm": {"partition": "urgent"}, "time_limit": "90s",
                                           "resources": {"cpus": 2, "memory": "64MiB"}})
        job = self.json("plan", "flow.yaml")["steps"][0]["job"]
        self.assertEqual((job["partition"], job["time_limit_minutes"], job["cpus"], job["memory_per_node"]),
                         ("urgent", 3, 2, 64 << 20))
        self.json("submit", "flow.yaml")
        self.wait()
        self.assertEqual(self.bed.job(self.steps()["s0"]["job"])["Partition"], "urgent")
        self.flow({"s0": ["x"]}, defaults={"engine": "slurm", "slurm": {"partiton": "urgent"}})
        self.assertIn("partition", self.slipway("validate", "flow.yaml", status=2).stderr)
        self.flow({"s0": ["x"]}, defaults={"engine": "slurm", "slurm": {"partition": "debgu"}})
        self.assertIn("step 's0'", self.slipway("submit", "flow.yaml", status=2).stderr)
        self.flow({"s0": ["new"]}, defaults={"engine": "slurm", "slurm": {"licenses": "moon:1"}})
        refused = self.slipway("submit", "flow.yaml", status=None)
        self.assertIn("launch.slurm.licenses 'moon:1'", refused.stderr)
        self.assertIn("was not submitted, and its folder is removed", refused.stderr)
        self.assertEqual(len(list((self.place / "runs").glob("flow-*"))), 1)


class Engines(Flow):
    OPTIONS = ("--nodes", "3", "--mode", "namespaces", "--conf", "SlurmdTimeout=60")

    def test_auto_is_slurm_where_there_is_one_and_this_machine_in_an_allocation(self):
        self.program_of_steps("print('in job', os.environ['SLURM_JOB_ID'])\n")
        self.flow({"each": {"command": ["x", "${item}"], "foreach": ["a", "b"]},
                   "all": ["y", "${steps.each.folder}"]}, defaults={})
        plan = json.loads(self.slipway("plan", "flow.yaml", "--json", SLIPWAY_ENGINE="").stdout)
        self.assertEqual(plan["engine"], "slurm")
        self.slipway("submit", "flow.yaml", SLIPWAY_ENGINE="")
        document = self.wait()
        self.assertEqual(self.states(document), {"each.0": "done", "each.1": "done", "all": "done"})
        jobs = {step["name"]: (step["job"], step["array_task"]) for step in document["steps"]}
        self.assertEqual((jobs["each.1"], jobs["all"][1]), ((jobs["each.0"][0], 1), None))
        script = f"#!/bin/sh\ncd {self.place} && SLIPWAY_ENGINE= {self.program} run flow.yaml --force each\n"
        job = self.bed.submit(script, "--ntasks=1")
        self.assertEqual(self.bed.wait_for_end(job, patience_s=60), "COMPLETED")
        inside = self.json("status", "last")
        self.assertEqual(({step["job"] for step in inside["steps"]}, inside["phase"]), ({0}, "succeeded"))
        self.assertEqual(self.slipway("logs", "last/all").stdout, f"in job {job}\n")
        said = self.slipway("resume", "last", status=2, SLIPWAY_ENGINE="").stderr
        self.assertIn("ran on one machine, and would now be Slurm jobs", said)

    def test_an_experiment_goes_on_in_the_next_turn_of_its_job(self):
        """Its job is queued again twice."""
        self.program_of_steps("")
        spec = {"train": {"command": ["sh", "-c", "echo x >> turns; [ $(wc -l < turns) -ge 3 ] && echo FoM: 1 && exit; "
                                      "touch up; sleep 300"],
                          "metrics": {"from": "stdout", "pattern": r"FoM: (?<objective>\\S+)"}},
                "launch": {"workdir": "spec", "time_limit": "9m"}}
        self.flow({"train": {"experiment": spec}, "after": {"command": ["x"], "after": ["train"]}})
        self.json("submit", "flow.yaml")
        for _ in range(2):
            support.wait_for((self.place / "up").exists, 60, "the program")
            (self.place / "up").unlink()
            job = self.steps()["train"]["job"]
            self.on_node("scontrol", "requeue", job)
        document = self.wait()
        self.assertEqual(self.states(document), {"train": "done", "after": "done"})
        self.assertEqual(self.bed.job(job)["Restarts"], "2")
        self.assertEqual(len((self.place / "turns").read_text().split()), 3)

    def test_a_lost_node_costs_a_step_its_attempt_and_no_more(self):
        self.program_of_steps("import socket, time\n(place / 'where').write_text(socket.gethostname())\n"
                              "if not (place / 'go').exists(): time.sleep(300)\n")
        self.flow({"first": ["x"], "second": {"command": ["y"], "after": ["first"]}})
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: (self.place / "where").exists() and (self.place / "where").read_text(), 60, "the step")
        node = (self.place / "where").read_text()
        (self.place / "go").touch()
        self.addCleanup(self.bed.order, "start", f"node:{node}")
        self.bed.order("kill", f"node:{node}")
        self.give_up(node)
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {"first": 2, "second": 1})
        self.assertEqual(self.bed.job(self.steps()["first"]["job"])["Restarts"], "1")

    def test_a_job_that_ends_without_a_record_is_explained(self):
        self.program_of_steps("")
        self.flow({"first": {"command": ["x"]}, "second": {"command": ["y"], "after": ["first"]}})
        self.drain()
        run = self.json("submit", "flow.yaml")["run"]
        (self.place / "runs" / run / "submitted.json").write_text("{}")
        self.undrain()
        document = self.wait(status=1)
        self.assertEqual(self.states(document), {"first": "failed", "second": "blocked"})
        self.assertIn("job ", self.steps(document)["first"]["reason"])
        self.assertIn("damaged", self.slipway("logs", "last/first").stdout)


class Buffers(Flow):
    OPTIONS = ("--nodes", "2", "--burst-buffer", "lua")

    def write_steps(self, buffer):
        self.program_of_steps("pathlib.Path(sys.argv[1]).write_bytes(b'0123456789')\n")
        spec = {"data": {"train": {"source": "${steps.make.outputs.data}", "format": "raw", "tier": "burst"}},
                "train": {"command": ["sh", "-c", 'cat "$SLIPWAY_DATA_TRAIN"/*.bin > seen; '
                                      'echo $SLIPWAY_DATA_TRAIN > where']},
                "launch": {"workdir": "spec"}}
        self.flow({"make": {"command": ["${outputs.data}"], "outputs": {"data": "d.bin"}},
                   "train": {"experiment": spec}},
                  defaults={"engine": "slurm", "slurm": {"burst_buffer": {"type": "lua", "pool": "pool", **buffer}}})

    def test_hold_what_an_earlier_step_has_made(self):
        self.write_steps({"capacity": "32MiB"})
        scripts = {step["name"]: step["job"]["script"] for step in self.json("plan", "flow.yaml")["steps"]}
        self.assertIn("#BB_LUA", scripts["train"])
        self.assertNotIn("#BB_LUA", scripts["make"])
        self.slipway("submit", "flow.yaml")
        document = self.wait()
        self.assertEqual(self.states(document), {"make": "done", "train": "done"})
        self.assertEqual((self.place / "seen").read_text(), "0123456789")
        self.assertIn(f"/buffers/{self.steps(document)['train']['job']}/", (self.place / "where").read_text())

    def test_of_unknown_size_are_an_error(self):
        self.write_steps({})
        said = self.slipway("plan", "flow.yaml", status=2).stderr
        self.assertIn("the size of its burst buffer is unknown", said)
        self.assertIn("in step 'train'", said)
        self.assertIn("steps.train.slurm.burst_buffer.capacity=SIZE", said)


if __name__ == "__main__":
    support.main()
