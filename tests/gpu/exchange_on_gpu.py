"""exchange_on_gpu.py RANKS: on a machine with a GPU, what is exchanged there has the bits that the CPU gives.

Starts itself by mpirun. Without a GPU or PyTorch it says so and ends with status 77, which means skipped. So it does
where the GPUs cannot do what SLIPWAY_GPU_WAIT asks for, after all other checks.
"""

import json
import os
import shutil

import on_gpu
import slipway
import slipway.torch
import torch
import ways_taken

SETTINGS = [{}, {"clip_norm": 0.5}, {"check_finite": True}, {"accumulate": 2}, {"compress": "bf16"},
            {"compress": "fp16"}, {"mode": "delayed", "lag": 1}, {"mode": "delayed", "lag": 2, "sync_first": 2},
            {"op": "sum"}, {"bucket_bytes": 4096}, {"gpu_exchange": "staged"}]
DTYPES = (torch.float32, torch.bfloat16)
SHAPES = [(7,), (300, 400), (0,), (1,), (64, 64, 3, 3), (2_000_003,)]


def made(step, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1000 * step + slipway.rank())
    return [torch.randn(shape, generator=generator).to(dtype) for shape in SHAPES]


def same(a, b):
    return a.dtype == b.dtype and torch.equal(a.cpu().view(torch.uint8), b.cpu().view(torch.uint8))


def check_teams():
    for number, settings in enumerate(SETTINGS):
        for dtype in DTYPES:
            if dtype != torch.float32 and "compress" in settings:
                continue
            check_team(f"{number} {dtype}", settings, dtype)


def check_direct_teams():
    for dtype in DTYPES:
        check_team(f"direct {dtype}", {"gpu_exchange": "direct"}, dtype)


def check_report(folder, waits, obstacles):
    """After the end of the job, on rank 0: the GPUs have added up the teams of check_direct_teams()."""
    report = json.loads((folder / "comm.json").read_text())
    ways_taken.require_direct(report, [f"direct {dtype} gpu" for dtype in DTYPES], waits, obstacles)


def check_team(name, settings, dtype):
    on_cpu = [torch.zeros(shape, dtype=dtype) for shape in SHAPES]
    on_gpu = [torch.zeros(shape, dtype=dtype, device="cuda") for shape in SHAPES]
    teams = [slipway.Team(f"{name} cpu", on_cpu, **settings), slipway.Team(f"{name} gpu", on_gpu, **settings)]
    stream = torch.cuda.Stream()
    for step in range(6):
        values = made(step, dtype)
        pinned = [value.pin_memory() for value in values]
        for tensor, value in zip(on_cpu, values):
            tensor.copy_(value)
        with torch.cuda.stream(stream if step % 2 else torch.cuda.current_stream()):
            torch.cuda._sleep(2_000_000)  # the tensors come late
            for index, (tensor, value) in enumerate(zip(on_gpu, pinned)):
                tensor.copy_(value, non_blocking=True)
                if index % 2:
                    teams[1].submit(index)
            teams[0].gradients()
            teams[1].gradients()
            copies = [tensor.clone() for tensor in on_gpu]  # on the stream that waited
            torch.cuda.current_stream().synchronize()
        assert teams[0].delivered() == teams[1].delivered(), (name, step)
        for index, (a, b) in enumerate(zip(on_cpu, copies)):
            assert same(a, b), (name, step, index)
    torch.cuda.synchronize()
    for team in teams:
        team.unregister()


def check_collectives():
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64):
        for op in ("sum", "mean", "min", "max", "product"):
            for count in (1, 1000, 1_500_000):
                value = (torch.rand(count, generator=torch.Generator().manual_seed(slipway.rank())) * 4).to(dtype)
                on_gpu = value.cuda()
                slipway.allreduce(value, op)
                slipway.allreduce(on_gpu, op)
                assert same(value, on_gpu), (dtype, op, count)
    model = torch.nn.Linear(10, 10).cuda()
    slipway.torch.broadcast_parameters(model.state_dict())
    slipway.check_match(dict(model.named_parameters()))
    rows = torch.full((slipway.rank() + 1, 3), float(slipway.rank()), device="cuda")
    gathered = slipway.allgather(rows)
    assert gathered.device.type == "cuda" and len(gathered) == sum(r + 1 for r in range(slipway.size()))
    assert gathered[-1, 0].item() == slipway.size() - 1


