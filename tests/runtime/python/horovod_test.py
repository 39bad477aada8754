"""The operations of slipway.compat.horovod.torch, one by one."""

import contextlib
import threading
from types import SimpleNamespace

import pytest
import torch

import slipway.compat.horovod.torch as hvd
from slipway.compat.horovod import _operations
from slipway.compat.horovod._streams import AskersStreams
from slipway.errors import ArgumentError, DeviceMemoryError, MismatchError, NotSupportedError, StateError


@pytest.fixture(scope="module", autouse=True)
def initialized():
    assert not hvd.is_initialized()
    calls = (hvd.rank, hvd.size, hvd.local_rank, hvd.local_size, hvd.cross_rank, hvd.cross_size, hvd.is_homogeneous,
             hvd.global_process_set.rank, hvd.global_process_set.included)
    for call, error in [(call, error) for call in calls for error in (ValueError, StateError)]:
        with pytest.raises(error, match=r"call hvd.init\(\)"):
            call()
    hvd.init()
    hvd.init()
    assert hvd.is_initialized()


def several():
    if hvd.size() == 1:
        pytest.skip("one rank agrees with itself")


def ranks():
    return torch.arange(hvd.size(), dtype=torch.float32)


def test_the_job():
    assert 0 <= hvd.rank() < hvd.size()
    assert (hvd.local_rank(), hvd.local_size()) == (hvd.rank(), hvd.size())  # the tests run on one node
    assert (hvd.cross_rank(), hvd.cross_size()) == (0, 1)
    assert hvd.is_homogeneous() and hvd.mpi_threads_supported() and hvd.mpi_built() and not hvd.nccl_built()


@pytest.mark.parametrize("op, expected", [
    (None, lambda r: (r + 1).mean()), (hvd.Average, lambda r: (r + 1).mean()), (hvd.Sum, lambda r: (r + 1).sum()),
    (hvd.Min, lambda r: (r + 1).min()), (hvd.Max, lambda r: (r + 1).max()), (hvd.Product, lambda r: (r + 1).prod())])
def test_allreduce_with_each_op(op, expected):
    mine = torch.full((2, 3), hvd.rank() + 1.0)
    reduced = hvd.allreduce(mine, op=op)
    assert torch.all(mine == hvd.rank() + 1)
    torch.testing.assert_close(reduced, torch.full((2, 3), expected(ranks()).item()))
    assert hvd.allreduce_(mine, op=op) is mine
    assert torch.equal(mine, reduced)


def test_allreduce_with_average_scales_and_any_dtype():
    assert hvd.allreduce(torch.tensor(hvd.rank() + 1.0), average=False) == (ranks() + 1).sum()
    with pytest.raises(ArgumentError, match="not both"):
        hvd.allreduce(torch.tensor(1.0), average=True, op=hvd.Sum)
    scaled = hvd.allreduce(torch.tensor([2.0]), op=hvd.Sum, prescale_factor=0.5, postscale_factor=3.0)
    assert scaled.tolist() == [3.0 * hvd.size()]
    assert hvd.allreduce(torch.tensor([4]), op=hvd.Sum, prescale_factor=0.5).tolist() == [2 * hvd.size()]
    for dtype in (torch.uint8, torch.int8, torch.bool, torch.int64, torch.float16, torch.bfloat16, torch.float64):
        reduced = hvd.allreduce(torch.tensor([1, 0]).to(dtype), op=hvd.Max)
        assert reduced.dtype == dtype and reduced.tolist() == [1, 0]
    compressed = hvd.allreduce(torch.tensor([1.5]), op=hvd.Sum, compression=hvd.Compression.fp16)
    assert compressed.dtype == torch.float32 and compressed.item() == 1.5 * hvd.size()
    columns = torch.full((3, 2), float(hvd.rank())).t()
    assert torch.all(hvd.allreduce_(columns, op=hvd.Sum) == ranks().sum()) and not columns.is_contiguous()


def test_allreduce_has_a_gradient():
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    (hvd.allreduce(weight * (hvd.rank() + 1), op=hvd.Sum).sum()).backward()
    assert torch.all(weight.grad == hvd.size() * (hvd.rank() + 1))
    with pytest.raises(NotSupportedError, match="Max has no gradient.*detach"):
        hvd.allreduce(weight, op=hvd.Max)


