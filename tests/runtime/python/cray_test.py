"""slipway.compat.cray call by call."""

import numpy as np
import pytest

import slipway.compat.cray as mc
from slipway.errors import ArgumentError, MismatchError, NotSupportedError, StateError


@pytest.fixture(autouse=True)
def plugin(job):
    mc.init(2, 3, 10)


def test_ksteps_in_both_signs_is_a_schedule():
    assert mc.schedule(100, 100) == {"mode": "sync"}
    assert mc.schedule(150, 100) == mc.schedule(-100, 100) == mc.schedule(0, 0) == {"mode": "sync"}
    assert mc.schedule(20, 100) == {"mode": "delayed", "lag": 1, "sync_first": 20, "sync_last": 0}
    assert mc.schedule(0, 100) == {"mode": "delayed", "lag": 1, "sync_first": 0, "sync_last": 0}
    assert mc.schedule(-45, 100) == {"mode": "delayed", "lag": 1, "sync_first": 0, "sync_last": 45}


def test_gradients_are_new_arrays_with_the_mean():
    mine = [np.full((2, 2), float(mc.get_rank()), "float32"), np.full(3, 1.0)]
    means = mc.gradients(mine, 0)
    assert np.all(means[0] == (mc.get_nranks() - 1) / 2) and means[1].tolist() == [1, 1, 1]
    assert np.all(mine[0] == mc.get_rank())
    again = mc.gradients([array + 1 for array in mine], 0)
    assert np.all(again[0] == means[0] + 1) and means[1].tolist() == [1, 1, 1]


@pytest.mark.parametrize("ksteps, seen", [(2, [1, 2, 0, 3, 4, 5]), (6, [1, 2, 3, 4, 5, 6])])
def test_the_first_ksteps_are_synchronous(ksteps, seen):
    mc.config_team(1, 0, ksteps, 6, 0, 50)
    assert [mc.gradients([np.full(1, step + 1.0)], 1)[0][0] for step in range(6)] == seen


def test_the_last_steps_are_synchronous_with_negative_ksteps():
    mc.config_team(2, 0, -2, 6, 0, 50)
    # What is on its way when that begins is added, so that every gradient counts once.
    assert [mc.gradients([np.full(1, step + 1.0)], 2)[0][0] for step in range(6)] == [0, 1, 2, 3, 4 + 5, 6]


def test_broadcast_average_and_comparison():
    weights = [np.full(3, mc.get_rank() + 1.0, "float32"), np.full(1, mc.get_rank())]
    assert mc.check_buffers_match(weights, 0) == (0 if mc.get_nranks() == 1 else 1)
    assert mc.broadcast(weights, 0)[0] is weights[0]
    assert weights[0].tolist() == [1, 1, 1] and weights[1] == 0
    assert mc.check_buffers_match(weights, 1) == 0
    metric = np.array([mc.get_rank()], "float32")
    assert mc.average(metric) is metric and metric == (mc.get_nranks() - 1) / 2
    without_dimensions = np.array(float(mc.get_rank()))
    assert mc.average(without_dimensions) is without_dimensions and without_dimensions == (mc.get_nranks() - 1) / 2
    mc.barrier()


def test_the_waiting_time_is_one_line():
    line = mc.waiting_line(0, 200, [(3.0, "n0"), (0.5, "n1"), (2.0, "n1"), (4.0, "n2")])
    assert "\n" not in line
    assert "team 0, 200 calls: ranks waited min 0.500 s, median 3.000 s, max 4.000 s" in line
    assert line.endswith("slowest ranks: 1 (n1, 0.500 s), 2 (n1, 2.000 s), 0 (n0, 3.000 s)")


def test_it_is_told_every_perf_freq_calls_at_verbosity_2(capfd):
    mc.config_team(1, 0, 6, 6, 2, 2)
    for _ in range(5):
        mc.gradients([np.zeros(1)], 1)
    told = capfd.readouterr().out
    assert told.count("ranks waited") == (2 if mc.get_rank() == 0 else 0)


@pytest.mark.parametrize("name, instead", [
    ("BcastTensors", "broadcast"), ("InitConfigBcastTensors", "config_team"), ("AverageTrainMetrics", "average"),
    ("AverageEvalMetrics", "average"), ("InitPluginCallback", "init"),
    ("BroadcastGlobalVariablesCallback", "broadcast"),
    ("BroadcastVariablesCallback", "broadcast"), ("MetricAverageCallback", "average"),
    ("LearningRateScheduleCallback", "learning rate"), ("LearningRateWarmupCallback", "learning rate")])
def test_what_is_not_there_says_what_to_use(name, instead):
    with pytest.raises(NotSupportedError, match=f"not there; .*{instead}"):
        getattr(mc, name)


def test_other_names_are_unknown_as_in_any_module():
    assert not hasattr(mc, "no_such_name") and not hasattr(mc, "__wrapped__")
    with pytest.raises(ImportError, match="no_such_name"):
        from slipway.compat.cray import no_such_name  # noqa
    assert all(callable(getattr(mc, name)) for name in mc.__all__)


def test_errors():
    with pytest.raises(NotSupportedError, match="tensorflow"):
        mc.init(2, 1, 10, "tensorflow")
    with pytest.raises(ArgumentError, match="count from 1"):
        mc.init(0, 1, 10)
    with pytest.raises(ArgumentError, match="11 elements, but init was told at most 10"):
        mc.gradients([np.zeros(11)], 0)
    with pytest.raises(StateError, match="no team 3"):
        mc.gradients([np.zeros(1)], 3)
    with pytest.raises(ArgumentError, match="transition_alg"):
        mc.config_team(0, 1, 1, 1, 0, 1)
    if mc.get_nranks() > 1:
        with pytest.raises(MismatchError, match="config_team"):
            mc.config_team(0, 0, 1, 10, 2 if mc.get_rank() == 0 else 0, 10)
    mc.gradients([np.zeros(1)], 0)
    with pytest.raises(StateError, match="after gradients"):
        mc.config_team(0, 0, 1, 1, 0, 1)
    with pytest.raises(MismatchError, match="array 0"):
        mc.gradients([np.zeros(2)], 0)
