"""Operations on NumPy arrays and on whatever has the buffer protocol or DLPack; torch is not there."""

import array
import ctypes
import sys

import numpy as np
import pytest

DTYPES = ["float32", "float64", "float16", "int32", "int64"]


def test_torch_is_not_there():
    with pytest.raises(ImportError):
        import torch  # noqa: F401  # noqa


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["sum", "mean", "min", "max", "product"])
def test_allreduce_is_in_place_and_right(job, dtype, op):
    ranks = np.arange(1, job.size() + 1)
    values = (np.arange(1, 8) * (job.rank() + 1)).astype(dtype)
    assert job.allreduce(values, op) is values
    every = np.outer(ranks, np.arange(1, 8)).astype("float64")
    expected = {"sum": every.sum(0), "mean": every.mean(0), "min": every.min(0), "max": every.max(0),
                "product": every.prod(0)}[op]
    if op == "mean" and dtype.startswith("int"):
        expected = np.trunc(expected)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(values, expected.astype(dtype), rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (2, 3, 4)])
def test_shapes_with_nothing_and_with_many_dimensions(job, shape):
    values = np.full(shape, job.rank() + 1.0)
    job.allreduce(values)
    assert np.all(values == job.size() * (job.size() + 1) / 2)


class OnlyDlpack:
    """Shows an array by DLPack alone."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, stream=None):
        return self.values.__dlpack__()


def test_buffers_and_dlpack_are_changed_without_a_copy(job):
    total = job.size() * (job.size() + 1) / 2
    doubles = array.array("d", [job.rank() + 1.0] * 3)
    job.allreduce(doubles)
    assert list(doubles) == [total] * 3
    numbers = (ctypes.c_int * 2)(job.rank() + 1, 0)
    job.allreduce(memoryview(numbers).cast("B").cast("i"))
    assert list(numbers) == [total, 0]
    values = np.full((2, 2), job.rank() + 1.0, "float32")
    job.allreduce(OnlyDlpack(values))
    assert np.all(values == total)
    with pytest.raises(job.ArgumentError, match="not contiguous"):
        job.allreduce(OnlyDlpack(values.T))


def test_shared_memory_is_zero_and_lives_as_long_as_an_array(job):
    values = job.alloc((3, 5), "float32")
    assert values.shape == (3, 5) and not values.any()
    part = values[1]
    del values
    part[:] = job.rank() + 1
    job.allreduce(part)
    assert np.all(part == job.size() * (job.size() + 1) / 2)
    assert job.alloc(0).shape == (0,)
    with pytest.raises(job.ArgumentError, match="negative"):
        job.alloc((-1,))


def test_what_cannot_be_reduced_is_said(job):
    for bad, words in [(np.zeros((4, 4))[:, 0], "ascontiguousarray"), (np.zeros(3, "uint8"), "uint8"),
                       (np.zeros(3, ">f8"), "swapped"), (np.zeros(3, object), "objects"), ([1.0], "no array"),
                       (b"bytes!!!", "read-only"), (np.zeros(2, "complex64"), "complex64")]:
        with pytest.raises(job.ArgumentError, match=words):
            job.allreduce(bad)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(job.ArgumentError, match="read-only"):
        job.allreduce(frozen)
    with pytest.raises(job.ArgumentError, match="'average'.*mean"):
        job.allreduce(np.zeros(3), "average")
    with pytest.raises(ValueError) as caught:
        job.allreduce(np.zeros(3, bool))
    assert caught.value.status == 1


def test_broadcast_of_lists_dicts_and_any_dtype(job):
    root = job.size() - 1
    mine = job.rank() == root
    values = {"w": np.full(3, 5.0 if mine else 0.0), "flags": np.array([mine] * 4), "empty": np.zeros(0)}
    assert job.broadcast(values, root) is values
    assert values["w"].tolist() == [5, 5, 5] and values["flags"].all()
    one = np.array(7 if mine else 0)
    job.broadcast(one, root)
    assert one == 7
    pair = [np.full(2, job.rank()), np.full(1, job.rank(), "int16")]
    job.broadcast(pair)
    assert pair[0].tolist() == [0, 0] and pair[1].tolist() == [0]


def test_broadcast_of_different_lists_is_a_mismatch_on_all_ranks(job):
    if job.size() == 1:
        pytest.skip("one rank agrees with itself")
    with pytest.raises(job.MismatchError):
        job.broadcast(np.zeros(3 + (job.rank() == 0)))


def test_allgather_with_unequal_rows(job):
    rows = np.full((job.rank(), 2), job.rank(), "int64")
    gathered = job.allgather(rows)
    assert gathered.tolist() == [[rank, rank] for rank in range(job.size()) for _ in range(rank)]
    flags = job.allgather(np.array([job.rank() % 2 == 0]))
    assert flags.dtype == bool and flags.tolist() == [rank % 2 == 0 for rank in range(job.size())]
    with pytest.raises(job.ArgumentError, match="no rows"):
        job.allgather(np.array(1.0))


def test_allgather_of_different_shapes_names_the_rank(job):
    if job.size() == 1:
        pytest.skip("one rank agrees with itself")
    with pytest.raises(job.MismatchError, match="rank 0 has .*rank [1-3] has"):
        job.allgather(np.zeros((2, 3 + (job.rank() == 1))))


def test_reduce_scatter_divides_rows_as_evenly_as_can_be(job):
    rows = job.size() + 1
    values = np.arange(rows * 2, dtype="float32").reshape(rows, 2)
    mine = job.reduce_scatter(values)
    begin = job.rank() + (job.rank() > 0)
    np.testing.assert_array_equal(mine, job.size() * values[begin:begin + (2 if job.rank() == 0 else 1)])
    assert values[1, 1] == 3  # untouched
    counts = [0] * job.size()
    counts[-1] = rows
    assert len(job.reduce_scatter(values, "max", counts)) == (rows if job.rank() == job.size() - 1 else 0)
    with pytest.raises(job.ArgumentError, match="are not"):
        job.reduce_scatter(values, rows=[rows + 1] * job.size())


def test_alltoall_with_unequal_rows(job):
    counts = [rank + 1 for rank in range(job.size())]
    values = np.concatenate([np.full((count, 2), 10 * job.rank() + rank) for rank, count in enumerate(counts)])
    received, rows = job.alltoall(values, counts)
    assert rows == [job.rank() + 1] * job.size()
    expected = [10 * rank + job.rank() for rank in range(job.size()) for _ in range(job.rank() + 1)]
    assert received[:, 0].tolist() == expected


def test_average_of_numbers_lists_dicts_and_arrays(job):
    mean = (job.size() - 1) / 2
    assert job.average(job.rank()) == mean
    assert job.average([job.rank(), 1.0]) == [mean, 1.0]
    assert job.average({"loss": job.rank(), "error": 2}) == {"loss": mean, "error": 2}
    assert job.average(np.float32(job.rank())) == mean
    values = np.full(2, job.rank(), "float32")
    assert job.average(values) is values and values.tolist() == [mean, mean]


def test_a_float_without_dimensions_is_averaged_in_place(job):
    loss = np.array(float(job.rank()))
    assert job.average(loss) is loss and loss == (job.size() - 1) / 2
    assert job.average(np.float64(job.rank())) == (job.size() - 1) / 2, "a number of NumPy cannot change"


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "bool"])
def test_a_count_without_dimensions_is_averaged_as_a_number(job, dtype):
    count = np.array(job.rank() == 0, dtype)
    mean = job.average(count)
    assert isinstance(mean, float) and mean == pytest.approx(1 / job.size())
    assert count == (job.rank() == 0), "it stays as it is"


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_an_array_of_integers_cannot_hold_its_mean(job, dtype):
    counts = np.full(2, job.rank(), dtype)
    with pytest.raises(job.ArgumentError, match=r"integers cannot hold its mean; hand over array.astype\(float\)"):
        job.average(counts)
    assert counts.tolist() == [job.rank()] * 2
    assert job.average(counts.astype(float)).tolist() == [(job.size() - 1) / 2] * 2


def test_groups(job):
    last = job.size() - 1
    group = job.group_create([last] if last == 0 else [last, 0])
    assert group.rank() == {last: 0, 0: len(group.ranks) - 1}.get(job.rank(), -1)
    if group.rank() >= 0:
        assert group.size() == len(group.ranks)
        values = np.array([job.rank() + 1.0])
        job.allreduce(values, group=group)
        assert values[0] == sum(rank + 1 for rank in group.ranks)
        values[0] = job.rank()
        job.broadcast(values, 0, group)
        assert values[0] == last
        assert job.allgather(values + group.rank(), group).tolist() == [last + r for r in range(group.size())]
    job.barrier()
    group.free()
    with pytest.raises(job.ArgumentError):
        job.group_create([job.size()])


def test_objects(job):
    assert job.broadcast_object({"rank": job.rank()}, job.size() - 1) == {"rank": job.size() - 1}
    assert job.allgather_object("x" * job.rank()) == ["x" * rank for rank in range(job.size())]


def test_check_match(job):
    job.check_match({"w": np.ones(3)})
    if job.size() > 1:
        with pytest.raises(job.MismatchError, match="'w'"):
            job.check_match({"v": np.ones(2), "w": np.full(3, float(job.rank()))})


def test_init_twice_is_an_error_of_state(job):
    with pytest.raises(job.StateError):
        job.init()
    assert not job.stop_requested()


def test_numpy_is_imported_only_when_it_is_needed():
    import subprocess
    done = subprocess.run([sys.executable, "-c", "import slipway, sys; sys.exit('numpy' in sys.modules)"])
    assert done.returncode == 0
