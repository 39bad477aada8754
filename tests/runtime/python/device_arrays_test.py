"""Arrays of a GPU that are known by __cuda_array_interface__ or DLPack alone, on the fake driver of the tests."""

import ctypes
import os
import sys
import types

import numpy as np
import pytest

from slipway import _arrays, _driver
from slipway.errors import DeviceMemoryError, MismatchError, NotSupportedError

DRIVER = ctypes.CDLL(os.environ["SLIPWAY_FAKE_DRIVER"], mode=ctypes.RTLD_GLOBAL)
COUNT = 1000


def call(entry, *arguments):
    assert getattr(DRIVER, entry)(*arguments) == 0, entry


@pytest.fixture(scope="module", autouse=True)
def context():
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)


class DeviceArray:
    """As a library of GPU arrays has them. `stream`: on which it works."""

    def __init__(self, values, stream=None):
        self.shape, self.dtype = values.shape, values.dtype
        self._pointer = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self._pointer), ctypes.c_size_t(max(1, values.nbytes)))
        self.stream = stream
        self.set(values)

    @property
    def __cuda_array_interface__(self):
        interface = {"shape": self.shape, "typestr": self.dtype.str, "data": (self._pointer.value, False), "version": 3}
        return interface if self.stream is None else {**interface, "stream": self.stream}

    def set(self, values):
        call("cuMemcpyHtoD_v2", self._pointer, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes))
        call("cuCtxSynchronize")  # the array's stream does not wait for the default one

    def get(self):
        return read(self)


def read(array):
    """As its library does: on the stream that it names, else on one that waits for no other."""
    interface = array.__cuda_array_interface__
    values = np.empty(interface["shape"], interface["typestr"])
    stream = ctypes.c_void_p(interface.get("stream") or new_stream())
    call("cuMemcpyDtoHAsync_v2", values.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(interface["data"][0]),
         ctypes.c_size_t(values.nbytes), stream)
    call("cuStreamSynchronize", stream)
    return values


def new_stream():
    stream = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(stream), 1)  # waits for no other stream by itself
    return stream.value


def fill_later(array, values):
    """Queued on the array's stream. The fake driver carries it out when something waits for it."""
    source = ctypes.c_void_p()
    call("cuMemAllocHost_v2", ctypes.byref(source), ctypes.c_size_t(values.nbytes))
    ctypes.memmove(source, values.ctypes.data, values.nbytes)
    interface = array.__cuda_array_interface__
    call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(interface["data"][0]), source, ctypes.c_size_t(values.nbytes),
         ctypes.c_void_p(interface.get("stream")))


def bytes_copied_to_gpu():
    DRIVER.fake_gpu_count.restype = ctypes.c_uint64
    return DRIVER.fake_gpu_count(5)  # FAKE_GPU_BYTES_TO_DEVICE


def mean_of_ranks(job):
    return (job.size() - 1) / 2


def test_an_allreduce_is_made_in_place(job):
    array = DeviceArray(np.full(COUNT, job.rank(), np.float32), new_stream())
    job.allreduce(array, "mean")
    assert np.all(array.get() == mean_of_ranks(job))


def test_a_team_is_exchanged(job):
    arrays = [DeviceArray(np.zeros(COUNT, np.float32), stream) for stream in (new_stream(), None)]
    team = job.Team("device arrays", arrays)
    for step in range(3):
        for array in arrays:
            array.set(np.full(COUNT, job.rank() + step, np.float32))
        if step == 1:
            team.submit_many([1, 0])
        assert team.gradients()
        assert all(np.all(array.get() == mean_of_ranks(job) + step) for array in arrays)
    team.unregister()


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", _arrays._DlTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class DlpackArray:
    """As a library has it that knows DLPack alone."""

    def __init__(self, array, device_type=2):
        self.array = array
        self._shape = (ctypes.c_int64 * len(array.shape))(*array.shape)
        address = array.__cuda_array_interface__["data"][0]
        self._managed = Managed(_arrays._DlTensor(address, device_type, 0, len(array.shape), 2, 32, 1, self._shape,
                                                  None, 0), None, None)

    def __dlpack__(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._managed), b"dltensor", None)


