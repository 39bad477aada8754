"""The training bench: its arithmetic, and that it measures what it says. How fast anything is, no test judges."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "bench/training"))

import measured  # noqa: E402
import sides  # noqa: E402


def test_sides_take_turns_forwards_and_backwards():
    order = []
    measured.in_turns({side: lambda side=side: order.append(side) for side in "abc"}, 3)
    assert "".join(order) == "abccbaabc"


def test_a_goal_is_reached_at_its_limit_and_a_plain_figure_never():
    assert measured.goal("rate", 1.9, at_least=1.9)["reached"] is True
    assert measured.goal("rate", 1.89, at_least=1.9)["reached"] is False
    assert measured.goal("share", 0.04, at_most=0.03)["reached"] is False
    assert measured.goal("limit", 2.0)["reached"] is None
    assert measured.verdict(measured.goal("share", 0.04, at_most=0.03)) == "at most 0.03: missed"


def test_the_exchange_costs_from_the_last_arrival_on():
    def wait(step, begin_us, end_us):
        return {"name": "wait", "ts": begin_us, "dur": end_us - begin_us, "args": {"step": step}}

    spans = [wait(1, 0, 900_000), wait(1, 0, 900_000),  # of an earlier epoch
             wait(2, 100, 1_000_600), wait(2, 1_000_100, 1_000_500), wait(3, 2_000_000, 2_000_250),
             wait(3, 2_000_000, 2_000_200), {"name": "compute", "ts": 0, "dur": 5_000_000, "args": {"step": 3}}]
    assert sides.unhidden_s(spans, last_steps=2) == pytest.approx(750e-6)


def test_rates_and_work_of_runs_apart_add_up():
    one = {"per_second": 10.0, "cpu_s": 2.0, "images": 100, "exchange_share": 0.1}
    assert sides.added([one, one]) == {"per_second": 20.0, "cpu_s": 4.0, "images": 200}


@pytest.mark.skipif(not sides.IMAGES.exists(), reason="the Debian package dataset-fashion-mnist is not installed")
@pytest.mark.parametrize("part, of_side", [("scaling", {"one rank", "two ranks", "two runs"}),
                                           ("torch", {"slipway", "pytorch"})])
def test_the_bench_runs_all_sides(part, of_side):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two ranks need two cores")
    done = subprocess.run([os.environ["SLIPWAY_PROGRAM"], "bench", "training", "--part", part, "--model", "fashion",
                           "--rounds", "1", "--steps", "4", "--json"], stdout=subprocess.PIPE, timeout=240)
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert result["schema"] == "slipway.bench.training/1"
    assert {row["side"] for row in result["rows"]} == of_side
    assert all(row["per_second"] > 0 and row["cpu_s_per_1000"] > 0 for row in result["rows"])
    assert all(goal["value"] >= 0 for goal in result["goals"])
