#!/usr/bin/python3
"""Ranks that hang in a run over several nodes of a real Slurm: the one at fault is named, with its node."""

import json
import os
import shutil
import signal

import nodes_test
import support


class Hanging(nodes_test.OnNodes):
    def run_program(self, fault, built="SLIPWAY_TEST_FAULTS", **launch):
        """A program in which rank 2 misbehaves, after five steps or before the first."""
        program = shutil.copy(os.environ[built], self.place / "program")
        self.write(f"exec {program} {fault}", env=support.OPEN_MPI, **launch)
        return self.submit()["run"]

    def processes_of(self, rank):
        def is_of(process):
            try:
                with open(f"/proc/{process}/environ", "rb") as file:
                    return f"RANK={rank}".encode() in file.read().split(b"\0")
            except OSError:
                return False
        return [process for process in self.processes(str(self.place / "program")) if is_of(process)]

    def named(self, run, *words):
        """The message in all places where it must be, which holds these words."""
        self.slipway("wait", "--timeout", "200s", status=1)
        reason = self.status()["reason"]
        for word in words:
            self.assertIn(word, reason)
        folder = self.place / "runs" / run
        report = json.loads((folder / "attempt-1" / "watch.json").read_text())
        self.assertEqual(report["message"], reason)
        self.assertEqual([event["message"] for event in self.events(run, "watch")], [reason])
        self.assertIn(reason, self.slipway("status", status=None).stdout)
        self.assertIn(reason, self.slipway("explain").stdout)
        logs = "".join(path.read_text() for path in (folder / "attempt-1").glob("rank-*.log"))
        self.assertIn(reason, logs)  # of whoever had the word first
        self.nothing_is_left(run)
        return report


class OneRank(Hanging):
    def test_stopped_rank_alone_on_its_node_is_named(self):
        report = self.named(self.run_program("stopped", nodes=3), "waited ", "rank 2 on host n3 (process ",
                            "is stopped (SIGSTOP), last completed slipway_allreduce at step 5")
        self.assertEqual((report["kind"], report["ranks"][0]["rank"], report["ranks"][0]["host"]), ("stalled", 2, "n3"))
        self.assertEqual((report["ranks"][0]["state"], report["ranks"][0]["step"]), ("stopped", 5))

    def test_rank_that_computes_for_ever_is_named(self):
        self.named(self.run_program("busy", nodes=3), "the exchange of gradients of team 'net'", "rank 2 on host n3",
                   "is outside of Slipway, last completed slipway_allreduce at step 5")

    def test_rank_that_does_not_begin_is_named(self):
        self.named(self.run_program("", "SLIPWAY_TEST_ABSENT", nodes=3), " s for slipway_init: ",
                   "rank 2 on host n3 has not called slipway_init")

    def test_rank_in_another_call_is_named(self):
        self.named(self.run_program("'other call'", nodes=3), "rank 2 on host n3", "is in slipway_barrier")

    def test_stopped_rank_beside_others_is_named(self):
        self.named(self.run_program("stopped", nodes=2, ranks_per_node=2), "rank 2 on host n2", "is stopped (SIGSTOP)")


class EarlyReturn(Hanging):
    """The program's `stall_after` is two minutes, and its end is waited for in less."""

    def ends_soon(self, fault, *words, **launch):
        run = self.run_program(fault, **launch)
        report = self.named(run, "waited ", *words)
        self.assertEqual([rank["rank"] for rank in report["ranks"]], [2])

    def test_of_a_rank_alone_on_its_node_is_named(self):
        self.ends_soon("early", "rank 2 on host n3 (process ", "waits in slipway_finalize, last completed", "at step 5",
                       nodes=3)

    def test_of_a_rank_beside_others_is_named(self):
        self.ends_soon("early", "rank 2 on host n2", "waits in slipway_finalize", nodes=2, ranks_per_node=2)


class Start(Hanging):
    """MPI begins when all ranks have come to MPI_Init; rank 2 sleeps before that, in the attempts that are named."""

    def start(self, attempts):
        program = shutil.copy(os.environ["SLIPWAY_TEST_FAULTS"], self.place / "program")
        late = f"case {attempts} in *$SLIPWAY_ATTEMPT*) [ $RANK = 2 ] && sleep 300;; esac"
        self.write(f"{late}; exec {program} whole", env=support.OPEN_MPI, nodes=3)
        self.change(resilience={"max_restarts": 0})
        return self.submit()["run"]

    def test_is_made_once_more(self):
        run = self.start("1")
        self.slipway("wait", "--timeout", "200s")
        self.assertEqual((self.status()["phase"], self.status()["attempt"]), ("succeeded", 2))
        (found,) = self.events(run, "watch")
        self.assertEqual(found["kind"], "start")
        self.assertIn("rank 2 on host n3 has not called slipway_init", found["message"])
        self.nothing_is_left(run)

    def test_that_fails_twice_fails_and_names_who_never_came(self):
        run = self.start("12")
        self.slipway("wait", "--timeout", "200s", status=1)
        self.assertIn("rank 2 on host n3 has not called slipway_init", self.status()["reason"])
        self.assertEqual([event["attempt"] for event in self.events(run, "watch")], [1, 2])
        self.nothing_is_left(run)


class Frozen(Hanging):
    def test_all_ranks_of_a_node_are_named(self):
        run = self.run_program("endless", nodes=2, ranks_per_node=2)
        self.until_trained(4)
        for rank in (2, 3):
            for process in self.processes_of(rank):
                os.kill(process, signal.SIGSTOP)
        report = self.named(run, "waited ", "rank 2 on host n2", "rank 3 on host n2", "is stopped (SIGSTOP)")
        self.assertEqual([rank["rank"] for rank in report["ranks"]], [2, 3])

    def test_node_with_all_that_runs_on_it_is_lost(self):
        run = self.run_program("endless", slurm={"requeue": False}, nodes=2, ranks_per_node=1)
        self.until_trained(2)
        (rank,) = self.processes_of(1)
        frozen = [int(process) for process in os.listdir("/proc") if process.isdigit() and
                  self.node_of(process) == self.node_of(rank)]
        try:
            for process in frozen:
                os.kill(process, signal.SIGSTOP)
            self.lost_before_slurm_knows(run, "n2")
        finally:
            for process in frozen:
                os.kill(process, signal.SIGCONT)
        self.slipway("wait", "--timeout", "200s", status=1)
        reason = self.status()["reason"]
        self.assertRegex(reason, r"node n2 is lost: no sign of life of its agent for \d+ s, though its kernel answers")
        warnings = [event["reason"] for event in self.events(run, "warning")]
        self.assertIn("the agent of node n2 has been silent for ", "\n".join(warnings))

    def node_of(self, process):
        try:
            return os.readlink(f"/proc/{process}/ns/pid")
        except OSError:
            return None

    def until_trained(self, ranks):
        """The program makes a file for each rank that has done five steps."""
        support.wait_for(lambda: len(self.texts("trained.*")) == ranks, 60, "training")


if __name__ == "__main__":
    support.main()
