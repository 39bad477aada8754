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
        (self.place / "flow.yaml").write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in document.items()))

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

    def undrain(self):
        for node, state in self.bed.node_states().items():
            if state.startswith("dr"):
                self.on_node("scontrol", "update", f"nodename={node}", "state=resume")


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


if __name__ == "__main__":
    support.main()
