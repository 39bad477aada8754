#!/usr/bin/python3
"""Steps of a workflow that share a submission: tasks of a job array, and packs in one allocation."""

import json

import support
import workflow_test

WRITE = "pathlib.Path(os.environ['SLIPWAY_OUTPUT_O']).write_text(' '.join(sys.argv[1:]) or 'x')\n"
WAIT = "import time\nwhile 'wait' in sys.argv and not (place / 'go').exists(): time.sleep(0.1)\n"
ITEMS = ["a", "b", "c", "d", "e", "f"]


class Shared(workflow_test.Flow):
    def sweep(self, words=(), items=ITEMS, **fields):
        return {"command": ["${item}", *words], "foreach": items, "outputs": {"o": "o.txt"}, **fields}

    def jobs(self, document, group):
        return [(step["job"], step["array_task"]) for step in document["steps"] if step["name"].startswith(group + ".")]

    def text_of(self, document, step):
        return (self.place / "runs" / document["run"] / "steps" / step / "result/outputs/o.txt").read_text()

    def marks(self, document):
        return {mark.name for mark in (self.place / "runs" / document["run"] / "ended").iterdir()}

    def planned(self):
        return {step["name"]: step["job"] for step in self.json("plan", "flow.yaml")["steps"]}


class Arrays(Shared):
    def test_follow_each_other_task_by_task(self):
        self.program_of_steps(WRITE)
        self.flow({"make": self.sweep(), "use": {"command": ["${item.outputs.o}"], "foreach": "${steps.make}",
                                                 "outputs": {"o": "o.txt"}},
                   "all": {"command": ["${steps.use.outputs.o}"], "outputs": {"o": "o.txt"}}})
        planned = self.planned()
        self.assertEqual((planned["use.3"]["form"], planned["use.3"]["steps"]), ("array", 6))
        self.assertIn("not known how long", planned["use.3"]["why"])
        self.assertIn("#SBATCH --array=0-5\n", planned["use.3"]["script"])
        self.assertEqual(planned["use.3"]["dependency"], "aftercorr:job-of-make")
        self.assertEqual(planned["all"]["dependency"], "afterok:job-of-use")
        self.assertIn("array of 6", self.slipway("plan", "flow.yaml").stdout)
        submitted = self.json("submit", "flow.yaml")
        self.assertEqual((submitted["jobs"], submitted["submitted"]), (3, 13))
        document = self.wait()
        self.assertEqual(set(self.states(document).values()), {"done"})
        self.assertEqual(self.ran(), {name: 1 for name in self.states(document)})
        self.assertEqual(self.marks(document), {f"done-{name}" for name in self.states(document)})
        for group in ("make", "use"):
            jobs = self.jobs(document, group)
            self.assertEqual(jobs, [(jobs[0][0], task) for task in range(6)])
        self.assertTrue(self.text_of(document, "use.4").endswith("outputs/o.txt"))
        self.assertEqual(set(self.planned().values()), {None}, "all are reused")
        refused = self.bed.client(self.program, "workflow", "step", self.place / "runs" / document["run"], "make",
                                  "--array-task")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("this is no task of a job array", refused.stderr)

    def test_run_no_more_tasks_at_a_time_than_the_step_says(self):
        self.program_of_steps("import time\nme = place / ('at-work-' + sys.argv[1])\nme.touch()\n"
                              "seen = len(list(place.glob('at-work-*')))\ntime.sleep(0.5)\nme.unlink()\n"
                              "pathlib.Path(os.environ['SLIPWAY_OUTPUT_O']).write_text(str(seen))\n")
        self.flow({"make": self.sweep(parallel=2)})
        planned = self.planned()["make.0"]
        self.assertEqual((planned["form"], planned["at_once"], planned["why"]), ("array", 2, "parallel: 2"))
        self.assertIn("#SBATCH --array=0-5%2\n", planned["script"])
        self.assertIn("array of 6, 2 at a time", self.slipway("plan", "flow.yaml").stdout)
        self.json("submit", "flow.yaml")
        document = self.wait()
        self.assertEqual(set(self.states(document).values()), {"done"})
        self.assertLessEqual(max(int(self.text_of(document, f"make.{task}")) for task in range(6)), 2)

    def test_of_which_one_fails_stop_what_needs_it_and_nothing_else(self):
        self.program_of_steps("if 'c' in sys.argv and not (place / 'fixed').exists(): sys.exit(3)\n" + WRITE)
        self.flow({"make": self.sweep(), "use": {"command": ["${item.folder}"], "foreach": "${steps.make}",
                                                 "outputs": {"o": "o.txt"}},
                   "first": {"command": ["${steps.make[0].folder}"], "outputs": {"o": "o.txt"}},
                   "all": {"command": ["${steps.make.folder}"], "outputs": {"o": "o.txt"}}})
        self.json("submit", "flow.yaml")
        document = self.wait(status=1)
        states = self.states(document)
        self.assertEqual({name for name, state in states.items() if state == "done"},
                         {f"{group}.{i}" for group in ("make", "use") for i in (0, 1, 3, 4, 5)} | {"first"})
        self.assertEqual((states["make.2"], states["use.2"], states["all"]), ("failed", "blocked", "blocked"))
        self.assertIn("exit status 3", self.steps(document)["make.2"]["reason"])
        self.assertIn("failed-make.2", self.marks(document))
        support.wait_for(lambda: not self.in_the_queue(), 60, "the removal of the jobs that cannot start")
        (self.place / "fixed").touch()
        self.assertEqual(self.json("resume", "last")["submitted"], 3)
        document = self.wait()
        self.assertEqual(set(self.states(document).values()), {"done"})
        self.assertEqual({name: count for name, count in self.ran().items() if count > 1}, {"make.2": 2})
        self.assertEqual(self.marks(document), {f"done-{name}" for name in self.states(document)})

    def test_lose_a_task_to_scancel_and_all_to_cancel(self):
        self.program_of_steps(WAIT + WRITE)
        self.flow({"make": self.sweep(["wait"])})
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: self.states()["make.0"] == "running", 60, "the first task")
        job = self.steps()["make.0"]["job"]
        self.on_node("scancel", f"{job}_0")
        support.wait_for(lambda: self.states()["make.0"] == "cancelled", 60, "the end of the task")
        self.assertNotIn("cancelled", [state for name, state in self.states().items() if name != "make.0"])
        self.slipway("cancel", "last")
        document = self.wait(status=130)
        self.assertEqual(set(self.states(document).values()), {"cancelled"})
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the jobs")
        (self.place / "go").touch()
        self.json("resume", "last")
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})

    def test_are_found_after_a_submission_that_was_killed(self):
        self.program_of_steps(WRITE)
        self.flow({"make": self.sweep()})
        self.drain()
        run = self.json("submit", "flow.yaml")["run"]
        jobs = self.jobs(self.json("status", "last"), "make")
        for record in (self.place / "runs" / run / "steps").glob("make.*/batch_job.json"):
            document = json.loads(record.read_text())
            record.write_text(json.dumps({**document, "job": 0, "doubt": "it is being submitted"}))
        resumed = self.json("resume", "last")
        self.assertEqual((resumed["jobs"], resumed["kept"]), (0, 6))
        self.assertEqual(self.jobs(self.json("status", "last"), "make"), jobs)
        self.undrain()
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(set(self.ran().values()), {1})

    def test_hold_experiments_whose_tasks_are_queued_again_one_by_one(self):
        self.program_of_steps("")
        spec = {"train": {"command": ["sh", "-c", "echo x >> turns.$1; [ $(wc -l < turns.$1) -ge 2 ] && echo FoM: 1 && "
                                      "exit; touch up.$1; sleep 300", "sh", "${item}"],
                          "metrics": {"from": "stdout", "pattern": r"FoM: (?<objective>\\S+)"}},
                "launch": {"workdir": "spec", "time_limit": "9m"}}
        self.flow({"train": {"experiment": spec, "foreach": ["p", "q"]}})
        self.json("submit", "flow.yaml")
        for item in "pq":
            support.wait_for((self.place / f"up.{item}").exists, 60, "the program")
        jobs = self.jobs(self.json("status", "last"), "train")
        self.assertEqual([task for _, task in jobs], [0, 1])
        for job, task in jobs:
            self.on_node("scontrol", "requeue", f"{job}_{task}")
        document = self.wait()
        self.assertEqual(set(self.states(document).values()), {"done"})
        for item in "pq":
            self.assertEqual(len((self.place / f"turns.{item}").read_text().split()), 2)
        run = self.json("status", "last/train.1")
        self.assertEqual((run["phase"], run["batch_job"], run["batch_task"]), ("succeeded", *jobs[1]))


