#!/usr/bin/python3
"""Burst buffers of the bed, by Slurm's real plugins: what is staged, kept, removed and refused."""

import hashlib
import os
import unittest

import support

FILES = {"a.bin": b"\0\1\2" * 100_000, "deep/er/b.txt": b"of the second level\n", "name with blanks": b"x"}


def tree(folder):
    """{path below the folder: digest of the content} of all files."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*") if path.is_file()}


class WithBuffers(support.TestWithBed):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = cls.bed.shared / "data"
        for name, content in FILES.items():
            (cls.data / name).parent.mkdir(parents=True, exist_ok=True)
            (cls.data / name).write_bytes(content)

    def run_job(self, directives, body, *options):
        """Runs a job with directives at the top of its script; returns its id and final state."""
        job = self.bed.submit("\n".join(["#!/bin/bash", *directives, "set -e", body, ""]), *options)
        return job, self.bed.wait_for_end(job)

    def refusal(self, *directives):
        done = self.bed.client("sbatch", stdin="\n".join(["#!/bin/bash", *directives, "true", ""]))
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def buffers(self):
        return sorted(path.name for path in (self.bed.state / "buffers").iterdir() if path.is_dir())

    def wait_until_gone(self, token):
        support.wait_for(lambda: token not in self.buffers(), 60, f"the removal of buffer {token}")

    def cancel_held(self, job):
        """In this order: burst_buffer/lua of 22.05 forgets the buffer of a job cancelled just before its teardown."""
        self.wait_until_gone(job)
        self.bed.client("scancel", job)

    def held_with(self, job, text):
        """Waits until a job that could not be staged in is held for this reason."""
        def is_held():
            shown = self.bed.client("scontrol", "show", "job", job).stdout
            return shown if "Priority=0 " in shown and text in shown.replace("_", " ") else None
        return support.wait_for(is_held, 60, f"job {job} held with {text}")


class Job:
    """A job's own buffer, in the words of either plugin."""

    def stages(self, folder="data", results="results"):
        return self.directives("32MiB", self.bed.shared / folder, self.bed.shared / results)

    def test_data_is_staged_in_seen_on_all_nodes_staged_out_and_removed(self):
        body = (f'echo "${self.VARIABLE}"; cp -r "${self.VARIABLE}/in" "${self.VARIABLE}/out"\n'
                f'srun --overlap -N2 sh -c \'cat "${self.VARIABLE}/in/deep/er/b.txt"\'\n'
                f'echo more >"${self.VARIABLE}/out/more"')
        job, state = self.run_job(self.stages(), body, "--nodes=2")
        output = self.bed.output_of(job)
        self.assertEqual(state, "COMPLETED", output)
        self.assertTrue(output.startswith(f"{self.bed.state}/buffers/{job}/"), output)
        self.assertEqual(output.count("of the second level"), 2)
        results = tree(self.bed.shared / "results")
        results.pop("more")
        self.assertEqual(results, tree(self.data))
        self.wait_until_gone(job)

    def test_a_job_whose_data_is_missing_is_held_with_the_reason(self):
        job = self.bed.submit("\n".join(["#!/bin/bash", *self.stages(folder="absent"), ""]))
        self.held_with(job, "absent: No such file or directory")
        self.cancel_held(job)

    def test_data_that_exceeds_the_capacity_is_not_staged(self):
        large = self.bed.shared / "large"
        large.mkdir()
        with open(large / "file", "wb") as file:
            file.truncate(33 << 20)
        job = self.bed.submit("\n".join(["#!/bin/bash", *self.stages(folder="large"), ""]))
        self.held_with(job, "34603008 bytes into a buffer with 33554432 bytes free")
        self.cancel_held(job)

    @unittest.skipIf(os.geteuid() != 0, "needs two users")
    def test_nobody_stages_what_they_may_not_read(self):
        secret = self.bed.shared / "secret"
        secret.mkdir(mode=0o700)
        job = self.bed.submit("\n".join(["#!/bin/bash", *self.stages(folder="secret/file"), ""]))
        self.held_with(job, "Permission denied")
        self.cancel_held(job)

    def test_mistakes_are_refused_at_submission(self):
        outside = str(self.bed.shared / "results")
        for directives, reason in (
                (self.directives("32MiB", self.data, "relative"), "absolute"),
                (self.directives("32MiB", self.data, outside, variable="HOME"), "no buffer of this job"),
                (self.directives("32MiB", self.data, outside, inside="../../etc"), "without .."),
                ([*self.stages(), f"{self.MARK} stage_on source=/a destination=/b"], "unknown command stage_on")):
            self.assertIn(reason, self.refusal(*directives))


