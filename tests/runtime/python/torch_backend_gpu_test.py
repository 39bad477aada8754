"""The backend "slipway" of torch.distributed on tensors that torch takes for those of a GPU: the checks that also run
on a real one, and what is refused."""

import pathlib
import sys
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist

import gpu_tensors
from slipway.torch_backend import device, exchange
from slipway.torch_backend.device import DeviceWork, memories_of
from slipway.torch_backend.exchange import Exchange

sys.path.append(str(pathlib.Path(__file__).parents[2] / "gpu"))
import faces_on_gpu as faces  # noqa: E402


def late(values):
    """As on a real GPU: the tensor holds other values until the stream has copied these."""
    tensor = gpu_tensors.on_gpu(torch.zeros_like(values))
    return tensor.copy_(gpu_tensors.pinned(values), non_blocking=True)


@pytest.fixture(autouse=True)
def gpu(gloo, monkeypatch):
    gpu_tensors.install(monkeypatch)
    monkeypatch.setattr(faces, "DEVICE", gpu_tensors.GPU)
    monkeypatch.setattr(faces, "late", late)
    yield
    assert gpu_tensors.violations() == ""


@pytest.mark.parametrize("check", faces.OPERATIONS, ids=lambda check: check.__name__)
def test_on_the_default_stream(check):
    check()


@pytest.mark.parametrize("check", faces.OPERATIONS, ids=lambda check: check.__name__)
def test_on_another_stream(check):
    with gpu_tensors.stream(gpu_tensors.Stream()):
        check()


def test_a_broadcast_stops_no_stream(monkeypatch):
    tensor = late(torch.full((100_000,), float(dist.get_rank() + 1)))
    waited, synchronize = [], gpu_tensors.Stream.synchronize
    with monkeypatch.context() as patched:
        patched.setattr(gpu_tensors.Stream, "synchronize", lambda stream: waited.append(stream) or synchronize(stream))
        dist.broadcast(tensor, 0)
        assert waited == []
    faces.same([tensor], [torch.ones(100_000)])


def allreduced_on_gpus(monkeypatch, tensors):
    """Bytes of each allreduce of GPU memory while a new group broadcasts these tensors."""
    bytes_of_each, allreduce = [], Exchange.allreduce

    def noting(exchange, tensor, op):
        if tensor.device.type == "cuda":
            bytes_of_each.append(tensor.numel() * tensor.element_size())
        allreduce(exchange, tensor, op)
    group = dist.new_group()
    with monkeypatch.context() as patched:
        patched.setattr(Exchange, "allreduce", noting)
        for tensor in tensors:
            dist.broadcast(tensor, 0, group=group)
    return bytes_of_each


def test_ways_are_chosen_at_the_first_large_broadcast(monkeypatch):
    small, large = faces.empty((1000,), torch.float32), [late(torch.ones(50_000)) for _ in range(2)]
    chosen = allreduced_on_gpus(monkeypatch, [small, *large])
    assert len(chosen) == (dist.get_world_size() > 1)
    assert all(65536 < size < 1 << 20 for size in chosen), "a named way takes only more than 64 KiB"
    faces.same(large, [torch.ones(50_000)] * 2)


def test_ways_are_chosen_at_a_later_broadcast_where_the_first_one_is_of_the_cpu(monkeypatch):
    chosen = allreduced_on_gpus(monkeypatch, [torch.ones(50_000), late(torch.ones(50_000)), late(torch.ones(50_000))])
    assert len(chosen) == (dist.get_world_size() > 1)


def test_a_group_that_broadcasts_memory_of_the_cpu_soon_asks_no_more(monkeypatch):
    tensors = [torch.ones(50_000) for _ in range(exchange._MOST_VOTES)]
    assert allreduced_on_gpus(monkeypatch, [*tensors, late(torch.ones(50_000))]) == []