class LargeArrays(Shared):
    OPTIONS = ("--nodes", "2", "--conf", "MinJobAge=300", "--conf", "MaxArraySize=4")

    def test_are_several_whose_tasks_follow_each_other(self):
        self.program_of_steps(WRITE)
        self.flow({"make": self.sweep(), "use": {"command": ["${item.folder}"], "foreach": "${steps.make}",
                                                 "outputs": {"o": "o.txt"}},
                   "all": {"command": ["${steps.use.folder}"], "outputs": {"o": "o.txt"}}})
        planned = self.planned()
        self.assertIn("#SBATCH --array=0-3\n", planned["use.3"]["script"])
        self.assertIn("#SBATCH --array=0-1\n", planned["use.4"]["script"])
        self.assertIn("--first-index 4", planned["use.4"]["script"])
        self.assertEqual(planned["use.4"]["dependency"], "aftercorr:job-of-make.4-5")
        submitted = self.json("submit", "flow.yaml")
        self.assertEqual((submitted["jobs"], submitted["submitted"]), (5, 13))
        document = self.wait()
        self.assertEqual(set(self.states(document).values()), {"done"})
        self.assertEqual(self.ran(), {name: 1 for name in self.states(document)})
        jobs = self.jobs(document, "make")
        self.assertEqual([task for _, task in jobs], [0, 1, 2, 3, 0, 1])
        self.assertEqual(len({job for job, _ in jobs}), 2)
        self.assertEqual(self.text_of(document, "make.5"), "f")

    def test_with_a_limit_of_steps_at_a_time_are_refused(self):
        self.program_of_steps(WRITE)
        self.flow({"make": self.sweep(parallel=2)})
        refused = self.slipway("submit", "flow.yaml", status=2)
        self.assertIn("which needs a job array: the site's arrays end at task 3", refused.stderr)