@pytest.mark.parametrize("dtype, wide", [(torch.float16, torch.float32), (torch.bfloat16, torch.float32)])
def test_factors_of_16_bit_floats_are_not_rounded_to_16_bits(dtype, wide):
    values = torch.linspace(-8, 8, 1001).to(dtype)
    expected = (values.to(wide) * (1 / 3)).to(dtype)
    assert torch.equal(hvd.allreduce(values, op=hvd.Max, prescale_factor=1 / 3), expected)
    assert torch.equal(hvd.allreduce(values, op=hvd.Max, postscale_factor=1 / 3), expected)
    large = torch.full((hvd.size(),), 0.25, dtype=dtype)
    far = (large.to(wide) * 7e4).to(dtype)  # a factor beyond the largest float16
    assert torch.equal(hvd.allreduce(large, op=hvd.Max, prescale_factor=7e4), far)
    assert torch.equal(hvd.reducescatter(large, op=hvd.Max, postscale_factor=7e4), far[:1])


def test_integers_are_averaged_without_wrapping():
    most = torch.full((3,), torch.iinfo(torch.int64).max)
    assert torch.equal(hvd.allreduce(most, op=hvd.Average), most)
    assert hvd.allreduce(torch.tensor([120], dtype=torch.int8)).tolist() == [120]


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_allgather_has_a_gradient():
    mine = torch.full((hvd.rank() + 1, 2), 1.0, requires_grad=True)
    gathered = hvd.allgather(mine)
    weights = torch.arange(1.0, gathered.numel() + 1).reshape(gathered.shape) * (hvd.rank() + 1)
    (gathered * weights).sum().backward()
    before = hvd.rank() * (hvd.rank() + 1) // 2
    own = torch.arange(1.0, gathered.numel() + 1).reshape(gathered.shape)[before:before + hvd.rank() + 1]
    torch.testing.assert_close(mine.grad, own * (ranks() + 1).mean())
    first, second = leaf(1.0), leaf(2.0, 3.0)
    outer, inner = hvd.grouped_allgather([first, second])
    (outer.sum() + 10 * inner.sum()).backward()
    assert first.grad.tolist() == [1.0] and second.grad.tolist() == [10.0, 10.0]


def test_broadcast_has_a_gradient_at_its_root():
    mine, root = leaf(1.0, 2.0), hvd.size() - 1
    (hvd.broadcast(mine, root) * (hvd.rank() + 1)).sum().backward()
    expected = (ranks() + 1).mean().item() if hvd.rank() == root else 0.0
    torch.testing.assert_close(mine.grad, torch.full((2,), expected))


def test_alltoall_has_a_gradient():
    mine = torch.ones(hvd.size(), requires_grad=True)
    (hvd.alltoall(mine) * (hvd.rank() + 1)).sum().backward()
    assert torch.equal(mine.grad, ranks() + 1)
    uneven = torch.ones(sum(range(hvd.size() + 1)), requires_grad=True)
    received, rows = hvd.alltoall(uneven, list(range(1, hvd.size() + 1)))
    assert rows.tolist() == [hvd.rank() + 1] * hvd.size() and not rows.requires_grad
    (received * (hvd.rank() + 1)).sum().backward()
    assert uneven.grad.tolist() == [rank + 1.0 for rank in range(hvd.size()) for _ in range(rank + 1)]


@pytest.mark.parametrize("op", [hvd.Sum, hvd.Average])
def test_reducescatter_has_a_gradient(op):
    mine = torch.ones(hvd.size(), 2, requires_grad=True)
    (hvd.reducescatter(mine, op=op, prescale_factor=0.5) * (hvd.rank() + 1)).sum().backward()
    factor = 0.5 * (hvd.size() if op == hvd.Sum else 1)
    assert torch.equal(mine.grad, ((ranks() + 1) * factor).reshape(-1, 1).expand(-1, 2))
    several_of_them = [torch.ones(hvd.size(), requires_grad=True), torch.ones(hvd.size(), requires_grad=True)]
    sum(part.sum() for part in hvd.grouped_reducescatter(several_of_them, op=hvd.Average)).backward()
    assert all(torch.equal(tensor.grad, torch.ones(hvd.size())) for tensor in several_of_them)