def check_streams():
    """What a stream makes late is exchanged, and that stream goes on with the result."""
    size, rank = slipway.size(), slipway.rank()
    stream = torch.cuda.Stream()
    for count in (3, 1_000_000):
        rows = [torch.full((size, count), float(each), pin_memory=True) for each in range(size)]
        there, root = torch.zeros(size, count, device="cuda"), torch.zeros(size, count, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            there.copy_(rows[rank], non_blocking=True)
            root.copy_(rows[rank], non_blocking=True)
            summed = slipway.reduce_scatter(there)
            gathered = slipway.allgather(there)
            came, _ = slipway.alltoall(there)
            slipway.broadcast(root, root=size - 1)
            there.zero_()  # after the calls have taken it
            results = [each.clone() for each in (summed, gathered, came, root)]
            stream.synchronize()
        wanted = [sum(rows)[:1], torch.cat(rows), torch.cat([each[:1] for each in rows]), rows[-1]]
        assert all(same(*pair) for pair in zip(results, wanted)), count


def check_memory():
    """Memory of the library on the GPU is zeroed, exchanged where it lies, and used again."""
    gpu = torch.cuda.current_device()
    for dtype in (torch.float32, torch.bfloat16):
        values = torch.rand(3_000_000, generator=torch.Generator().manual_seed(slipway.rank())).to(dtype)
        there = slipway.alloc((3, 1_000_000), dtype, device=gpu)
        assert there.is_cuda and not there.any(), dtype
        there.copy_(values.view(3, -1))
        slipway.allreduce(values)
        slipway.allreduce(there)
        assert same(values, there.view(-1)), dtype
        address = there.data_ptr()
        del there
        slipway.barrier()  # any call frees what is not used
        again = slipway.alloc((3, 1_000_000), dtype, device=gpu)
        assert again.data_ptr() == address and not again.any(), dtype


def check_training():
    """DistributedOptimizer and the backend train as one process with the whole batch does."""
    import torch.distributed
    torch.distributed.init_process_group("slipway")
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(slipway.size() * 16, 20, generator=generator).cuda()
    wanted = inputs.sum(1, keepdim=True)
    mine = slice(slipway.rank() * 16, slipway.rank() * 16 + 16)
    losses = {}
    for side in ("whole", "optimizer", "ddp"):
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.Tanh(), torch.nn.Linear(50, 1)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        if side == "optimizer":
            optimizer = slipway.torch.DistributedOptimizer(optimizer, model.named_parameters())
        if side == "ddp":
            model = torch.nn.parallel.DistributedDataParallel(model)
        for _ in range(30):
            optimizer.zero_grad()
            part = slice(None) if side == "whole" else mine
            ((model(inputs[part]) - wanted[part])**2).mean().backward()
            optimizer.step()
        losses[side] = ((model(inputs) - wanted)**2).mean().item()
    assert abs(losses["optimizer"] - losses["whole"]) < 1e-4 * losses["whole"] + 1e-6, losses
    assert abs(losses["ddp"] - losses["whole"]) < 1e-4 * losses["whole"] + 1e-6, losses
    tensor = torch.full((3,), slipway.rank() + 1.0, device="cuda")
    outputs = [torch.empty_like(tensor) for _ in range(slipway.size())]
    torch.distributed.all_gather(outputs, tensor)
    assert [output[0].item() for output in outputs] == [rank + 1.0 for rank in range(slipway.size())]
    work = torch.distributed.broadcast(tensor, 0, async_op=True)
    work.wait()
    assert tensor[0].item() == 1.0
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def wait_text(obstacles):
    asked = os.environ.get("SLIPWAY_GPU_WAIT")
    if asked is None:
        return ""
    return f", SLIPWAY_GPU_WAIT={asked}{' (refused here)' if asked == 'events' and obstacles['events'] else ''}"


def main():
    folder = on_gpu.join_ranks(__file__)
    rank, gpus, obstacles = slipway.rank(), on_gpu.gpus_of_ranks(), on_gpu.obstacles()
    where = f"on {len(gpus)} ranks, {ways_taken.number_of(gpus)}{wait_text(obstacles)}"
    # One rank has nothing to combine.
    direct = [check_direct_teams] if len(gpus) > 1 and not obstacles["direct"] else []
    for check in (check_collectives, check_streams, check_teams, *direct, check_memory, check_training):
        check()
        if rank == 0:
            print(f"passed: {check.__name__} {where}", flush=True)
    slipway.finalize()
    try:
        if rank == 0 and len(gpus) > 1:
            check_report(folder, os.environ.get("SLIPWAY_GPU_WAIT", "cpu"), obstacles)
            print(f"passed: check_report {where}")
    except ways_taken.Refused as reason:
        on_gpu.skip(reason)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
