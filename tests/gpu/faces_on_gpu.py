"""faces_on_gpu.py [--device cpu] [RANKS]: tensors of a GPU by the backend "slipway" of torch.distributed, and by the
modules in place of Horovod's and Cray's.

With RANKS it starts itself by mpirun; without, a launcher has started it. Without a GPU or PyTorch it says
so and ends with status 77, which means skipped. On the CPU it shows that the script itself is right.
"""

import argparse
import contextlib

import on_gpu
import slipway
import slipway.torch
import torch
import torch.distributed as dist

REDUCED = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8)
MOVED = (torch.float32, torch.bfloat16, torch.bool, torch.complex64)
# Nothing, one row, what the library moves in one call, and what it moves in several.
SHAPES = ((0,), (1,), (5, 13), (70_001,))
DEVICE = torch.device("cpu")


def late(values):
    """The values on the device, where they arrive after the call has returned."""
    if DEVICE.type == "cpu":
        return values.clone()
    tensor = torch.zeros(values.shape, dtype=values.dtype, device=DEVICE)
    torch.cuda._sleep(200_000)
    return tensor.copy_(values.pin_memory(), non_blocking=True)


def empty(shape, dtype):
    return late(torch.zeros(shape, dtype=dtype))


def of_rank(rank, dtype, shape):
    """What a rank hands over: sums of it are exact in every dtype."""
    return ((torch.arange(torch.Size(shape).numel()) % 5 + rank) % 7).to(dtype).view(shape)


def mine(dtype, shape):
    return late(of_rank(dist.get_rank(), dtype, shape))


def of_all(dtype, shape):
    return [of_rank(rank, dtype, shape) for rank in range(dist.get_world_size())]


def total(dtype, shape):
    return sum(each.to(torch.int64) for each in of_all(dtype, shape)).to(dtype)


def same(tensors, wanted):
    assert len(tensors) == len(wanted)
    for index, (tensor, values) in enumerate(zip(tensors, wanted)):
        assert tensor.device.type == DEVICE.type, tensor.device
        assert tensor.dtype == values.dtype and torch.equal(tensor.cpu(), values), index


def check_reductions():
    size, rank = dist.get_world_size(), dist.get_rank()
    for dtype in REDUCED:
        for shape in SHAPES:
            tensor, summed = mine(dtype, shape), total(dtype, shape)
            work = dist.all_reduce(tensor, async_op=True)
            work.wait()
            same([tensor], [summed])
            for root in range(size):
                tensor = mine(dtype, shape)
                dist.reduce(tensor, root)
                same([tensor], [summed if rank == root else of_rank(rank, dtype, shape)])
            parts, output = [mine(dtype, shape) for _ in range(size)], empty(shape, dtype)
            dist.reduce_scatter(output, parts)
            same([output], [summed])
            whole = mine(dtype, (size, *shape))
            dist.reduce_scatter_tensor(output, whole)
            same([output], [total(dtype, (size, *shape))[rank]])
    tensor = mine(torch.float32, (4, 3)).t()
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    same([tensor], [torch.stack(of_all(torch.float32, (4, 3))).amax(0).t()])


def check_copies():
    size = dist.get_world_size()
    for dtype in MOVED:
        for shape in SHAPES:
            for root in range(size):
                tensor = mine(dtype, shape)
                dist.broadcast(tensor, root)
                same([tensor], [of_rank(root, dtype, shape)])
            outputs = [empty(shape, dtype) for _ in range(size)]
            dist.all_gather(outputs, mine(dtype, shape), async_op=True).wait()
            same(outputs, of_all(dtype, shape))
            output = empty((size, *shape), dtype)
            dist.all_gather_into_tensor(output, mine(dtype, shape))
            same([output], [torch.stack(of_all(dtype, shape))])
            check_exchanges(dtype, shape)
    tensor = mine(torch.float32, (4, 3)).t()
    dist.broadcast(tensor, size - 1)
    same([tensor], [of_rank(size - 1, torch.float32, (4, 3)).t()])


