#!/usr/bin/python3
"""The ways in which ranks start on a real Slurm: mpirun and srun, Open MPI and MPICH; their cores and their GPUs."""

import json
import os
import shutil
import unittest

import nodes_test
import support

CORES = sorted(os.sched_getaffinity(0))
TWO_BY_TWO = {"nodes": 2, "ranks_per_node": 2}
HOSTS = ["n1", "n1", "n2", "n2"]
SAY_CORES = "grep Cpus_allowed_list /proc/self/status | cut -f 2 > cores.$RANK; echo FoM: 1"  # the metric of the spec


def cores_in(text):
    """The cores of "0-3,8"."""
    ends = [list(map(int, part.split("-"))) for part in text.split(",")]
    return [core for end in ends for core in range(end[0], end[-1] + 1)]


class Ways(nodes_test.OnNodes):
    def reasons(self, run, name):
        return [event["reason"] for event in self.events(run, name)]

    def carried_out(self, **options):
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "120s", **options)
        return run

    def world(self, variable):
        """A program that prints its MPI world; skips the test where it was not built."""
        if variable not in os.environ:
            self.skipTest("this build has no such MPI")
        return shutil.copy(os.environ[variable], self.place / "world")

    def expect_world(self, hosts):
        said = self.slipway("logs", "--rank", "0").stdout
        for rank, host in enumerate(hosts):
            self.assertIn(f"{rank} {len(hosts)} {host}", said)


@unittest.skipIf(len(CORES) < 2, "one core")
class Cores(Ways):
    """The nodes claim twice the cores that there are."""
    OPTIONS = ("--nodes", "2", "--mode", "namespaces", "--cpus", str(2 * len(CORES)))
    HALF = len(CORES) // 2

    def expect_halves(self, node_count):
        found = [cores_in(text) for text in self.texts("cores.*").values()]
        self.assertEqual(len(found), 2 * node_count)
        for first, second in zip(found[::2], found[1::2]):
            self.assertEqual((len(first), len(second)), (self.HALF, self.HALF))
            self.assertFalse(set(first) & set(second))
            self.assertLessEqual(set(first + second), set(CORES))

    def test_of_a_node_are_shared_out_to_its_ranks(self):
        self.write(SAY_CORES, cpus_per_rank=self.HALF, **TWO_BY_TWO)
        run = self.carried_out()
        self.expect_halves(2)
        self.assertEqual(self.events(run, "warning"), [])

    def test_are_the_same_when_srun_starts_the_ranks(self):
        self.write(SAY_CORES, {"start": "pmix"}, cpus_per_rank=self.HALF, **TWO_BY_TWO)
        self.carried_out()
        self.expect_halves(2)

    def test_are_shared_out_on_a_lone_node_too(self):
        for start in ("mpirun", "pmix"):
            self.write(SAY_CORES, {"start": start}, cpus_per_rank=self.HALF, ranks_per_node=2)
            self.carried_out()
            self.expect_halves(1)

    def test_too_few_for_the_ranks_are_used_by_all_and_the_run_says_so(self):
        ranks = len(CORES) + 1
        self.write(SAY_CORES, nodes=2, ranks_per_node=ranks)
        run = self.carried_out()
        self.assertEqual([cores_in(text) for text in self.texts("cores.*").values()], [CORES] * (2 * ranks))
        self.assertEqual(self.reasons(run, "warning"),
                         [f"ranks are not bound to cores: {ranks} ranks share the {len(CORES)} cores of n1 "
                          "(and so on 2 of 2 nodes)"])

    def test_are_left_to_the_system_where_the_user_says_so(self):
        self.write(SAY_CORES, cpus_per_rank=self.HALF, bind="none", **TWO_BY_TWO)
        self.carried_out()
        self.assertEqual([cores_in(text) for text in self.texts("cores.*").values()], [CORES] * 4)


@unittest.skipIf(len(CORES) < 2 or len(CORES) < os.cpu_count(), "one core, or not all of them")
class CoresWhereSlurmBindsTasksItself(Cores):
    OPTIONS = ("--nodes", "2", "--mode", "namespaces", "--cpus", str(len(CORES)), "--conf", "TaskPlugin=task/affinity")
    test_too_few_for_the_ranks_are_used_by_all_and_the_run_says_so = None  # Slurm would not take such a job