class Packs(Shared):
    def test_hold_small_steps_of_a_foreach(self):
        self.program_of_steps("print(os.environ['SLURM_JOB_ID'])\n" + WRITE)
        self.flow({"make": self.sweep(time_limit="30s"),
                   "all": {"command": ["${steps.make.outputs.o}"], "outputs": {"o": "o.txt"}}})
        planned = self.planned()
        self.assertEqual((planned["make.0"]["form"], planned["make.0"]["steps"]), ("packed", 6))
        self.assertIn("small", planned["make.0"]["why"])
        self.assertIn("workflow step", planned["make.0"]["script"])
        self.assertEqual(planned["all"]["dependency"], "afterok:job-of-make")
        self.assertEqual(self.json("submit", "flow.yaml")["jobs"], 2)
        document = self.wait()
        self.assertEqual(set(self.states(document).values()), {"done"})
        self.assertEqual(len(set(self.jobs(document, "make"))), 1)
        job = str(self.steps(document)["make.5"]["job"])
        self.assertEqual({self.slipway("logs", f"last/make.{i}").stdout for i in range(6)}, {job + "\n"})
        self.assertEqual(set(self.ran().values()), {1})

    def test_of_the_user_run_steps_that_need_each_other_and_a_failure_stops_no_others(self):
        self.program_of_steps("if 'bad' in sys.argv and not (place / 'fixed').exists(): sys.exit(3)\n" + WRITE)
        one = {"outputs": {"o": "o.txt"}, "pack": "small"}
        self.flow({"a": {"command": ["a"], **one}, "b": {"command": ["bad", "${steps.a.outputs.o}"], **one},
                   "c": {"command": ["${steps.a.outputs.o}"], **one}, "d": {"command": ["${steps.b.outputs.o}"], **one},
                   "after_c": {"command": ["x", "${steps.c.outputs.o}"], "outputs": {"o": "o.txt"}},
                   "after_d": {"command": ["x", "${steps.d.outputs.o}"], "outputs": {"o": "o.txt"}}})
        self.assertEqual(self.planned()["after_c"]["dependency"], "afterany:job-of-small")
        self.assertEqual(self.json("submit", "flow.yaml")["jobs"], 3)
        document = self.wait(status=1)
        self.assertEqual(self.states(document), {"a": "done", "b": "failed", "c": "done", "d": "blocked",
                                                 "after_c": "done", "after_d": "blocked"})
        self.assertEqual(len({self.steps(document)[name]["job"] for name in "abc"}), 1)
        (self.place / "fixed").touch()
        self.assertEqual(self.json("resume", "last")["jobs"], 2)
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual({name: count for name, count in self.ran().items() if count > 1}, {"b": 2})

    def test_whose_allocation_ends_leave_the_rest_to_resume(self):
        self.program_of_steps(WAIT + WRITE)
        self.flow({"make": self.sweep(items=["a", "b", "wait"], jobs="packed")})
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: self.states() == {"make.0": "done", "make.1": "done", "make.2": "running"}, 60,
                         "two of three")
        self.on_node("scancel", self.steps()["make.2"]["job"])
        document = self.wait(status=130)
        self.assertEqual(self.states(document), {"make.0": "done", "make.1": "done", "make.2": "cancelled"})
        (self.place / "go").touch()
        resumed = self.json("resume", "last")
        self.assertEqual((resumed["jobs"], resumed["settled"]), (1, 2))
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {"make.0": 1, "make.1": 1, "make.2": 2})

    def test_that_are_queued_again_do_what_was_not_done(self):
        self.program_of_steps("import time\nif 'wait' in sys.argv and not (place / 'go').exists(): time.sleep(300)\n" +
                              WRITE)
        self.flow({"make": self.sweep(items=["a", "wait"], jobs="packed")})
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: self.states() == {"make.0": "done", "make.1": "running"}, 60, "one of two")
        (self.place / "go").touch()
        self.on_node("scontrol", "requeue", self.steps()["make.1"]["job"])
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})
        self.assertEqual(self.ran(), {"make.0": 1, "make.1": 2})

    def test_are_cancelled_with_their_run(self):
        self.program_of_steps(WAIT + WRITE)
        self.flow({"make": self.sweep(["wait"], jobs="packed"),
                   "all": {"command": ["${steps.make[0].outputs.o}"], "outputs": {"o": "o.txt"}}})
        self.json("submit", "flow.yaml")
        support.wait_for(lambda: self.states()["make.0"] == "running", 60, "the first step")
        self.slipway("cancel", "last")
        document = self.wait(status=130)
        self.assertEqual(set(self.states(document).values()), {"cancelled"})
        support.wait_for(lambda: not self.in_the_queue(), 60, "the end of the jobs")
        (self.place / "go").touch()
        self.json("resume", "last")
        self.assertEqual(set(self.states(self.wait()).values()), {"done"})


if __name__ == "__main__":
    support.main()