def check_exchanges(dtype, shape):
    """Each rank sends each its own tensor, or the root alone."""
    size, rank = dist.get_world_size(), dist.get_rank()
    outputs = [empty(shape, dtype) for _ in range(size)]
    dist.all_to_all(outputs, [late(of_rank(rank + to, dtype, shape)) for to in range(size)])
    same(outputs, [of_rank(other + rank, dtype, shape) for other in range(size)])
    output = empty((size, *shape), dtype)
    dist.all_to_all_single(output, late(torch.stack([of_rank(rank + to, dtype, shape) for to in range(size)])))
    same([output], [torch.stack([of_rank(other + rank, dtype, shape) for other in range(size)])])
    for root in range(size):
        outputs = [empty(shape, dtype) for _ in range(size)] if rank == root else None
        dist.gather(mine(dtype, shape), outputs, root)
        same(outputs or [], of_all(dtype, shape) if rank == root else [])
        output = empty(shape, dtype)
        dist.scatter(output, [late(of_rank(to, dtype, shape)) for to in range(size)] if rank == root else None, root)
        same([output], [of_rank(rank, dtype, shape)])


def check_messages():
    size, rank = dist.get_world_size(), dist.get_rank()
    if size == 1:
        return
    right, left = (rank + 1) % size, (rank - 1) % size
    for dtype in MOVED:
        for shape in SHAPES:
            sent, received = mine(dtype, shape), empty(shape, dtype)
            work = dist.isend(sent, right)
            dist.recv(received, left)
            work.wait()
            sent.zero_()
            same([received], [of_rank(left, dtype, shape)])
    received = empty((4, 3), torch.float32).t()
    works = [dist.irecv(received, left, tag=3), dist.isend(mine(torch.float32, (4, 3)).t(), right, tag=3)]
    for work in works:
        work.wait()
    same([received], [of_rank(left, torch.float32, (4, 3)).t()])
    check_tags()
    outputs = empty((3,), torch.float32)
    both = [dist.P2POp(dist.isend, mine(torch.float32, (3,)), right), dist.P2POp(dist.irecv, outputs, left)]
    for work in dist.batch_isend_irecv(both):
        work.wait()
    same([outputs], [of_rank(left, torch.float32, (3,))])


def check_coalesced():
    """The future of messages that are one work: its waiter and its callbacks find what was received."""
    size, rank = dist.get_world_size(), dist.get_rank()
    if size == 1:
        return
    group, shape = dist.distributed_c10d._get_default_group(), (70_001,)
    for receive in (lambda future: future.wait()[1][0].clone(),
                    lambda future: future.then(lambda done: done.value()[1][0].clone()).wait()):
        received = empty(shape, torch.float32)
        group._start_coalescing(DEVICE)
        dist.isend(mine(torch.float32, shape), (rank + 1) % size)
        dist.irecv(received, (rank - 1) % size)
        same([receive(group._end_coalescing(DEVICE).get_future())],
             [of_rank((rank - 1) % size, torch.float32, shape)])


def check_tags():
    """Messages meet by tag, in order for each, also from any rank."""
    size, rank = dist.get_world_size(), dist.get_rank()
    if rank == 1:
        for value, tag in ((1, 7), (2, 8), (3, 7)):
            dist.send(late(torch.full((2,), value)), 0, tag=tag)
    if rank == 0:
        got = [empty((2,), torch.int64) for _ in range(3)]
        for work in [dist.irecv(tensor, 1, tag=tag) for tensor, tag in zip(got, (8, 7, 7))]:
            work.wait()
        same(got, [torch.full((2,), value) for value in (2, 1, 3)])
        tensor = empty((2,), torch.int64)
        seen = {dist.recv(tensor, tag=9): tensor[0].item() for _ in range(size - 1)}
        assert seen == {other: other for other in range(1, size)}, seen
    else:
        dist.send(late(torch.full((2,), rank)), 0, tag=9)


def check_objects():
    size, rank = dist.get_world_size(), dist.get_rank()
    got = [None] * size
    dist.all_gather_object(got, ("of", rank))
    assert got == [("of", other) for other in range(size)]
    listed = [("root", rank)]
    dist.broadcast_object_list(listed, size - 1)
    assert listed == [("root", size - 1)]
    dist.barrier()


class OnlyDlpack:
    """A tensor as another library shows it: by DLPack alone, which names no stream. What makes it has ended."""

    def __init__(self, tensor):
        self.tensor = tensor
        if tensor.is_cuda:
            torch.cuda.current_stream().synchronize()

    def __dlpack__(self):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