class DataWarp(Job, WithBuffers):
    OPTIONS = ("--nodes", "2", "--burst-buffer", "datawarp")
    MARK, VARIABLE = "#DW", "DW_JOB_STRIPED"

    def directives(self, capacity, source, destination, variable=VARIABLE, inside="in"):
        return [f"#DW jobdw capacity={capacity} access_mode=striped type=scratch",
                f"#DW stage_in type=directory source={source} destination=${variable}/{inside}",
                f"#DW stage_out type=directory source=$DW_JOB_STRIPED/out destination={destination}"]

    def test_a_persistent_buffer_outlives_its_jobs(self):
        state = self.run_job(["#BB create_persistent name=train capacity=32MiB access=striped type=scratch"], "true")[1]
        self.assertEqual(state, "COMPLETED")
        self.assertIn("train", self.buffers())
        variable = "DW_PERSISTENT_STRIPED_train"
        use = ["#DW persistentdw name=train",
               f"#DW stage_in type=file source={self.data}/a.bin destination=${variable}/a.bin"]
        job, state = self.run_job(use, f'cp "${variable}/a.bin" copied; touch "${variable}/mark"')
        self.assertEqual(state, "COMPLETED", self.bed.output_of(job))
        self.assertEqual((self.bed.shared / "copied").read_bytes(), FILES["a.bin"])
        job, state = self.run_job(["#DW persistentdw name=train"], f'ls "${variable}"')
        self.assertEqual(self.bed.output_of(job).split(), ["a.bin", "mark"])
        self.assertIn("train", self.buffers())
        self.run_job(["#BB destroy_persistent name=train"], "true")
        self.wait_until_gone("train")

    def test_a_list_of_files_is_staged_flat(self):
        listed = self.bed.shared / "list"
        listed.write_text(f"{self.data}/a.bin\n{self.data}/deep/er/b.txt\n")
        job, state = self.run_job(["#DW jobdw capacity=32MiB access_mode=striped type=scratch",
                                   f"#DW stage_in type=list source={listed} \\",
                                   "#DW destination=$DW_JOB_STRIPED/flat"],
                                  'ls "$DW_JOB_STRIPED/flat"')
        self.assertEqual((state, self.bed.output_of(job).split()), ("COMPLETED", ["a.bin", "b.txt"]))
        self.wait_until_gone(job)

    def test_the_pool_is_shown_and_its_size_is_a_limit(self):
        self.assertIn("TotalSpace=1GiB", self.bed.client("scontrol", "show", "burst").stdout)
        self.assertIn("pool pool: 1073741824 bytes", self.bed.client("scontrol", "show", "dwstat").stdout)
        job = self.bed.submit("#!/bin/sh\n#DW jobdw capacity=2GiB access_mode=striped type=scratch\n")
        waits = "BurstBufferResources"  # for ever: Slurm does not look whether it can ever be
        support.wait_for(lambda: self.bed.job(job).get("Reason") == waits, 60, f"job {job} waiting for {waits}")
        self.cancel_held(job)

    def test_without_a_capacity_the_plugin_refuses(self):
        self.assertIn("Burst Buffer request invalid", self.refusal("#DW jobdw access_mode=striped type=scratch"))


class Lua(Job, WithBuffers):
    OPTIONS = ("--nodes", "2", "--burst-buffer", "lua")
    MARK, VARIABLE = "#BB_LUA", "BB_JOB_STRIPED"

    def directives(self, capacity, source, destination, variable=VARIABLE, inside="in"):
        return [f"#BB_LUA pool=pool capacity={capacity}",
                f"#BB_LUA stage_in source={source} destination=${variable}/{inside}",
                f"#BB_LUA stage_out source=$BB_JOB_STRIPED/out destination={destination}"]

    def test_a_held_job_runs_when_its_data_is_there_and_it_is_released(self):
        job = self.bed.submit("\n".join(["#!/bin/bash", *self.stages(folder="late"), "touch ran", ""]))
        self.held_with(job, "late: No such file or directory")
        self.wait_until_gone(job)
        (self.bed.shared / "late").symlink_to(self.data)
        self.bed.administrate("scontrol", "release", job)  # the user is not allowed to
        self.bed.wait_for_end(job)
        self.assertTrue((self.bed.shared / "ran").exists())


if __name__ == "__main__":
    support.main()