def test_grouped_allreduce_has_a_gradient():
    first, second = leaf(1.0), leaf(2.0, 3.0)
    outer, inner = hvd.grouped_allreduce([first, second * (hvd.rank() + 1)], compression=hvd.Compression.fp16)
    (outer.sum() + 2 * inner.sum()).backward()
    assert first.grad.tolist() == [1.0] and second.grad.tolist() == [2.0 * (hvd.rank() + 1)] * 2


def test_asynchronous_operations_take_tensors_that_require_a_gradient():
    weight = leaf(1.0)
    gathered = hvd.synchronize(hvd.allgather_async(weight))
    assert gathered.tolist() == [1.0] * hvd.size() and not gathered.requires_grad


def test_two_operations_in_flight_need_two_names():
    handle = hvd.allreduce_async(torch.ones(2), name="x")
    with pytest.raises(ArgumentError, match="allreduce 'x' is in flight already.*synchronize"):
        hvd.allreduce_async(torch.ones(2), name="x")
    other = hvd.broadcast_async(torch.ones(2), 0, name="x")
    unnamed = [hvd.allreduce_async(torch.ones(2)) for _ in range(2)]
    for each in (handle, other, *unnamed):
        hvd.synchronize(each)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum, name="x").item() == hvd.size()
    handle = hvd.allreduce_async_(torch.ones(2), name="x")
    while not hvd.poll(handle):
        pass
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum, name="x").item() == hvd.size()
    hvd.synchronize(handle)


def test_asynchronous_operations_come_in_the_order_of_the_calls():
    handles = [hvd.allreduce_async(torch.full((100,), float(i)), op=hvd.Sum, name=f"t{i}") for i in range(10)]
    handles.append(hvd.broadcast_async(torch.tensor(hvd.rank()), hvd.size() - 1))
    in_place = torch.ones(3)
    handles.append(hvd.allreduce_async_(in_place, op=hvd.Sum))
    assert hvd.synchronize(handles[-1]) is in_place and in_place[0] == hvd.size()
    assert all(hvd.poll(handle) for handle in handles[:-1])
    assert [hvd.synchronize(handle)[0] for handle in handles[:10]] == [i * hvd.size() for i in range(10)]
    assert hvd.synchronize(handles[10]) == hvd.size() - 1
    with pytest.raises(ArgumentError, match="waited for already"):
        hvd.synchronize(handles[0])


def test_grouped_operations():
    tensors = [torch.full((i + 1,), float(hvd.rank())) for i in range(3)]
    reduced = hvd.grouped_allreduce(tensors, op=hvd.Sum, compression=hvd.Compression.fp16)
    assert [list(t) for t in reduced] == [[ranks().sum()] * (i + 1) for i in range(3)]
    assert hvd.grouped_allreduce_(tensors)[2] is tensors[2]
    assert torch.all(tensors[2] == ranks().mean())
    handle = hvd.grouped_allreduce_async(tensors, op=hvd.Max)
    assert len(hvd.synchronize(handle)) == 3
    gathered = hvd.grouped_allgather([torch.tensor([hvd.rank()]), torch.tensor([True])])
    assert gathered[0].tolist() == list(range(hvd.size())) and gathered[1].all()
    scattered = hvd.grouped_reducescatter([torch.ones(hvd.size()), torch.ones(hvd.size(), 2)], op=hvd.Sum)
    assert [t.tolist() for t in scattered] == [[hvd.size()], [[hvd.size()] * 2]]


def test_allgather_with_unequal_first_dimension():
    gathered = hvd.allgather(torch.full((hvd.rank() + 1, 2), hvd.rank()))
    assert gathered[:, 0].tolist() == [rank for rank in range(hvd.size()) for _ in range(rank + 1)]
    assert hvd.synchronize(hvd.allgather_async(torch.zeros(hvd.rank(), dtype=torch.uint8))).numel() == ranks().sum()