class OnlyCudaArray:
    """A tensor as CuPy shows an array: by __cuda_array_interface__ alone, with the stream that makes it."""

    def __init__(self, tensor):
        self.tensor = tensor
        legacy = 1
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "version": 3,
                                         "stream": torch.cuda.current_stream().cuda_stream or legacy}


def check_other_libraries():
    """Memory of torch in arrays that are no tensors, for Slipway."""
    size, rank = slipway.size(), slipway.rank()
    total_of_ranks = size * (size + 1) / 2
    for shown in (OnlyDlpack,) if DEVICE.type == "cpu" else (OnlyDlpack, OnlyCudaArray):
        for count in (3, 70_001):
            array = shown(late(torch.full((count,), rank + 1.0)))
            slipway.allreduce(array, "sum")
            same([array.tensor], [torch.full((count,), total_of_ranks)])
            array = shown(late(torch.full((count,), rank + 1.0)))
            slipway.broadcast(array, root=size - 1)
            same([array.tensor], [torch.full((count,), float(size))])


def check_blocks():
    """Memory of Slipway that is no tensor, for torch."""
    if DEVICE.type == "cpu":
        return
    size, rank = slipway.size(), slipway.rank()
    block = slipway.alloc((5, 13), "float32", device=DEVICE.index)
    assert hasattr(block, "__cuda_array_interface__") and not isinstance(block, torch.Tensor)
    tensor = torch.as_tensor(block, device=DEVICE)
    assert tensor.data_ptr() == block.__cuda_array_interface__["data"][0] and not tensor.any()
    tensor.fill_(rank + 1.0)
    torch.cuda.current_stream().synchronize()  # the block names no stream
    slipway.allreduce(block, "sum")
    same([tensor], [torch.full((5, 13), size * (size + 1) / 2)])


class Training:
    """A model of which every rank knows what one step with the batches of all ranks makes of it."""

    def __init__(self):
        torch.manual_seed(3)
        self.whole = self._model()
        torch.manual_seed(3 + slipway.rank())  # what is broadcast must come from rank 0
        self.model = self._model()
        self.sgd = torch.optim.SGD(self.model.parameters(), lr=0.1)

    @staticmethod
    def _model():
        return torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).to(DEVICE)

    @staticmethod
    def _loss(model, rank):
        inputs = torch.randn(8, 5, generator=torch.Generator().manual_seed(rank)).to(DEVICE)
        return ((model(inputs) - inputs.sum(1, keepdim=True))**2).mean()

    def check_step(self, optimizer):
        """One step from the parameters of rank 0 is that of the mean gradient."""
        optimizer.zero_grad()
        self._loss(self.model, slipway.rank()).backward()
        optimizer.step()
        (sum(self._loss(self.whole, rank) for rank in range(slipway.size())) / slipway.size()).backward()
        torch.optim.SGD(self.whole.parameters(), lr=0.1).step()
        for (name, ours), theirs in zip(self.model.named_parameters(), self.whole.parameters()):
            assert ours.device.type == DEVICE.type and torch.allclose(ours, theirs, rtol=1e-5, atol=1e-6), name


def check_horovod():
    import slipway.compat.horovod.torch as hvd
    hvd.init()
    size, rank = hvd.size(), hvd.rank()
    ranks = torch.arange(1.0, size + 1)
    for dtype in (torch.float32, torch.float16, torch.uint8):
        tensor = late(torch.full((1000,), rank + 1).to(dtype))
        same([hvd.allreduce(tensor, op=hvd.Sum)], [torch.full((1000,), ranks.sum().item()).to(dtype)])
        handle = hvd.allreduce_async_(tensor, op=hvd.Max)
        assert hvd.synchronize(handle) is tensor
        same([tensor], [torch.full((1000,), size).to(dtype)])
    same([hvd.allgather(late(torch.full((2, 3), rank)))],
         [torch.arange(size).repeat_interleave(2).view(-1, 1).repeat(1, 3)])
    same([hvd.broadcast(late(torch.full((3,), rank)), size - 1)], [torch.full((3,), size - 1)])
    same(hvd.grouped_allreduce([late(torch.full((3,), rank + 1.0)) for _ in range(2)]), [ranks.mean().repeat(3)] * 2)


