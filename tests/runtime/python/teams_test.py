"""Teams of NumPy arrays."""

import gc
import os
import pathlib
import weakref

import numpy as np
import pytest

from slipway import _calls, teams
from slipway.errors import MismatchError


def mean_of_ranks(job):
    return (job.size() - 1) / 2


def test_a_team_exchanges_its_mean_in_place(job):
    arrays = {"w": job.alloc((4, 3)), "b": np.zeros(2), "none": np.zeros(0, "float32")}
    team = job.Team("mean", arrays)
    for step in range(3):
        arrays["w"][:], arrays["b"][:] = job.rank() + step, 2 * job.rank()
        assert team.gradients()
        assert np.all(arrays["w"] == mean_of_ranks(job) + step) and np.all(arrays["b"] == 2 * mean_of_ranks(job))
    team.unregister()
    with pytest.raises(job.StateError):
        team.wait()


def test_arrays_are_submitted_by_name_or_index_in_any_order(job):
    arrays = [job.alloc(100) for _ in range(4)]
    team = job.Team("order", arrays)
    for step in range(2):
        for array in arrays:
            array[:] = job.rank() + step
        for index in (range(4) if job.rank() % 2 == 0 else reversed(range(4))):
            team.submit(index if step == 0 else f"array {index}")
        team.wait()
        assert all(np.all(array == mean_of_ranks(job) + step) for array in arrays)
    with pytest.raises(job.ArgumentError, match="no array 'x'"):
        team.submit("x")
    with pytest.raises(job.ArgumentError):
        team.submit(4)
    team.unregister()


def test_settings_that_are_not_there_are_refused_with_the_nearest_one(job):
    for _ in range(2):  # the name is free again after the refusal
        with pytest.raises(job.ArgumentError, match="there is no setting 'clip_nrm'; did you mean 'clip_norm'"):
            job.Team("misspelled", [np.zeros(3)], clip_nrm=1.0, check_finite=True)
        with pytest.raises(job.ArgumentError, match="there is no setting 'bogus'; valid are 'mode', 'lag'"):
            job.gradients([np.zeros(3)], team="misspelled", bogus=3)
    team = job.Team("misspelled", [np.zeros(3)], clip_norm=None)
    with pytest.raises(job.ArgumentError, match="did you mean 'compress'"):
        team.configure(compression="fp16")
    team.unregister()


def test_several_arrays_are_submitted_in_one_call(job):
    arrays = [np.full(10, job.rank(), np.float32) for _ in range(4)]
    team = job.Team("several", arrays)
    with pytest.raises(job.ArgumentError, match="submitted twice"):
        team.submit_many([1, 2, 1])
    with pytest.raises(job.ArgumentError, match="no tensor 4"):
        team.submit_many([1, 4])
    team.submit_many([3, 1])
    with pytest.raises(job.StateError, match="'array 1' was submitted already"):
        team.submit_many([0, 1])
    team.submit_many([])
    team.wait()
    assert all(np.all(array == mean_of_ranks(job)) for array in arrays)
    team.unregister()


def test_an_array_is_copied_from_elsewhere_and_submitted(job):
    array = np.zeros(1000, np.float32)
    team = job.Team("elsewhere", [array])
    for step in range(3):
        source = np.full(1000, job.rank() + step, np.float32)
        team.submit_from(0, source)
        source[:] = -1
        team.wait()
        assert array.tolist() == [(job.size() - 1) / 2 + step] * 1000
    with pytest.raises(MismatchError, match="array 0 is of shape"):
        team.submit_from(0, np.zeros(999, np.float32))
    with pytest.raises(MismatchError, match="float64"):
        team.submit_from(0, np.zeros(1000))
    team.unregister()


@pytest.mark.parametrize("shared", [True, False])
def test_an_array_is_submitted_where_it_lies(job, shared):
    usual = job.alloc(1000)
    team = job.Team("there", [usual])
    for step in range(3):
        there = job.alloc(1000) if shared and step != job.rank() else np.empty(1000, np.float32)
        there[:] = job.rank() + step
        team.submit_at(0, there)
        team.wait()
        assert there.tolist() == [(job.size() - 1) / 2 + step] * 1000
        assert not usual.any()
    with pytest.raises(MismatchError, match="array 0 is of shape"):
        team.submit_at(0, np.zeros(999, np.float32))
    team.unregister()


def test_what_the_library_writes_to_outlives_the_team(job):
    team = job.Team("dropped", [job.alloc(1000)])
    there = np.full(1000, job.rank(), np.float32)
    team.submit_at(0, there)
    kept = weakref.ref(there)
    del team, there
    gc.collect()
    assert kept() is not None
    _calls.call("slipway_wait", b"dropped")
    assert kept().tolist() == [mean_of_ranks(job)] * 1000
    _calls.call("slipway_unregister", b"dropped")
    teams._registered.pop("dropped")
    assert kept() is None


def test_delayed_gradients_come_one_step_later(job):
    array = job.alloc(3)
    team = job.Team("delayed", [array], total_steps=6, mode="delayed", lag=1, sync_first=1)
    seen = []
    for step in range(4):
        array[:] = step + job.rank()
        seen.append((team.gradients(), array[0]))
    mean = mean_of_ranks(job)
    assert seen == [(True, mean), (False, 0), (True, 1 + mean), (True, 2 + mean)]
    team.unregister()


