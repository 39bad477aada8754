"""Works, futures, groups and messages of the backend "slipway" of torch.distributed."""

import contextlib
import datetime
import threading
import time

import pytest
import torch
import torch.distributed as dist

from slipway.torch_backend import messages
from slipway.torch_backend.device import DeviceWork
from slipway.torch_backend.works import OperationQueue, Together, Work

LONG = datetime.timedelta(seconds=30)


def group_of_all():
    return dist.distributed_c10d._get_default_group()


@pytest.fixture(scope="module")
def two_groups(gloo):
    return dist.new_group(), dist.new_group()


def test_an_asynchronous_operation_has_a_future(gloo):
    tensor = torch.full((1000,), dist.get_rank() + 1.0)
    work = dist.all_reduce(tensor, async_op=True)
    total = float(sum(range(1, dist.get_world_size() + 1)))
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    assert doubled.wait().tolist() == [2 * total] * 1000
    assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
    assert work.result()[0] is tensor and tensor[0] == total
    assert work.get_future().wait()[0] is tensor


def test_works_that_nobody_waits_for_are_done_in_order(gloo):
    tensor = torch.ones(10)
    for _ in range(20):
        dist.all_reduce(tensor, async_op=True)
    dist.barrier()
    assert tensor[0] == float(dist.get_world_size()) ** 20


def test_a_callback_may_wait_for_a_later_operation(gloo):
    """As the hook of PowerSGD does."""
    def again(future):
        return dist.all_reduce(future.value()[0], async_op=True).get_future().wait()[0]
    tensor = torch.ones(3)
    result = dist.all_reduce(tensor, async_op=True).get_future().then(again).wait()
    assert result.tolist() == [dist.get_world_size() ** 2] * 3


def test_what_a_callback_asks_for_comes_before_later_operations(gloo):
    """Of another size, so that another order on one rank is an error."""
    for slow in range(dist.get_world_size()):
        def again(future, slow=slow):
            time.sleep(0.05 if dist.get_rank() == slow else 0)
            first = dist.all_reduce(future.value()[0][:3], async_op=True)
            dist.all_reduce(future.value()[0][:2], async_op=True)  # which nobody waits for
            first.get_future().wait()
            return future.value()
        work = dist.all_reduce(torch.ones(5), async_op=True)
        result = work.get_future().then(again)
        later = [dist.all_reduce(torch.ones(7), async_op=True) for _ in range(2)]
        for each in later:
            each.wait()
        dist.barrier()
        size = dist.get_world_size()
        assert result.wait()[0].tolist() == [size ** 3] * 2 + [size ** 2] + [size] * 2


def test_a_callback_may_wait_for_an_operation_of_the_program(gloo):
    tensors = [torch.ones(1 << 20), torch.ones(1 << 20)]
    for _ in range(10):
        first, later = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        assert first.get_future().then(lambda _, later=later: later.wait()).wait()
    assert tensors[1][-1] == float(dist.get_world_size()) ** 10


def test_groups_are_used_in_different_orders(two_groups):
    """Rank 0 asks for the first group first, the others for the second."""
    order = two_groups if dist.get_rank() == 0 else two_groups[::-1]
    for _ in range(30):
        tensors = [torch.ones(2000) for _ in order]
        works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor, group in zip(tensors, order)]
        for work in reversed(works):
            work.wait()
        assert all(tensor[-1] == dist.get_world_size() for tensor in tensors)


