#!/usr/bin/python3
"""The batch script that `slipway plan` shows, submitted: what a real Slurm takes from it, and its burst-buffer plugins."""

import json
import os
import subprocess

import support

SLIPWAY = os.environ["SLIPWAY_TEST_PROGRAM"]
VALUE = "it's $HOME #1\n100% \\ \"two lines\""
FILES = {"a b.tfrecord": b"\0\1\2" * 100_000, "c.tfrecord": b"x"}


class BatchScript(support.TestWithBed):
    def submit(self, runs, slurm, tier, body):
        """Runs `body` in place of the manager, in a run folder below `runs`; returns the job's id and its log."""
        folder = self.bed.shared / runs / "small-1"
        folder.mkdir(parents=True)
        folder.chmod(0o777)
        lists, script = self.plan(folder.parent, slurm, tier)
        for name, content in lists.items():
            (folder / name).write_text(content)
        (folder / "job.sh").write_text(script[:script.rindex("exec ")] + body)
        done = self.bed.client("sbatch", "--parsable", folder / "job.sh")
        self.assertEqual(done.returncode, 0, done.stderr + script)
        job = done.stdout.strip()
        state = self.bed.wait_for_end(job)
        log = (folder / "manager.log").read_text()
        self.assertEqual(state, "COMPLETED", log)
        return job, log

    def plan(self, runs, slurm, tier):
        """The lists of files beside the script, and the script."""
        data = self.bed.shared / "data"
        data.mkdir(exist_ok=True)
        for name, content in FILES.items():
            (data / name).write_bytes(content)
        spec = {"name": "small", "data": {"train": {"source": f"{data}/*.tfrecord", "tier": tier}},
                "launch": {"engine": "slurm", "nodes": 2, "ranks_per_node": 2, "memory_per_rank": "64MiB",
                           "time_limit": "9m30s", "env": {"VALUE": VALUE}, "slurm": slurm},
                "train": {"command": ["/bin/true"]}}
        file = self.bed.shared / "exp.yaml"
        file.write_text(json.dumps(spec))
        shown = subprocess.run([SLIPWAY, "plan", file, "--json", "--runs-dir", runs], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        script = json.loads(shown.stdout)["script"].replace("<time>-<id>", "1")
        return {"stage-in-train.list": "".join(f"{data}/{name}\n" for name in FILES)}, script


class Options(BatchScript):
    def test_slurm_takes_every_option_and_program_every_character(self):
        runs = "it's 50%j #1 $HOME"
        slurm = {"account": "physics", "partition": "debug", "licenses": "software:1", "constraint": "left",
                 "requeue": False, "extra": ["--exclude=n4", "--nice=3"]}
        job, log = self.submit(runs, slurm, "none", 'printf "%s|" "$VALUE" "$PWD" "$SLURM_NTASKS"')
        self.assertEqual(log, f"{VALUE}|{self.bed.shared}/{runs}/small-1|4|")
        shown = self.bed.client("scontrol", "show", "job", job).stdout
        for text in ("JobName=small", "Comment=slipway:small-1", "Account=physics", "Licenses=software:1", "Features=left",
                     "ExcNodeList=n4", "Nice=3", "NumNodes=2", "NumTasks=4", "MinMemoryNode=128M", "TimeLimit=00:10:00",
                     "Requeue=0"):
            self.assertIn(text, shown)


class Buffer:
    """A dataset with odd names comes in by directives, a folder goes out."""

    def test_the_directives_move_what_the_plan_says(self):
        out = self.bed.shared / "out"
        buffer = {"type": self.TYPE, "pool": "pool", "capacity": "32MiB", "stage_out": {"plots": str(out)}}
        body = 'cd "$SLIPWAY_STAGED_IN"; sha256sum train/*; cp train/c.tfrecord ../plots/result'
        _, log = self.submit("r50%u", {"burst_buffer": buffer}, "burst", body)
        for name in FILES:
            self.assertIn(f"train/{name}", log)
        sums = subprocess.run(["sha256sum", *FILES], cwd=self.bed.shared / "data", capture_output=True, text=True).stdout
        self.assertEqual([line.split()[0] for line in log.splitlines()], [line.split()[0] for line in sums.splitlines()])
        support.wait_for((out / "result").exists, 60, "the stage-out")


class DataWarp(Buffer, BatchScript):
    OPTIONS = ("--burst-buffer", "datawarp")
    TYPE = "datawarp"

    def test_a_persistent_buffer_is_made_used_and_removed(self):
        show = 'ls "$SLIPWAY_STAGED_IN/train"'
        for action, tier, body in (("create", "burst", show), ("use", "burst", show), ("destroy", "none", "true")):
            buffer = {"type": "datawarp", "pool": "pool", "capacity": "32MiB", "persistent": "cosmo", "action": action}
            _, log = self.submit(action, {"burst_buffer": buffer}, tier, body)
            self.assertEqual(sorted(log.splitlines()), sorted(FILES) if tier == "burst" else [])
        self.assertNotIn("cosmo", self.bed.client("scontrol", "show", "burst").stdout)


class Lua(Buffer, BatchScript):
    OPTIONS = ("--burst-buffer", "lua")
    TYPE = "lua"


if __name__ == "__main__":
    support.main()