class WithPmix:
    """What holds for ranks that mpirun starts holds for those of `srun --mpi=pmix`."""

    def write(self, command, slurm=None, ensemble=None, **launch):
        super().write(command, {"start": "pmix", **(slurm or {})}, ensemble, **launch)


class RanksByPmix(WithPmix, nodes_test.Ranks):
    pass


class LostNodeByPmix(WithPmix, nodes_test.LostNode):
    test_its_trials_run_again_on_other_nodes = None  # are started without srun


class BySrun(Ways):
    def test_trials_of_several_nodes_start(self):
        self.write("echo $WORLD_SIZE > \"size.$1.$RANK\"; echo FoM: \"$1\"", {"start": "pmix"}, nodes=2, ranks_per_node=2,
                   ensemble={"objective": {"metric": "objective", "goal": "maximize"}, "trials": 2, "nodes_per_trial": 2,
                             "sampler": "grid", "space": {"x": {"int": [1, 2]}}})
        self.change(resilience={"max_restarts": 1})  # of a start that fails
        self.carried_out()
        self.assertEqual(len(list(self.place.glob("size.*"))), 8)

    def test_start_that_fails_is_made_once_more_and_named(self):
        srun = self.place / "bin" / "srun"
        srun.parent.mkdir()
        srun.write_text("#!/bin/sh\ncase \"$*\" in *slipway-ranks*) mkdir "
                        f"{self.place}/failed && {{ echo no luck; exit 1; }};; esac\nexec {shutil.which('srun')} \"$@\"\n")
        srun.chmod(0o755)
        self.write("echo $WORLD_SIZE > size.$RANK", {"start": "pmix"},
                   env={"PATH": f"{srun.parent}:{os.environ['PATH']}"}, **TWO_BY_TWO)
        self.change(resilience={"max_restarts": 0})
        run = self.carried_out()
        self.assertEqual(set(self.texts("size.*").values()), {"4"})
        (reason,) = self.reasons(run, "restarting")
        self.assertIn("only 0 of 4 ranks started", reason)
        self.assertIn("srun --mpi=pmix said:\nno luck", reason)

    def test_rank_that_crashes_while_mpi_starts_is_started_once_more(self):
        command = "[ $SLIPWAY_ATTEMPT = 1 ] && [ $RANK = 2 ] && kill -SEGV $$; [ $SLIPWAY_ATTEMPT = 2 ] || sleep 60"
        self.write(command, {"start": "pmix"}, **TWO_BY_TWO)
        self.change(resilience={"max_restarts": 0})
        run = self.carried_out()
        self.assertIn("rank 2 on n2 ended with signal 11", self.reasons(run, "restarting")[0])

    def test_mpi_that_the_interface_does_not_reach_is_found_before_anything_runs(self):
        self.write("touch ran", {"start": "pmix"}, mpi="mpich", **TWO_BY_TWO)
        run = self.submit()["run"]
        self.slipway("wait", "--timeout", "200s", status=1)
        reason = self.status()["reason"]
        self.assertIn("srun --mpi=pmix does not reach this MPICH", reason)
        self.assertIn("launch.slurm.start: pmi2", self.slipway("status", status=None).stdout)
        self.assertFalse((self.place / "ran").exists())
        self.nothing_is_left(run)