def test_threads_use_groups_of_their_own(two_groups):
    failures = []

    def use(group, value):
        try:
            for _ in range(50):
                tensor = torch.full((300,), value)
                dist.all_reduce(tensor, group=group)
                assert tensor[0] == value * dist.get_world_size()
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=use, args=pair) for pair in zip(two_groups, (1.0, 3.0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_groups_of_some_ranks(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    groups = [dist.new_group([first, size - 1] if first != size - 1 else [first]) for first in range(size)]
    for first, group in enumerate(groups):
        members = {first, size - 1}
        tensor = torch.full((5,), rank + 1.0)
        dist.all_reduce(tensor, group=group)
        assert tensor[0] == (sum(member + 1.0 for member in members) if rank in members else rank + 1.0)
        if rank in members:
            assert dist.get_world_size(group) == len(members)
            dist.broadcast(tensor, size - 1, group=group)


def test_messages(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    if size < 2:
        pytest.skip("messages need two ranks")
    right, left = (rank + 1) % size, (rank - 1) % size
    for dtype, count in ((torch.float32, 100000), (torch.bool, 3), (torch.complex128, 0)):
        received = torch.zeros(count, dtype=dtype)
        work = dist.isend(torch.full((count,), rank + 1).to(dtype), right)
        dist.recv(received, left)
        work.wait()
        assert torch.equal(received, torch.full((count,), left + 1).to(dtype))


def test_messages_meet_by_tag_and_in_order(gloo):
    rank = dist.get_rank()
    if dist.get_world_size() < 2:
        pytest.skip("messages need two ranks")
    if rank == 0:
        for value, tag in ((1., 7), (2., 8), (3., 7)):
            dist.send(torch.full((2,), value), 1, tag=tag)
        dist.barrier()
    if rank == 1:
        dist.barrier()  # before anything is asked for
        got = [torch.empty(2) for _ in range(3)]
        works = [dist.irecv(tensor, 0, tag=tag) for tensor, tag in zip(got, (8, 7, 7))]
        for work in works:
            work.wait()
        assert [tensor[0].item() for tensor in got] == [2., 1., 3.]
    if rank > 1:
        dist.barrier()


def test_messages_from_any_rank(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    if size < 2:
        pytest.skip("messages need two ranks")
    if rank == 0:
        seen = {}
        for _ in range(size - 1):
            tensor = torch.empty(4, 2).t()
            source = dist.recv(tensor)
            seen[source] = tensor[0, 0].item()
        assert seen == {other: float(other) for other in range(1, size)}
    else:
        dist.send(torch.full((2, 4), float(rank)), 0)


def test_a_message_is_read_into_memory_of_its_tensor_s_device(monkeypatch):
    """Not into that of the default device, which a program may change."""
    tensor, devices, empty = torch.zeros(4, 2).t(), [], torch.empty

    def noting(*shape, device=None, **options):
        devices.append(device)
        return empty(*shape, device=device, **options)
    sent = torch.arange(8.).view(2, 4)
    work = Work([tensor], "a message")
    with monkeypatch.context() as patched:
        patched.setattr(torch, "empty", noting)
        messages._Receive(tensor, 1, work).fill(1, sent.numpy().tobytes())
    assert work.wait() and torch.equal(tensor, sent)
    assert devices == [tensor.device]


def test_a_message_of_another_size_is_an_error(gloo):
    if dist.get_world_size() < 2 or dist.get_rank() > 1:
        return
    if dist.get_rank() == 0:
        dist.send(torch.ones(3), 1, tag=99)
    else:
        with pytest.raises(RuntimeError, match="sent 12 bytes, and the tensor has 20; use the same shape"):
            dist.recv(torch.empty(5), 0, tag=99)


def test_batches_of_messages(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    if size < 2:
        pytest.skip("messages need two ranks")
    received = torch.empty(3)
    operations = [dist.P2POp(dist.isend, torch.full((3,), float(rank)), (rank + 1) % size),
                  dist.P2POp(dist.irecv, received, (rank - 1) % size)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert received[0] == (rank - 1) % size


def test_a_batch_of_messages_does_not_hold_up_collectives(gloo):
    if dist.get_world_size() < 2 or dist.get_rank() > 1:
        dist.all_reduce(torch.ones(3))
        return
    received = torch.empty(3)
    operation = [dist.P2POp(dist.isend, torch.ones(3), 1), dist.P2POp(dist.irecv, received, 0)][dist.get_rank()]
    if dist.get_rank() == 0:  # sends after the collective that rank 1 asks for behind its receive
        dist.all_reduce(torch.ones(3))
    works = dist.batch_isend_irecv([operation])
    if dist.get_rank() == 1:
        dist.all_reduce(torch.ones(3))
    for work in works:
        work.wait()
    assert dist.get_rank() == 0 or received.tolist() == [1, 1, 1]


def test_coalesced_messages_are_one_work(gloo):
    """As newer versions of torch make a batch of them."""
    size, rank = dist.get_world_size(), dist.get_rank()
    if size < 2:
        pytest.skip("messages need two ranks")
    group, received = group_of_all(), torch.empty(3)
    group._start_coalescing(torch.device("cpu"))
    dist.isend(torch.full((3,), float(rank)), (rank + 1) % size)
    dist.irecv(received, (rank - 1) % size)
    work = group._end_coalescing(torch.device("cpu"))
    assert work.get_future().wait()[1][0] is received
    assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
    assert received.tolist() == [(rank - 1) % size] * 3


def test_the_future_of_coalesced_messages_has_their_error():
    sent, received = works = [Work([torch.ones(1)], what) for what in ("send", "receive")]
    future = Together(works, "both").get_future()
    sent.finish()
    received.finish(RuntimeError("the peer is lost"))
    with pytest.raises(RuntimeError, match="the peer is lost"):
        future.wait()


class LostFuture:
    """Of a GPU that is lost."""

    def then(self, _):
        return torch.futures.Future()

    def set_result(self, _):
        raise RuntimeError("the GPU is lost")

    set_exception = set_result


def test_a_future_that_takes_no_error_leaves_its_group_at_work(monkeypatch, capfd):
    queue, lost, later = OperationQueue("test"), Work([], "lost"), Work([], "later")
    monkeypatch.setattr(lost, "_new_future", LostFuture)
    lost.get_future()
    queue.ask(lost, lambda: None)
    queue.ask(later, lambda: None)
    assert lost.wait(LONG) and later.wait(LONG)
    assert queue.drain(LONG.total_seconds())
    assert "the GPU is lost" in capfd.readouterr().err


def test_a_monitored_barrier_names_who_does_not_come(gloo):
    size, rank = dist.get_world_size(), dist.get_rank()
    group_of_all().monitored_barrier(LONG)
    if size < 2:
        return
    if rank != size - 1:
        with pytest.raises(RuntimeError, match=f"rank {size - 1} of the group .host .*pid .* did not come"):
            group_of_all().monitored_barrier(datetime.timedelta(seconds=4), True)
    dist.barrier()


def test_a_barrier_waits_for_all(gloo):
    last_came = torch.zeros(1, dtype=torch.float64)
    if dist.get_rank() == 0:
        time.sleep(0.3)
        last_came[0] = time.monotonic()  # the same clock in all processes of a machine
    dist.barrier()
    left = time.monotonic()
    dist.broadcast(last_came, 0)
    assert left >= last_came.item() > 0


@pytest.mark.parametrize("call", ["all_reduce", "broadcast", "send"])
def test_tensors_on_devices_are_refused_with_a_next_step(gloo, call):
    tensor = torch.empty(3, device="meta")
    arguments = {"all_reduce": (), "broadcast": (0,), "send": ((dist.get_rank() + 1) % max(2, dist.get_world_size()),)}
    with pytest.raises(RuntimeError, match="is on meta, and backend 'slipway' exchanges memory of the CPU and of CUDA "
                                           "devices; move it with"):
        getattr(dist, call)(tensor, *arguments[call])


def test_wrong_arguments_are_refused_before_anything_is_sent(gloo):
    size = dist.get_world_size()
    with pytest.raises(RuntimeError, match="output tensors, and the group has"):
        dist.all_gather([torch.empty(2)] * (size + 1), torch.empty(2))
    with pytest.raises(RuntimeError, match="elements where"):
        dist.all_gather_into_tensor(torch.empty(2 * size + 1), torch.empty(2))
    with pytest.raises((RuntimeError, ValueError), match="of torch.float64|type"):
        dist.all_gather([torch.empty(2)] * size, torch.empty(2, dtype=torch.float64))
    dist.barrier()


def test_ranks_that_call_different_things_are_named(two_groups):
    if dist.get_world_size() < 2:
        return
    tensor = torch.ones(10 if dist.get_rank() == 0 else 20)
    with pytest.raises(RuntimeError, match="rank 1 calls an allreduce of 20 float32|rank . calls"):
        dist.all_reduce(tensor, group=two_groups[0])


def test_a_shared_work_stays_valid(gloo):
    """C++ holds one half of a work: many that nobody asks for must not take others with them."""
    works = [dist.all_reduce(torch.ones(1), async_op=True) for _ in range(300)]
    del works[::2]
    for work in works:
        assert work.wait()


def test_an_operation_on_a_gpu_is_ordered_by_events_alone(gloo, monkeypatch):
    """There is no GPU here: what torch would be told."""
    told = []

    class Event:
        def record(self, stream):
            told.append(("recorded on", stream.name))
            self.after = len(told)

    class Stream:
        device = "cuda:0"

        def __init__(self, name):
            self.name = name

        def wait_event(self, event):
            told.append((self.name, "waits for", event.after))

    program, group = Stream("program"), Stream("group")
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: program)
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    work = DeviceWork([], "an operation", [[torch.zeros(1)]], group)
    carry_out = work.carried_out_on_stream(lambda: told.append("carried out"))
    carry_out()
    work.finish()
    assert work.wait()
    assert told == [("recorded on", "program"), ("group", "waits for", 1), "carried out", ("recorded on", "group"),
                    ("program", "waits for", 4)]
