#!/usr/bin/python3
"""What the scripts of this folder accept in comm.json, reject, and call skipped."""

import unittest

import ways_taken
from ways_taken import Refused

NONE = {"direct": "", "events": ""}
NO_EVENTS = {"direct": "", "events": "CUDA says no"}
NO_PEERS = {"direct": "GPU 0 cannot reach GPU 1", "events": ""}
NAMES = ["a", "b"]


def teams(*of_each):
    return {"teams": [{"team": name, **members} for name, members in zip(NAMES, of_each)]}


def direct(waits):
    return {"way": "direct", "waits": waits}


def allreduces(ways=("staged", "direct"), **members):
    last = len(ways) - 1
    return {"gpu_allreduce": [{
        "ranks": 2, "ways": [{"up_to_bytes": None if at == last else 4096, "way": way} for at, way in enumerate(ways)],
        "measured_ms": [{"bytes": size, "staged": 1.0, "direct": 2.0} for size in (4096, 16 << 20)], **members}]}


def by_nccl(team, *ways):
    calls = [{"call": "slipway_allreduce", "way": way} for way in ways] + [{"call": "slipway_barrier", "way": "cpu"}]
    return {"teams": [{"team": "a", "way": team}], "collectives": {"groups": [{"ranks": 2, "calls": calls}]}}


class WaysTaken(unittest.TestCase):
    def rejects(self, check, *arguments):
        with self.assertRaises(AssertionError):
            check(*arguments)

    def test_gpus_are_shared(self):
        self.assertFalse(ways_taken.share([("n1", "01"), ("n1", "02"), ("n2", "01")]))
        self.assertTrue(ways_taken.share([("n1", "01"), ("n1", "02"), ("n1", "01")]))
        self.assertEqual(ways_taken.number_of([("n1", "01"), ("n1", "02"), ("n1", "01")]), "2 GPUs")
        self.assertEqual(ways_taken.number_of(["01", "01"]), "1 GPU")

    def test_teams_are_direct_and_wait_as_asked(self):
        for waits in ("cpu", "events"):
            ways_taken.require_direct(teams(direct(waits), direct(waits)), NAMES, waits, NONE)
        for other in (direct("cpu"), {"way": "direct"}, {"way": "staged"}):
            self.rejects(ways_taken.require_direct, teams(direct("events"), other), NAMES, "events", NONE)
        self.rejects(ways_taken.require_direct, teams(direct("cpu"), direct("events")), NAMES, "cpu", NO_EVENTS)
        self.rejects(ways_taken.require_direct, teams(direct("cpu")), NAMES, "cpu", NONE)  # there is no team b

    def test_what_the_machine_refuses_is_skipped(self):
        with self.assertRaisesRegex(Refused, "by events: CUDA says no"):
            ways_taken.require_direct(teams(direct("cpu"), direct("cpu")), NAMES, "events", NO_EVENTS)
        with self.assertRaisesRegex(Refused, "GPU 0 cannot reach GPU 1"):
            ways_taken.require_direct(teams(), NAMES, "cpu", NO_PEERS)
        self.rejects(ways_taken.require_direct, teams({"way": "direct"}, direct("cpu")), NAMES, "events", NO_EVENTS)

    def test_allreduces_wait_as_asked(self):
        ways_taken.require_allreduces(allreduces(waits="cpu"), 2, "cpu", NONE)
        ways_taken.require_allreduces(allreduces(waits="events"), 2, "events", NONE)
        ways_taken.require_allreduces(allreduces(["staged"]), 2, "cpu", NONE)
        for members in ({}, {"waits": "cpu"}, {"waits": "events", "ranks": 3}, {"waits": "events", "measured_ms": []}):
            self.rejects(ways_taken.require_allreduces, allreduces(**members), 2, "events", NONE)
        of_16_bits = [{"up_to_bytes": None, "way": "direct"}]
        self.rejects(ways_taken.require_allreduces, allreduces(["staged"], ways_of_16_bits=of_16_bits), 2, "events",
                     NONE)

    def test_allreduces_that_cannot_be_direct_are_skipped(self):
        with self.assertRaisesRegex(Refused, "CUDA says no"):
            ways_taken.require_allreduces(allreduces(waits="cpu"), 2, "events", NO_EVENTS)
        with self.assertRaisesRegex(Refused, "no size"):
            ways_taken.require_allreduces(allreduces(["staged"]), 2, "events", NONE)
        refused = allreduces(["staged"], without_direct="no", measured_ms=[])
        with self.assertRaisesRegex(Refused, "cannot reach"):
            ways_taken.require_allreduces(refused, 2, "cpu", NO_PEERS)
        self.rejects(ways_taken.require_allreduces, refused, 2, "cpu", NONE)

    def test_nccl_adds_up_where_each_rank_has_a_gpu(self):
        ways_taken.require_nccl(by_nccl("nccl", "staged", "nccl"), ["01", "02"])
        ways_taken.require_nccl({"teams": [{"team": "a", "way": "nccl"}]}, ["01"])
        self.rejects(ways_taken.require_nccl, by_nccl("nccl", "direct"), ["01", "02"])
        self.rejects(ways_taken.require_nccl, by_nccl("direct", "nccl"), ["01", "02"])
        self.rejects(ways_taken.require_nccl, {"teams": []}, ["01"])

    def test_nccl_adds_up_nothing_where_ranks_share_a_gpu(self):
        ways_taken.require_nccl(by_nccl("cpu", "staged", "direct"), ["01", "01"])
        self.rejects(ways_taken.require_nccl, by_nccl("cpu", "nccl"), ["01", "01"])
        self.rejects(ways_taken.require_nccl, by_nccl("cpu"), ["01", "01"])


if __name__ == "__main__":
    unittest.main()