class Told(Ways):
    def plan(self, *words, **variables):
        return json.loads(self.slipway("plan", "exp.yaml", "--json", *words, **variables).stdout)

    def test_plan_says_what_starts_the_ranks_and_why(self):
        self.write("true", **TWO_BY_TWO)
        self.assertEqual(self.plan()["start"], {"way": "mpirun", "mpi": "openmpi", "reason": "mpirun is there"})
        shown = self.slipway("plan", "exp.yaml").stdout
        self.assertIn("  by  mpirun, for Open MPI: mpirun is there\n  on  cores of its own for each rank, "
                      "if no other job can use them\n", shown)
        self.assertEqual(self.plan("--set", "launch.slurm.start=pmi2")["start"],
                         {"way": "srun --mpi=pmi2", "mpi": "mpich", "reason": "launch.slurm.start asks for it"})
        self.assertEqual(self.plan("--set", "launch.slurm.start=pmix_v4")["start"]["way"], "srun --mpi=pmix_v4")
        refused = self.slipway("plan", "exp.yaml", "--set", "launch.slurm.start=pmxi", status=3)
        self.assertIn("srun has no MPI interface 'pmxi'", refused.stderr)
        self.assertRegex(refused.stderr, "one of: .*pmi2")
        without = self.place / "bin"  # everything that the plan needs, but no mpirun
        without.mkdir()
        (without / "srun").symlink_to(shutil.which("srun"))
        (without / "sh").symlink_to(shutil.which("sh"))
        self.assertEqual(self.plan(PATH=str(without))["start"],
                         {"way": "srun --mpi=pmix", "mpi": "openmpi",
                          "reason": "there is no mpirun, and srun offers pmix"})

    def test_site_chooses_for_all_experiments(self):
        self.write("true", **TWO_BY_TWO)
        spec = json.loads((self.place / "exp.yaml").read_text())
        del spec["launch"]["slurm"]
        (self.place / "exp.yaml").write_text(json.dumps(spec))
        (self.place / "slipway.yaml").write_text("launch: {slurm: {start: pmix}}\n")
        self.assertEqual(self.plan()["start"]["way"], "srun --mpi=pmix")

    def test_plan_shows_that_ranks_meet_on_the_first_node(self):
        self.write("true", **TWO_BY_TWO)
        self.assertEqual(self.plan()["environment"]["MASTER_ADDR"], "<node 1>")
        self.assertEqual(self.plan("--set", "launch.nodes=1")["environment"]["MASTER_ADDR"], "127.0.0.1")

    def test_doctor_says_what_would_start_them(self):
        self.write("true", {"start": "pmi2"}, **TWO_BY_TWO)
        done = json.loads(self.slipway("doctor", "exp.yaml", "--json", status=None).stdout)
        findings = {check["check"]: check["findings"] for check in done["checks"]}
        self.assertEqual(findings["ranks"][0]["grade"], "ok")
        self.assertIn("srun --mpi=pmi2, for MPICH: launch.slurm.start asks for it", findings["ranks"][0]["text"])


class Mpich(Ways):
    """On plain nodes, which share the machine's memory and name: MPICH over the network of nodes in namespaces may hang
    in its end (Debian 12)."""
    OPTIONS = ("--nodes", "2", "--mode", "plain", "--gpus", "2")
    OWNER = support.ordinary_user()

    def run_world(self, **slurm):
        world = self.world("SLIPWAY_TEST_WORLD_MPICH")
        self.write(f"echo $SLURMD_NODENAME > node.$RANK; exec {world}", slurm, mpi="mpich", **TWO_BY_TWO)
        self.carried_out()
        self.assertEqual(list(self.texts("node.*").values()), HOSTS)
        self.expect_world([os.uname().nodename] * 4)

    def test_by_its_mpirun(self):
        self.run_world()

    def test_its_mpirun_leaves_each_rank_its_own_gpu(self):
        self.write("echo $CUDA_VISIBLE_DEVICES > gpus.$RANK", mpi="mpich", gpus_per_rank=1, **TWO_BY_TWO)
        self.carried_out()
        self.assertEqual(list(self.texts("gpus.*").values()), ["0", "1"] * 2)

    def test_by_srun_with_pmi2(self):
        self.run_world(start="pmi2")


class Gpus(Ways):
    OPTIONS = ("--nodes", "2", "--mode", "namespaces", "--gpus", "4")
    SAY = "echo $CUDA_VISIBLE_DEVICES > gpus.$RANK"

    def test_each_rank_sees_its_own(self):
        for start in ("mpirun", "pmix"):
            self.write(self.SAY, {"start": start}, gpus_per_rank=2, **TWO_BY_TWO)
            self.carried_out()
            self.assertEqual(list(self.texts("gpus.*").values()), ["0,1", "2,3"] * 2, start)

    def test_all_are_seen_by_all_where_the_user_says_so(self):
        self.write(self.SAY, gpus_per_rank=1, bind="none", **TWO_BY_TWO)
        self.carried_out()
        self.assertEqual(set(self.texts("gpus.*").values()), {"0,1"})


if __name__ == "__main__":
    support.main()
