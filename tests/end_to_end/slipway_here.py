"""The real program in a folder of a test, for tests in Python."""

import json
import os
import pathlib
import subprocess
import sys

PROGRAM = os.environ["SLIPWAY_PROGRAM"]


class Place:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.runs = self.folder / "runs"
        self.environment = {**os.environ, "SLIPWAY_RUNS": str(self.runs),
                            "XDG_CONFIG_HOME": str(self.folder / "config"),
                            "SLIPWAY_GPU_LOCKS": str(self.folder / "gpu-locks")}

    def program(self, text, name="train.py"):
        """A training program: `report(step, **metrics)` writes a line of metrics."""
        begin = ("import json, os, sys, time\n"
                 "def report(step, **metrics):\n"
                 "    with open(os.environ['SLIPWAY_METRICS'], 'a') as file:\n"
                 "        print(json.dumps({'time': time.time(), 'step': step, 'metrics': metrics}), file=file)\n")
        (self.folder / name).write_text(begin + text)

    def spec(self, more="", name="small", args=None, command=None):
        words = json.dumps(command or [sys.executable, str(self.folder / "train.py")])
        (self.folder / "spec.yaml").write_text(
            f"name: {name}\ntrain:\n  command: {words}\n  args: {json.dumps(args or {})}\n{more}\n")

    def start(self, *words, **options):
        return subprocess.Popen([PROGRAM, *words], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def slipway(self, *words, status=0):
        process = self.start(*words)
        out, err = process.communicate(timeout=120)
        assert process.returncode == status, f"{words}: {process.returncode}\n{out}\n{err}"
        self.said = err
        return out

    def json(self, *words, status=0):
        return json.loads(self.slipway(*words, "--json", status=status))

    def run(self):
        """The only run's folder."""
        folder, = self.runs.iterdir()
        return folder

    def events(self, name):
        lines = (json.loads(line) for line in (self.run() / "events.jsonl").read_text().splitlines())
        return [line for line in lines if line["event"] == name]