def test_broadcast():
    mine = torch.tensor([hvd.rank()])
    assert hvd.broadcast(mine, hvd.size() - 1).item() == hvd.size() - 1 and mine.item() == hvd.rank()
    assert hvd.broadcast_(mine, 0) is mine and mine.item() == 0
    assert hvd.broadcast_object({"rank": hvd.rank()}, hvd.size() - 1) == {"rank": hvd.size() - 1}
    assert hvd.allgather_object([hvd.rank()]) == [[rank] for rank in range(hvd.size())]
    with pytest.raises(ArgumentError, match="outside"):
        hvd.broadcast(mine, hvd.size())


def test_reducescatter_and_alltoall():
    rows = hvd.size() + 1
    mine = hvd.reducescatter(torch.arange(2.0 * rows).reshape(rows, 2), op=hvd.Sum)
    assert mine.shape == (2 if hvd.rank() == 0 else 1, 2)
    assert mine[0, 0] == hvd.size() * 2 * (hvd.rank() + (hvd.rank() > 0))
    assert hvd.reducescatter(torch.ones(hvd.size()), prescale_factor=2.0, postscale_factor=0.5).tolist() == [1]
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.bool, torch.int64, torch.float16):
        mine = hvd.reducescatter(torch.ones(hvd.size(), 2).to(dtype), op=hvd.Sum, prescale_factor=2.0)
        assert mine.dtype == dtype and mine.tolist() == [[True if dtype == torch.bool else 2 * hvd.size()] * 2]
    assert hvd.grouped_reducescatter([torch.full((hvd.size(),), 3, dtype=torch.int8)])[0].tolist() == [3]
    received = hvd.alltoall(torch.arange(2 * hvd.size()))
    assert received.tolist() == [2 * hvd.rank(), 2 * hvd.rank() + 1] * hvd.size()
    splits = torch.arange(hvd.size())
    values = torch.cat([torch.full((count,), hvd.rank()) for count in splits])
    received, received_splits = hvd.alltoall(values, splits)
    assert received_splits.tolist() == [hvd.rank()] * hvd.size()
    assert received.tolist() == [rank for rank in range(hvd.size()) for _ in range(hvd.rank())]
    with pytest.raises(ArgumentError):
        hvd.alltoall(torch.zeros(hvd.size() * 2 - 1 if hvd.size() > 1 else 2), splits=[5] * hvd.size())


def test_process_sets():
    last = hvd.size() - 1
    ends = hvd.add_process_set(sorted({0, last}))
    assert ends.process_set_id > 0 and ends.included() == (hvd.rank() in (0, last))
    if ends.included():
        assert hvd.allreduce(torch.tensor([1.0]), op=hvd.Sum, process_set=ends).item() == ends.size()
        assert hvd.broadcast(torch.tensor(hvd.rank()), last, process_set=ends).item() == last
        assert hvd.allgather(torch.tensor([hvd.rank()]), process_set=ends).tolist() == ends.ranks
        assert hvd.broadcast_object(hvd.rank(), last, process_set=ends) == last
        hvd.barrier(process_set=ends)
    else:
        assert ends.rank() == -1
        with pytest.raises(ArgumentError, match="outside"):
            hvd.allreduce(torch.tensor([1.0]), process_set=ends)
    hvd.barrier()
    assert hvd.remove_process_set(ends) and not hvd.remove_process_set(ends)
    with pytest.raises(StateError, match="add_process_set"):
        hvd.barrier(process_set=ends)
    assert not hvd.remove_process_set(hvd.global_process_set)
    assert hvd.allreduce(torch.tensor([1.0]), process_set=hvd.global_process_set).item() == 1


def test_another_order_on_one_rank_is_an_error_on_all_that_says_who():
    several()
    with pytest.raises(MismatchError, match="rank 0: broadcast.*rank.* 1.*: allreduce"):
        if hvd.rank() == 0:
            hvd.broadcast(torch.zeros(3), 0)
        else:
            hvd.allreduce(torch.zeros(3))
    with pytest.raises(MismatchError, match=r"float32\[3\].*float32\[4\]"):
        hvd.allreduce(torch.zeros(3 + (hvd.rank() == hvd.size() - 1)))
    with pytest.raises(MismatchError, match="'a'.*'b'"):
        hvd.allreduce(torch.zeros(3), name="a" if hvd.rank() == 0 else "b")
    handle = hvd.allreduce_async(torch.zeros(3), op=hvd.Sum if hvd.rank() == 0 else hvd.Average)
    with pytest.raises(MismatchError, match="Sum.*Average"):
        hvd.synchronize(handle)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == hvd.size()