def test_an_array_of_dlpack_is_summed_in_place(job):
    array = DeviceArray(np.full((COUNT, 2), job.rank(), np.float32))
    job.allreduce(DlpackArray(array), "sum")
    assert np.all(array.get() == sum(range(job.size())))
    with pytest.raises(DeviceMemoryError, match="DLPack's type 7"):
        job.allreduce(DlpackArray(array, device_type=7))


@pytest.mark.parametrize("device_type", [2, 10, 13])
def test_dlpack_has_several_kinds_of_gpu_memory(job, device_type):
    array = DeviceArray(np.full(COUNT, job.rank(), np.float32))
    job.allreduce(DlpackArray(array, device_type), "sum")
    assert np.all(array.get() == sum(range(job.size())))


@pytest.mark.parametrize("device_type", [1, 3, 11])
def test_dlpack_has_several_kinds_of_cpu_memory(job, device_type):
    values = np.full(COUNT, job.rank(), np.float32)
    pinned = types.SimpleNamespace(shape=values.shape, __cuda_array_interface__={
        "data": (values.__array_interface__["data"][0], False)})
    job.allreduce(DlpackArray(pinned, device_type), "sum")
    assert np.all(values == sum(range(job.size())))


@pytest.mark.parametrize("count", [COUNT, 100_000])  # by the CPU, and by the GPUs themselves
def test_what_names_no_stream_has_the_result_when_the_call_returns(job, count):
    array = DeviceArray(np.zeros(count, np.float32))
    team = job.Team("no stream", [array])
    for step in range(5):
        array.set(np.full(count, job.rank() + step, np.float32))
        job.allreduce(array, "mean")
        assert np.all(array.get() == mean_of_ranks(job) + step)
        array.set(np.full(count, job.rank() + step, np.float32))
        team.gradients()
        assert np.all(array.get() == mean_of_ranks(job) + step)
    team.unregister()


def test_an_empty_array_does_not_hide_that_the_others_name_no_stream(job):
    empty = types.SimpleNamespace(shape=(0,), __cuda_array_interface__={
        "shape": (0,), "typestr": "<f4", "data": (0, False), "version": 3})
    array = DeviceArray(np.zeros(COUNT, np.float32))
    team = job.Team("empty first", [empty, array])
    for step in range(5):
        array.set(np.full(COUNT, job.rank() + step, np.float32))
        team.gradients()
        assert np.all(array.get() == mean_of_ranks(job) + step)
    team.unregister()


def test_an_array_of_the_cpu_on_one_rank_alone_is_an_error_on_all(job):
    if job.size() == 1:
        pytest.skip("a lone rank exchanges nothing")
    group = job.group_create(range(job.size()))
    values = np.full(100_000, job.rank(), np.float32)
    with pytest.raises(MismatchError, match="in GPU memory on all ranks, or on none"):
        job.allreduce(values if job.rank() == 0 else DeviceArray(values), group=group)
    array = DeviceArray(values)
    job.allreduce(array, group=group)
    assert np.all(array.get() == sum(range(job.size())))
    group.free()


def test_gradients_of_a_library_whose_arrays_cannot_be_copied_are_refused(job):
    with pytest.raises(NotSupportedError, match="make a slipway.Team of the arrays"):
        job.gradients([DeviceArray(np.ones(3, np.float32))])


def test_gathered_rows_are_new_memory_of_the_gpu(job):
    array = DeviceArray(np.full((2, 3), job.rank(), np.float32), new_stream())
    gathered = job.allgather(array)
    assert [row[0] for row in read(gathered).tolist()] == [rank for rank in range(job.size()) for _ in range(2)]


def test_a_broadcast_waits_for_no_stream_but_that_of_the_root(job):
    array = DeviceArray(np.zeros(COUNT, np.float32), new_stream())
    values = np.full(COUNT, job.rank() + 1, np.float32)
    fill_later(array, values)
    before = bytes_copied_to_gpu()
    job.broadcast(array)
    assert bytes_copied_to_gpu() - before == (0 if job.rank() else values.nbytes)
    assert np.all(array.get() == 1)