def check_step_of_horovod():
    import slipway.compat.horovod.torch as hvd
    training = Training()
    optimizer = hvd.DistributedOptimizer(training.sgd, training.model.named_parameters())
    hvd.broadcast_parameters(training.model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    training.check_step(optimizer)
    optimizer.close()


def check_cray():
    import slipway.compat.cray.torch as cdl
    size, rank = cdl.get_nranks(), cdl.get_rank()
    cdl.init(2, 1, 2000)
    mean = torch.arange(1.0, size + 1).mean()
    for step in range(2):
        arrays = [late(torch.full((1000,), rank + 1.0 + step)), late(torch.full((2, 3), 5.0))]
        same(cdl.gradients(arrays, 0), [(mean + step).repeat(1000), torch.full((2, 3), 5.0)])
    same([cdl.average(late(torch.full((3,), rank + 1.0)))], [mean.repeat(3)])
    weights = [late(torch.full((3,), float(rank))), late(torch.full((2, 2), rank + 1.0))]
    assert cdl.check_buffers_match(weights) == (size > 1)
    same(cdl.broadcast(weights, 0), [torch.zeros(3), torch.ones(2, 2)])
    assert cdl.check_buffers_match(weights) == 0


def check_step_of_cray():
    import slipway.compat.cray.torch as cdl
    training = Training()
    training.check_step(cdl.DistributedOptimizer(training.sgd, verb=0))


@contextlib.contextmanager
def on_side_stream(side):
    """Between the program's stream before and after, as torch demands. None: on the program's stream."""
    if side is None:
        yield
        return
    here = torch.cuda.current_stream()
    side.wait_stream(here)
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)  # gradients come late
        yield
    here.wait_stream(side)


def check_step_after_backward_on_a_side_stream():
    """The last parameter gets no gradient, so step() hands the last ones over, where another stream is current."""
    def trained(side):
        torch.manual_seed(5)
        layers = [torch.nn.Linear(40, 1000), torch.nn.Tanh(), torch.nn.Linear(1000, 600), torch.nn.Linear(600, 1)]
        model = torch.nn.Sequential(*layers).to(DEVICE)
        named = [*model.named_parameters(), ("unused", torch.nn.Parameter(torch.ones(3, device=DEVICE)))]
        sgd = torch.optim.SGD([parameter for _, parameter in named], lr=0.01)
        optimizer = slipway.torch.DistributedOptimizer(sgd, named)
        for step in range(3):
            made = torch.Generator().manual_seed(10 * step + slipway.rank())
            inputs = torch.randn(8, 40, generator=made).to(DEVICE)
            optimizer.zero_grad()
            with on_side_stream(side):
                (model(inputs) - 1).square().mean().backward()
            optimizer.step()
        optimizer.close()
        return torch.cat([parameter.detach().cpu().flatten() for _, parameter in named])
    expected = trained(None)
    ours = trained(None if DEVICE.type == "cpu" else torch.cuda.Stream())
    assert torch.allclose(ours, expected, rtol=1e-5, atol=1e-6) and ours[-3:].tolist() == [1, 1, 1]


OPERATIONS = (check_reductions, check_copies, check_messages, check_coalesced, check_objects, check_horovod, check_cray,
              check_other_libraries)
# What needs a torch that knows GPUs.
ON_GPUS_OF_TORCH = (check_blocks, check_step_of_horovod, check_step_of_cray, check_step_after_backward_on_a_side_stream)


@contextlib.contextmanager
def new_stream():
    if DEVICE.type == "cpu":
        yield
        return
    with torch.cuda.stream(torch.cuda.Stream()):
        yield


def main():
    global DEVICE
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("ranks", nargs="?", type=int)
    options = parser.parse_args()
    if options.device == "cuda":
        on_gpu.require_gpu()
    if options.ranks:
        on_gpu.start_ranks(__file__, options.ranks, "--device", options.device)
    dist.init_process_group("slipway")
    if options.device == "cuda":
        on_gpu.use_gpu_of_rank()
        DEVICE = torch.device("cuda", torch.cuda.current_device())
    for check in (*OPERATIONS, *ON_GPUS_OF_TORCH):
        check()
        with new_stream():
            check()
        if slipway.rank() == 0:
            print(f"passed: {check.__name__} on {slipway.size()} ranks, {options.device}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