def test_ranks_with_less_data_join():
    sums = []
    for _ in range(hvd.rank() + 1):
        sums.append(hvd.allreduce(torch.ones(2), op=hvd.Sum)[0].item())
        hvd.barrier()
    assert sums == [hvd.size() - step for step in range(hvd.rank() + 1)]
    assert hvd.join() == hvd.size() - 1
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == hvd.size()


def test_zeros_of_a_joined_rank_are_where_the_tensors_of_the_others_are():
    with pytest.raises(DeviceMemoryError, match="the tensor is on meta"):
        _operations.joined_actions["allreduce"]([("torch.float32", (3,), "meta")], hvd.Sum)


def test_what_cannot_be_done_while_a_rank_has_joined_is_an_error_on_all():
    several()
    with pytest.raises(MismatchError, match="broadcast.*cannot be done when a rank has called join"):
        if hvd.rank() == 0:
            hvd.join()
        else:
            hvd.broadcast(torch.zeros(1), 1)


def small_model():
    torch.manual_seed(3)
    return torch.nn.Linear(4, 2)


def train(optimizer, model, steps, passes=1):
    for _ in range(steps):
        optimizer.zero_grad()
        for _ in range(passes):
            (model(torch.full((3, 4), hvd.rank() + 1.0)).mean() / passes).backward()
        optimizer.step()


@pytest.mark.parametrize("options", [
    {}, {"op": hvd.Sum}, {"compression": hvd.Compression.fp16}, {"backward_passes_per_step": 2},
    {"gradient_predivide_factor": 2.0, "num_groups": 2}])
def test_distributed_optimizer(options):
    model = small_model()
    start = model.weight.detach().clone()
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    optimizer = hvd.DistributedOptimizer(sgd, model.named_parameters(), **options)
    train(optimizer, model, 2, options.get("backward_passes_per_step", 1))
    step = (ranks() + 1).sum() if options.get("op") == hvd.Sum else (ranks() + 1).mean()
    torch.testing.assert_close(model.weight.detach(), start - 2 * step / 2, rtol=1e-3, atol=1e-3)
    optimizer.close()


def test_parameters_have_gradients_of_zeros_before_the_first_backward():
    model = small_model()
    model(torch.ones(1, 4)).sum().backward()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0))
    assert all(torch.all(parameter.grad == 0) for parameter in model.parameters())
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for parameter in model.parameters():
        parameter.grad.zero_()
    start = model.weight.detach().clone()
    model(torch.full((3, 4), hvd.rank() + 1.0)).mean().backward()
    optimizer.step()
    torch.testing.assert_close(model.weight.detach(), start - (ranks() + 1).mean() / 2)
    optimizer.close()


def test_sparse_gradients_are_exchanged_dense():
    embedding = torch.nn.Embedding(hvd.size() + 1, 2, sparse=True)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(embedding.parameters(), lr=1.0))
    start = embedding.weight.detach().clone()
    for _ in range(2):
        optimizer.zero_grad(set_to_none=True)
        embedding(torch.tensor([hvd.rank()])).sum().backward()
        optimizer.step()
    expected = torch.full((hvd.size() + 1, 2), 2.0 / hvd.size())
    expected[-1] = 0
    torch.testing.assert_close(start - embedding.weight.detach(), expected)
    optimizer.close()
    with pytest.raises(NotSupportedError, match="SparseAdam.*use torch.optim.Adam"):
        hvd.DistributedOptimizer(torch.optim.SparseAdam(embedding.parameters()))


def test_the_number_of_backward_passes_can_change_between_steps():
    model = small_model()
    start = model.weight.detach().clone()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0))
    for passes in (2, 1, 3):
        optimizer.set_backward_passes_per_step(passes)
        train(optimizer, model, 1, passes)
    torch.testing.assert_close(model.weight.detach(), start - 3 * (ranks() + 1).mean() / 2)
    with pytest.raises(ArgumentError, match="backward_passes_per_step is 0"):
        optimizer.set_backward_passes_per_step(0)
    model(torch.ones(1, 4)).sum().backward()
    with pytest.raises(StateError, match="after step"):
        optimizer.set_backward_passes_per_step(2)
    optimizer.step()
    optimizer.close()