def test_what_is_in_flight_survives_in_a_checkpoint(job):
    def team_of(name, array):
        return job.Team(name, [array], mode="delayed", lag=1, sync_first=0)
    first, second = job.alloc(3), job.alloc(3)
    team = team_of("saved", first)
    first[:] = 5
    assert not team.gradients()
    state = team.state_save()
    team.unregister()
    team = team_of("saved", second)
    team.state_load(state)
    second[:] = 7
    assert team.gradients() and np.all(second == 5)
    team.unregister()


def test_clipping_gives_the_norm(job):
    array = job.alloc(2)
    team = job.Team("clipped", [array], clip_norm=1.0)
    array[:] = 3, 4
    team.gradients()
    assert team.norm() == pytest.approx(5)
    np.testing.assert_allclose(array, [0.6, 0.8], rtol=1e-6)
    team.unregister()


def test_a_list_that_differs_between_ranks_is_a_mismatch_on_all(job):
    if job.size() == 1:
        pytest.skip("one rank agrees with itself")
    with pytest.raises(job.MismatchError):
        job.Team("different", [np.zeros(3 + (job.rank() == 1))])
    with pytest.raises(job.MismatchError):
        job.Team("different", [np.zeros(3, "float32" if job.rank() == 1 else "float64")])


def test_a_name_that_is_taken_and_a_dtype_that_is_not_reduced(job):
    team = job.Team("taken", [np.zeros(3)])
    with pytest.raises(job.StateError):
        job.Team("taken", [np.zeros(3)])
    team.unregister()
    with pytest.raises(job.ArgumentError, match="uint8"):
        job.Team("bytes", [np.zeros(3, "uint8")])


def test_arrays_stay_alive_while_the_library_writes_into_them(job):
    team = job.Team("alive", [np.full(1000, float(job.rank()))])
    team.arrays = None
    gc.collect()
    team.gradients()
    team.unregister()


def test_gradients_of_new_arrays_at_each_step(job):
    for step in range(3):
        mine = [np.full((2, 2), job.rank() + step, "float32"), np.full(3, job.rank(), "float64")]
        assert job.gradients(mine)
        assert np.all(mine[0] == mean_of_ranks(job) + step) and np.all(mine[1] == mean_of_ranks(job))
    with pytest.raises(job.MismatchError, match="array 1 of 2"):
        job.gradients([np.zeros((2, 2), "float32"), np.zeros(4)])
    with pytest.raises(job.MismatchError):
        job.gradients([np.zeros((2, 2), "float32")])


def test_passes_that_accumulate_deliver_once_at_the_end(job):
    for step in range(2):
        for passes in range(3):
            mine = [np.full(3, job.rank() + step + passes, "float64")]
            assert job.gradients(mine, "passes", accumulate=3) == (passes == 2)
            assert np.all(mine[0] == (mean_of_ranks(job) + step + 1 if passes == 2 else 0))


def test_gradients_that_are_delayed_are_zero_at_first(job):
    seen = []
    for step in range(3):
        mine = [np.full(2, job.rank() + step + 1.0)]
        seen.append((job.gradients(mine, "late", mode="delayed", sync_first=0), mine[0][0] - mean_of_ranks(job)))
    assert seen == [(False, -mean_of_ranks(job)), (True, 1), (True, 2)]


def test_metrics_and_checkpoints(job):
    job.report(1, loss=0.5)
    job.report(1, "error", 0.25, epoch=0.5)
    job.report(2, {"loss": float("nan")})
    if job.rank() == 0 and "SLIPWAY_METRICS" in os.environ:
        assert pathlib.Path(os.environ["SLIPWAY_METRICS"]).read_text().count("\n") == 3
    with pytest.raises(job.ArgumentError, match="no value"):
        job.report(1, "loss")
    for wrong in ({"phase": "a"}, {"phase": [1, 2]}, {"loss": 0.5, "phase": None}):
        with pytest.raises(job.ArgumentError, match="the metric 'phase' is .*, not a number"):
            job.report(1, wrong)
    with pytest.raises(job.ArgumentError, match="step is 1.5, not an integer"):
        job.report(1.5, loss=0.5)
    with pytest.raises(job.ArgumentError, match="metrics is 0.5: give a name and a value"):
        job.report(1, 0.5)
    with pytest.raises(job.ArgumentError, match="epoch is 'a', not a number"):
        job.report(1, loss=0.5, epoch="a")
    job.report(np.int64(1), loss=np.float32(0.5))
    job.mllog("seed", 1)  # nobody has asked for a log
    with pytest.raises(job.ArgumentError, match="the event 'begin' is none of point, start, stop"):
        job.mllog("epoch_start", event="begin")
    assert job.resume_from() is None
    with job.waiting_for_input():
        pass


@pytest.mark.parametrize("wrong, said", [(None, "array 1 is None; hand over zeros"), (0.5, "array 1 is of type float")])
def test_what_is_no_gradient_is_named_by_its_place(job, wrong, said):
    with pytest.raises(job.ArgumentError, match=f"team 'places': {said}"):
        job.gradients([np.zeros(3), wrong], team="places")
    assert job.gradients([np.zeros(3), np.zeros(2)], team="places")
    with pytest.raises(job.ArgumentError, match=f"team 'places': {said}"):
        job.gradients([np.zeros(3), wrong], team="places")


def test_an_argument_of_a_wrong_type_is_an_error_of_the_package(job):
    with pytest.raises(job.ArgumentError, match="slipway_checkpoint_begin: argument 1"):
        job.checkpoint_begin("1")
