#!/usr/bin/python3
"""A workflow of 18 steps in 14 Slurm jobs, one an array and one a pack, while slurmctld, slurmd and `slipway submit`
are killed at random moments. Each step has one result, equal to that of an undisturbed run. SLIPWAY_KILLS and
SLIPWAY_SEED set the number and the order of kills; SLIPWAY_LONG=1 does more of them."""

import collections
import json
import os
import random
import signal
import subprocess
import time

import support
import workflow_test

KILLS = int(os.environ.get("SLIPWAY_KILLS") or (120 if os.environ.get("SLIPWAY_LONG") else 14))
SEED = int(os.environ.get("SLIPWAY_SEED") or random.randrange(1 << 30))
PATIENCE_S = 120
DAEMONS = ("slurmctld", "slurmd:n1", "slurmd:n2")

PROGRAM = """import time
texts = sorted(pathlib.Path(word).read_text() for word in sys.argv[3:])
time.sleep(0.3)
pathlib.Path(sys.argv[2]).write_text(sys.argv[1] + "(" + ",".join(texts) + ")")
"""


class Kills(workflow_test.Flow):
    maxDiff = None
    OPTIONS = ("--nodes", "2", "--conf", "SlurmdTimeout=60", "--conf", "MessageTimeout=3")

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.program_of_steps(PROGRAM)
        layers = [[f"a{i}" for i in range(4)], [f"b{i}" for i in range(4)], [f"c{i}" for i in range(3)], ["end"]]
        steps = {}
        for before, layer in zip([[]] + layers, layers):
            for at, name in enumerate(layer):
                needs = before if name == "end" else [before[at], before[-1]] if before else []
                words = [f"${{steps.{need}.outputs.o}}" for need in dict.fromkeys(needs)]
                steps[name] = {"command": [name, "${outputs.o}", *words], "outputs": {"o": "o.txt"}}
        steps["f"] = {"command": ["${item}", "${outputs.o}", "${steps.a0.outputs.o}"], "outputs": {"o": "o.txt"},
                      "foreach": ["x", "y", "z"], "jobs": "array"}
        steps["g"] = {"command": ["g", "${outputs.o}", "${item.outputs.o}"], "outputs": {"o": "o.txt"},
                      "foreach": "${steps.f}", "jobs": "packed"}
        steps["end"]["command"].append("${steps.g.outputs.o}")
        self.flow(steps)

    def results(self, runs):
        """Step -> the contents of its results."""
        found = collections.defaultdict(list)
        for manifest in (self.place / runs / ".results").glob("*/manifest.json"):
            document = json.loads(manifest.read_text())
            found[document["step"]].append((document["key"], (manifest.parent / "outputs/o.txt").read_text()))
        return dict(found)

    def run_folder(self):
        folders = sorted((self.place / "runs").glob("flow-*"))
        self.assertLessEqual(len(folders), 1)
        return folders[0] if folders else None

    def begin(self):
        """Submits, or goes on with what an earlier submission has left."""
        words = ("resume", "last") if self.run_folder() else ("submit", "flow.yaml")
        return subprocess.Popen([self.program, *words], env=self.bed.environment, cwd=self.place,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                **support.ordinary_user())

    def kill_a_daemon(self):
        target = self.random.choice(DAEMONS)
        self.bed.order("kill", target)
        time.sleep(self.random.uniform(0, 0.5))
        self.bed.order("start", target)
        self.bed.ask("sinfo")

    def repair(self):
        """As an administrator does after a crash: Slurm drains nodes, holds jobs whose start it has missed, and takes
        jobs to be running whose end it has missed, until their node registers again."""
        self.undrain()
        elapsed = self.bed.client("squeue", "-h", "--states=running", "-o", "%M").stdout.split()
        if any(text >= "0:10" or len(text) > 4 for text in elapsed):
            for node in DAEMONS[1:]:
                self.bed.order("kill", node)
                self.bed.order("start", node)
        for line in self.bed.client("squeue", "-h", "-o", "%i %r").stdout.splitlines():
            if "held" in line.lower():
                self.bed.client("scontrol", "release", line.split()[0])

    def disturb(self, kills):
        """Kills until the workflow has succeeded or `kills` are done; returns how many were done."""
        for done in range(kills):
            submission = self.begin()
            if self.random.random() < 0.6:
                time.sleep(self.random.uniform(0, 0.8))
                submission.send_signal(signal.SIGKILL)
            else:
                time.sleep(self.random.uniform(0, 0.4))
                self.kill_a_daemon()
            submission.communicate(timeout=120)
            if self.run_folder() and self.phase() == "succeeded":
                return done + 1
        return kills

    def phase(self):
        done = self.slipway("status", "last", "--json", status=None)
        document = json.loads(done.stdout) if done.stdout else {"phase": "unknown"}
        self.assertIn("phase", document, f"SLIPWAY_SEED={SEED}")
        return document["phase"]

    def bring_to_an_end(self):
        deadline = time.monotonic() + PATIENCE_S
        while self.phase() != "succeeded":
            self.assertLess(time.monotonic(), deadline, self.situation())
            self.repair()
            if self.phase() in ("running", "queued"):
                self.slipway("wait", "last", "--timeout", "5s", status=None)
            self.begin().communicate(timeout=120)

    def queue_is_empty(self):
        if not self.in_the_queue():
            return True
        self.repair()
        time.sleep(1)
        return False

    def situation(self):
        jobs = self.bed.client("squeue", "-h", "--states=all", "-o", "%i %j %T %r %E").stdout
        return f"SLIPWAY_SEED={SEED}\n{self.slipway('status', 'last', status=None).stdout}\n{jobs}"

    def test_leave_one_result_of_each_step(self):
        print(f"SLIPWAY_SEED={SEED}")
        self.json("submit", "flow.yaml", "--runs-dir", self.place / "whole")
        self.slipway("wait", "last", "--timeout", "100s", "--runs-dir", self.place / "whole")
        whole = self.results("whole")
        self.assertEqual({len(results) for results in whole.values()}, {1})
        kills = 0
        while kills < KILLS:
            kills += self.disturb(KILLS - kills)
            self.bring_to_an_end()
            self.assertEqual(self.results("runs"), whole, f"SLIPWAY_SEED={SEED}")
            self.assertEqual(list((self.place / "runs").glob("*/steps/*/prepared")), [])
            self.assertEqual({len(lines) for lines in self.ends().values()}, {1}, "each step is done once")
            support.wait_for(self.queue_is_empty, 60, self.situation)
            (self.place / "runs").rename(self.place / f"runs-{kills}")
        print(f"{kills} kills")

    def ends(self):
        """Step -> the lines of its journal that say it is done."""
        found = {}
        for journal in self.run_folder().glob("steps/*/journal.jsonl"):
            lines = [json.loads(line) for line in journal.read_text().splitlines() if line]
            found[journal.parent.name] = [line for line in lines if line.get("state") == "done"]
        return found


if __name__ == "__main__":
    support.main()