def test_ranks_with_less_data_join_a_training():
    model = small_model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0))
    start = model.weight.detach().clone()
    train(optimizer, model, hvd.rank() + 1)
    assert hvd.join() == hvd.size() - 1
    if hvd.rank() == hvd.size() - 1:
        moved = sum((ranks()[step:] + 1).sum() / hvd.size() for step in range(hvd.size())) / 2
        torch.testing.assert_close(model.weight.detach(), start - moved, rtol=1e-4, atol=1e-4)
    hvd.broadcast_parameters(model.state_dict(), root_rank=hvd.size() - 1)
    assert len({w for w, in hvd.allgather_object([model.weight.sum().item()])}) == 1


def test_optimizer_state_of_the_root():
    model = small_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 + hvd.rank())
    if hvd.rank() == 0:
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()
    wrapped = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    hvd.broadcast_optimizer_state(wrapped, root_rank=0)
    assert wrapped.param_groups[0]["lr"] == 0.1 and wrapped.state[model.weight]["step"] == 1


def test_batch_norm_has_the_statistics_of_all_ranks():
    norm = hvd.SyncBatchNorm(1, momentum=1.0)
    norm(torch.tensor([[float(hvd.rank())], [float(hvd.rank())]]))
    ranks = torch.arange(float(hvd.size())).repeat(2)
    assert torch.allclose(norm.running_mean, ranks.mean()) and torch.allclose(norm.running_var, ranks.var())


def test_what_is_not_there_is_said():
    model = small_model()
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    with pytest.raises(ArgumentError, match="Average and Sum"):
        hvd.DistributedOptimizer(sgd, op=hvd.Max)
    with pytest.raises(NotSupportedError, match="grouped_allreduce_"):
        hvd.DistributedOptimizer(sgd, process_set=hvd.ProcessSet([0]))


@pytest.mark.parametrize("operation", [hvd.allreduce, hvd.allreduce_, hvd.allgather, hvd.allgather_async])
def test_sparse_tensors_are_refused_before_the_call_is_queued(operation):
    with pytest.raises(NotSupportedError, match=r"sparse tensors are not exchanged; hand over tensor.to_dense\(\)"):
        operation(torch.eye(2).to_sparse())


@pytest.mark.parametrize("operation", [hvd.allgather, hvd.allgather_async, hvd.alltoall, hvd.alltoall_async,
                                       hvd.reducescatter, hvd.reducescatter_async])
def test_tensors_without_rows_are_refused_before_the_call_is_queued(operation):
    with pytest.raises(ArgumentError, match=r"without dimensions has no rows; hand over tensor.reshape\(1\)"):
        operation(torch.tensor(1.0))


def test_operations_work_on_the_stream_of_the_thread_that_asks(monkeypatch):
    """There is no GPU here: what torch would be told."""
    told = []

    class Stream:
        device = "cuda:1"

        def wait_stream(self, other):
            told.append(("waits for", other))

    asked_on, later = Stream(), Stream()

    @contextlib.contextmanager
    def working_on(stream):
        told.append(("works on", stream, threading.current_thread().name))
        yield

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: asked_on)
    monkeypatch.setattr(torch.cuda, "stream", working_on)
    handle = hvd.allreduce_async(ranks())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: later)
    assert hvd.synchronize(handle).tolist() == ranks().tolist()
    assert told == [("works on", asked_on, "slipway-operations"), ("waits for", asked_on)]


def test_the_stream_is_that_of_the_gpu_which_a_tensor_is_on(monkeypatch):
    """Not that of the current one. There is no GPU here: what torch would be asked."""
    used = []

    @contextlib.contextmanager
    def working_on(stream):
        used.append(stream)
        yield

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: f"stream of {device}")
    monkeypatch.setattr(torch.cuda, "stream", working_on)
    tensors = [SimpleNamespace(is_cuda=True, device=device) for device in ("cuda:1", "cuda:2", "cuda:1")]
    AskersStreams([torch.zeros(1), *tensors]).carry_out(lambda: used.append("work"))
    AskersStreams([torch.zeros(1)]).carry_out(lambda: used.append("work"))
    assert used == ["stream of cuda:1", "stream of cuda:2", "work", "stream of None", "work"]