def test_a_rank_without_memory_for_a_sample_puts_the_choice_off(monkeypatch):
    empty, refused = torch.empty, []

    def refuse_once(*arguments, **options):
        if dist.get_rank() == 0 and getattr(options.get("device"), "type", "cpu") == "cuda" and not refused:
            refused.append(arguments)
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return empty(*arguments, **options)
    tensors = [late(torch.ones(50_000)) for _ in range(2)]
    monkeypatch.setattr(torch, "empty", refuse_once)
    chosen = allreduced_on_gpus(monkeypatch, tensors)
    several = dist.get_world_size() > 1
    assert len(chosen) == several and len(refused) == (several and dist.get_rank() == 0)
    faces.same(tensors, [torch.ones(50_000)] * 2)


def test_no_ways_are_chosen_where_a_rank_broadcasts_memory_of_the_cpu(monkeypatch):
    values = torch.full((50_000,), float(dist.get_rank() + 1))
    tensor = values if dist.get_rank() == 0 else late(values)
    assert allreduced_on_gpus(monkeypatch, [tensor]) == []
    assert torch.equal(tensor.cpu(), torch.ones(50_000))


@pytest.mark.parametrize("gather", [dist._all_gather_base, dist.all_to_all_single, dist._reduce_scatter_base],
                         ids=lambda gather: gather.__name__)
def test_the_stream_finds_a_result_of_values_from_the_cpu(gather):
    count, size, rank = 50_000, dist.get_world_size(), dist.get_rank()
    sent = torch.full((count if gather is dist._all_gather_base else count * size,), rank + 1.0)
    with gpu_tensors.stream(gpu_tensors.Stream()):
        received = late(torch.zeros(count if gather is dist._reduce_scatter_base else count * size))
        gather(received, sent)
        of_ranks = torch.arange(1.0, size + 1)
        wanted = of_ranks.sum() if gather is dist._reduce_scatter_base else of_ranks.repeat_interleave(count)
        faces.same([received], [wanted.expand(received.shape).clone()])


def others():
    size, rank = dist.get_world_size(), dist.get_rank()
    if size < 2:
        pytest.skip("messages need two ranks")
    return (rank + 1) % size, (rank - 1) % size


def test_another_stream_may_wait_for_a_message():
    right, left = others()
    received = faces.empty((1000,), torch.float32)
    send = dist.isend(faces.mine(torch.float32, (1000,)), right)
    work = dist.irecv(received, left)
    with gpu_tensors.stream(gpu_tensors.Stream()):
        work.wait()
        faces.same([received], [faces.of_rank(left, torch.float32, (1000,))])
    send.wait()


def test_a_message_goes_between_a_gpu_and_a_cpu():
    right, left = others()
    received = torch.empty(5)
    work = dist.isend(faces.mine(torch.float32, (5,)), right)
    dist.recv(received, left)
    work.wait()
    assert torch.equal(received, faces.of_rank(left, torch.float32, (5,)))


def test_a_message_of_another_size_is_an_error():
    right, left = others()
    work = dist.isend(faces.mine(torch.float32, (3,)), right, tag=99)
    with pytest.raises(RuntimeError, match="sent 12 bytes, and the tensor has 20; use the same shape"):
        dist.recv(faces.empty((5,), torch.float32), left, tag=99)
    work.wait()


def test_a_copy_that_the_gpu_refuses_is_the_error_of_the_work(monkeypatch):
    right, left = others()

    def refuse(*_):
        raise RuntimeError("CUDA error: out of memory")
    with monkeypatch.context() as patched:
        patched.setattr(device, "_pinned_like", refuse)
        work = dist.isend(faces.mine(torch.float32, (3,)), right, tag=98)
        with pytest.raises(RuntimeError, match="out of memory"):
            work.wait()
        dist.send(torch.ones(3), right, tag=97)
        with pytest.raises(RuntimeError, match="out of memory"):
            dist.recv(faces.empty((3,), torch.float32), left, tag=97)
    dist.barrier()


