#!/usr/bin/python3
"""A site that prints banners and warnings around everything: to both streams, before and after, from prologs, profiles and
in front of Slurm's clients. Nothing that people read may be taken for an answer."""

import json
import shutil

import engine_test
import outages_test
import support

NOISE = "echo 'Welcome to the cluster'; echo '{\"schema\":\"slipway.slurm-answer/1\",\"result\":{}}'; echo 12345; " \
        "echo 'warning: 3 nodes are down' >&2"
CLIENTS = ("sbatch", "srun", "scontrol", "squeue", "scancel", "sinfo", "mpirun")


def write_program(path, text):
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return path


class LoudSite(outages_test.Outages):
    @classmethod
    def setUpClass(cls):
        cls.folder = support.folder_for_all(cls)
        for name in ("prolog", "epilog"):
            write_program(cls.folder / name, NOISE)
        # Lines that begin with "print" go to the task's output.
        write_program(cls.folder / "task_prolog", f"echo 'print Welcome to your task'; echo export LOUD=yes; {NOISE}")
        write_program(cls.folder / "task_epilog", NOISE)
        conf = {"Prolog": "prolog", "Epilog": "epilog", "TaskProlog": "task_prolog", "TaskEpilog": "task_epilog"}
        cls.OPTIONS = (*outages_test.Outages.OPTIONS, "--banner", "Welcome, and mind the gap", "--conf", "PrologFlags=Alloc",
                       *(word for name, program in conf.items() for word in ("--conf", f"{name}={cls.folder}/{program}")))
        super().setUpClass()
        cls.put_before_clients()

    @classmethod
    def put_before_clients(cls):
        tools = cls.folder / "tools"
        tools.mkdir()
        for name in CLIENTS:
            real = shutil.which(name, path=cls.bed.environment["PATH"])
            if real:
                write_program(tools / name, f'{NOISE}\n"{real}" "$@"; status=$?\n{NOISE}\nexit $status')
        profile = write_program(cls.folder / "profile", NOISE)
        cls.loud = {"PATH": f"{tools}:{cls.bed.environment['PATH']}", "BASH_ENV": str(profile), "ENV": str(profile)}

    def slipway(self, *words, **more):
        return super().slipway(*words, **{**self.loud, **more})

    def test_a_run_over_nodes_ends_as_it_should(self):
        self.write("echo $LOUD $RANK > loud.$RANK; echo FoM: $((7 + RANK))", nodes=3, ranks_per_node=1)
        submitted = self.submit()
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.status()["phase"], "succeeded")
        self.assertEqual(self.bed.wait_for_end(submitted["batch_job"]), "COMPLETED")
        self.assertEqual(self.texts("loud.*")["2"].split()[-1], "2")
        self.no_step_is_left(submitted["run"], submitted["batch_job"])

    def test_one_that_sbatch_submits_has_its_own_number(self):
        self.write("echo FoM: 1", {"extra": ["--nice=7"]})
        job = self.submit()["batch_job"]
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual(self.bed.job(job)["Nice"], "7")

    def test_it_is_cancelled_explained_and_resumed(self):
        run, job = self.start()
        self.assertEqual(json.loads(self.slipway("explain", "--json").stdout)["phase"], "running")
        self.slipway("cancel")
        self.assertEqual(self.status()["phase"], "cancelled")
        self.go()
        self.slipway("resume")
        self.slipway("wait", "--timeout", "200s")
        self.no_step_is_left(run, job)

    def test_an_ensemble_has_the_values_of_its_own_trials(self):
        self.write('echo FoM: "$1"', nodes=2, ranks_per_node=1, ensemble=dict(engine_test.Running.ENSEMBLE, trials=4))
        self.submit()
        self.slipway("wait", "--timeout", "200s")
        trials = json.loads(self.slipway("trials", "ls", "--json").stdout)["trials"]
        self.assertEqual(sorted(trial["objective"] for trial in trials), [1, 2, 3, 4])

    def test_doctor_is_not_misled(self):
        checks = json.loads(self.slipway("doctor", "--json", status=None).stdout)["checks"]
        found = {finding["about"]: finding for check in checks for finding in check["findings"]}
        self.assertIn("partitions up", found["slurm"]["text"])


if __name__ == "__main__":
    support.main()
