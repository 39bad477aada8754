"""The training bench: its arithmetic, and that it measures what it says. How fast anything is, no test judges."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / "bench" / folder) for folder in ("training", "gpu")]

import delayed  # noqa: E402
import gpu_bench  # noqa: E402
import measured  # noqa: E402
import nodes  # noqa: E402
import sides  # noqa: E402


def test_sides_take_turns_forwards_and_backwards():
    order = []
    measured.in_turns({side: lambda side=side: order.append(side) for side in "abc"}, 3)
    assert "".join(order) == "abccbaabc"


def test_each_side_of_the_gpu_bench_comes_first_as_often_as_the_others():
    orders = [gpu_bench.order_of(list("abcde"), turn) for turn in range(10)]
    assert sorted(order[0] for order in orders) == sorted(2 * "abcde")
    assert all(sorted(order) == list("abcde") for order in orders)
    assert len({tuple(order) for order in orders}) == 10


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_SEQPACKET])
def test_the_gpu_bench_finds_a_daemon_of_mps_that_listens(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    assert gpu_bench.folder_of_mps() is None
    with socket.socket(socket.AF_UNIX, kind) as daemon:
        daemon.bind(str(tmp_path / "control"))
        daemon.listen()
        assert gpu_bench.folder_of_mps() == str(tmp_path)
    assert gpu_bench.folder_of_mps() is None, "its process has ended"


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


def test_the_link_is_chosen_by_what_a_step_sends():
    assert delayed.link_bits(594_178) == 594_178 * 32
    assert delayed.link_of_half(594_178, compute_s=0.1) == 380  # 19.0 Mbit in 50 ms


def test_no_step_is_shorter_than_its_computing_or_its_exchange():
    goals = delayed.goals_of("m", 100, {"synchronous": 0.3, "lag 1": 0.25, "lag 1, sync_first": 0.26}, 0.2, 0.1)
    values = {goal["what"].split(": ")[1]: goal["value"] for goal in goals}
    assert values["exchange / computing"] == pytest.approx(0.5)
    assert values["steps a second, lag 1 / synchronous"] == pytest.approx(1.2)
    assert values["of the fastest possible, lag 1"] == pytest.approx(0.8)
    assert values["of the fastest possible, synchronous"] == pytest.approx(2 / 3)


def bench(*words):
    return subprocess.run([os.environ["SLIPWAY_PROGRAM"], "bench", "training", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=240)


@pytest.mark.skipif(os.geteuid() != 0 or nodes.obstacle() is not None, reason="needs root, iproute2 and util-linux")
def test_delayed_gradients_run_on_two_nodes_of_which_nothing_is_left():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two ranks need two cores")
    done = bench("--part", "delayed", "--model", "hepcnn", "--mbit", "500", "--rounds", "1", "--steps", "2", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["side"] for row in rows] == [delayed.ALONE, *delayed.EXCHANGES]
    assert all(row["steps_per_second"] > 0 for row in rows)
    assert [row["link_mbit"] for row in rows] == [None, 500, 500, 500]
    namespaces = subprocess.run(["ip", "netns"], stdout=subprocess.PIPE, text=True).stdout
    owners = re.findall(r"^slipway-(\d+)-", namespaces, re.M)  # another bench may run beside this one
    assert not [owner for owner in owners if not os.path.exists(f"/proc/{owner}")], namespaces


@pytest.mark.skipif(os.geteuid() == 0, reason="this is what others are told")
def test_delayed_says_what_it_lacks():
    done = bench("--part", "delayed")
    assert done.returncode != 0 and "the part 'delayed' cannot run here" in done.stderr


def test_the_twins_take_turns_on_a_shipped_experiment():
    done = bench("--part", "twins", "--model", "cosmoflow", "--rounds", "1", "--steps", "4", "--json")
    assert done.returncode == 0, done.stderr
    assert {row["side"] for row in json.loads(done.stdout)["rows"]} == {"slipway", "pytorch"}


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