def test_arrays_of_several_streams_are_broadcast_when_the_call_returns(job):
    arrays = [DeviceArray(np.zeros(COUNT, np.float32), stream) for stream in (new_stream(), new_stream(), None)]
    for number, array in enumerate(arrays):
        fill_later(array, np.full(COUNT, 10 * job.rank() + number, np.float32))
    job.broadcast(arrays)
    assert all(np.all(array.get() == number) for number, array in enumerate(arrays))


def test_rows_are_exchanged_after_the_stream_of_their_array(job):
    size, rank = job.size(), job.rank()
    array = DeviceArray(np.zeros((size, 3), np.float32), new_stream())
    fill_later(array, np.full((size, 3), rank, np.float32))
    assert read(job.reduce_scatter(array)).tolist() == [[sum(range(size))] * 3]
    fill_later(array, np.full((size, 3), rank + 1, np.float32))
    came, rows = job.alltoall(array)
    assert rows == [1] * size and read(came).tolist() == [[sender + 1] * 3 for sender in range(size)]


def test_memory_like_that_of_an_array_is_on_its_gpu(job):
    array = DeviceArray(np.ones((4, 5), np.float64))
    like = job.alloc_like(array)
    assert read(like).tolist() == np.zeros((4, 5)).tolist()
    assert like.__cuda_array_interface__["typestr"] == "<f8"


def test_memory_like_that_of_cupy_is_of_cupy(job, monkeypatch):
    """CuPy is not here: what it would be asked for."""
    class Device:
        entered = False

        def __enter__(self):
            Device.entered = True

        def __exit__(self, *_):
            pass

    cupy = types.SimpleNamespace(zeros=lambda shape, dtype: ("zeros", shape, dtype, Device.entered))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    array = type("ndarray", (DeviceArray,), {"__module__": "cupy", "device": Device()})(np.zeros(3, np.float32))
    assert job.alloc_like(array) == ("zeros", (3,), np.dtype("float32"), True)


def test_the_current_stream_of_an_array_is_that_of_its_library():
    array = DeviceArray(np.zeros(3, np.float32))
    assert _arrays.stream_of(array) == 0
    array.stream = 1  # the legacy default stream, by its name
    assert _arrays.stream_of(array) == 0 and _arrays.memory_of(array).stream == 0
    array.stream = new_stream()
    assert _arrays.stream_of(array) == array.stream


def test_memory_that_the_driver_does_not_know_is_named(job):
    class Elsewhere:
        shape, dtype = (3,), np.dtype("float32")
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (8, False), "version": 3}

    with pytest.raises(DeviceMemoryError, match="does not know"):
        job.alloc_like(Elsewhere())


def test_an_array_belongs_to_the_maker_whose_driver_was_started(monkeypatch):
    hip = hip_with(1)
    cuda = types.SimpleNamespace(cuDeviceGetCount=lambda count: 3)  # CUDA_ERROR_NOT_INITIALIZED
    monkeypatch.setattr(_driver, "_loaded", {"libcuda.so.1": cuda, "libamdhip64.so.5": hip}.get)
    assert _driver._driver() == (hip, True)


def hip_with(gpus):
    """HIP's library on a machine with so many of its GPUs. It keeps the last error for the program."""
    errors = []

    def count_gpus(count):
        count._obj.value = gpus
        errors.extend([] if gpus else [100])  # hipErrorNoDevice
        return errors[-1] if errors else 0
    return types.SimpleNamespace(errors=errors, hipGetDeviceCount=count_gpus, hipGetLastError=errors.clear,
                                 hipPeekAtLastError=lambda: errors[-1] if errors else 0)


def test_hip_without_a_gpu_is_no_driver(monkeypatch):
    hip = hip_with(0)
    monkeypatch.setattr(_driver, "_loaded", {"libamdhip64.so.6": hip}.get)
    with pytest.raises(DeviceMemoryError, match="has loaded no driver"):
        _driver._driver()
    assert hip.errors == [], "an error is left to the program"