def test_pinned_memory_is_that_of_the_cpu_whatever_the_default_device_is(monkeypatch):
    devices, empty = [], torch.empty

    def noting(*shape, device=None, **options):
        devices.append(device)
        return empty(*shape, device=device, **options)
    tensor = faces.empty((3,), torch.float32)
    with monkeypatch.context() as patched:
        patched.setattr(torch, "empty", noting)
        device.store(tensor, lambda memory: memory.copy_(torch.ones(3)))
    faces.same([tensor], [torch.ones(3)])
    assert devices == [torch.device("cpu")]


def refuse(*_):
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


def device_work():
    return DeviceWork([faces.empty((3,), torch.float32)], "a message", [], gpu_tensors.Stream())


def test_the_future_of_coalesced_messages_has_the_error_of_a_stream_that_cannot_wait(monkeypatch):
    works = [device_work(), device_work()]
    future = device.together(works, "both").get_future()
    monkeypatch.setattr(DeviceWork, "precede", refuse)
    for work in works:
        work.finish()
    assert future.done()
    with pytest.raises(RuntimeError, match="illegal memory access"):
        future.wait()


@pytest.mark.parametrize("asked", ["before", "after"])
def test_a_future_has_the_error_of_a_stream_that_cannot_be_chosen(monkeypatch, asked):
    work = device_work()
    future = work.get_future() if asked == "before" else None
    monkeypatch.setattr(torch.cuda, "stream", refuse)
    work.finish()
    future = future or work.get_future()
    assert future.done()
    with pytest.raises(RuntimeError, match="illegal memory access"):
        future.wait()


def test_a_future_has_the_error_of_the_operation_rather_than_that_of_its_stream(monkeypatch):
    work = device_work()
    future = work.get_future()
    monkeypatch.setattr(torch.cuda, "stream", refuse)
    work.finish(RuntimeError("rank 1 is dead"))
    with pytest.raises(RuntimeError, match="rank 1 is dead"):
        future.wait()


def test_tensors_of_two_gpus_in_one_call_are_refused():
    first, second = (SimpleNamespace(layout=torch.strided, device=torch.device("cuda", index)) for index in range(2))
    with pytest.raises(RuntimeError, match="all_gather: one tensor is on cuda:0 and another one on cuda:1; a call"):
        device.device_of("all_gather", [[first, second], torch.ones(1)])
    assert device.device_of("all_gather", [[torch.ones(1)], second]) == second.device
    assert device.device_of("barrier", []) is None


def test_the_memory_of_a_sparse_tensor_is_lent_to_the_stream():
    """torch lends no sparse tensor. What the sum leaves in it was made on the stream of the group."""
    told = []

    class Part(SimpleNamespace):
        layout, device = torch.strided, gpu_tensors.GPU

        def record_stream(self, stream):
            told.append((self.name, stream))

    tensor = SimpleNamespace(layout=torch.sparse_coo, device=gpu_tensors.GPU, _indices=lambda: Part(name="indices"),
                             _values=lambda: Part(name="values"))
    group = gpu_tensors.Stream()
    work = DeviceWork([tensor], "allreduce", [tensor], group)
    assert told == [("indices", group), ("values", group)]
    work.carried_out_on_stream(told.clear)()
    work.finish()
    work.wait()
    assert told == [("indices", gpu_tensors.current_stream()), ("values", gpu_tensors.current_stream())]
    of_torch = torch.eye(3).to_sparse()
    assert [part.shape for part in memories_of([of_torch])] == [(2, 3), (3,)]


def test_all_memory_that_an_operation_uses_is_lent_to_its_stream():
    sent = faces.mine(torch.float32, (3,))
    outputs = [faces.empty((3,), torch.float32) for _ in range(dist.get_world_size())]
    gpu_tensors.lent.clear()
    dist.all_gather(outputs, sent)
    assert [address for address, _ in gpu_tensors.lent] == [tensor.data_ptr() for tensor in (*outputs, sent)]
    assert len({stream for _, stream in gpu_tensors.lent}) == 1
    assert gpu_tensors.lent[0][1] is not gpu_tensors.current_stream()
