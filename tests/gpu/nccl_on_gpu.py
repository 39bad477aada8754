"""nccl_on_gpu.py RANKS: where each rank has a GPU of its own, NCCL makes the sums that the CPU makes. Where ranks share
one, teams are refused by name, and single allreduces go another way.

With RANKS it starts itself by mpirun; without, a launcher has started it. Without a GPU or PyTorch it says so and ends
with status 77, which means skipped.
"""

import json
import os
import shutil

os.environ["SLIPWAY_GPU_EXCHANGE"] = "nccl"  # read by slipway.init()

import on_gpu  # noqa: E402
import slipway  # noqa: E402
import torch  # noqa: E402
import ways_taken  # noqa: E402

COUNT = 1_000_000
GAP = 50  # numbers between two tensors
STEPS = 20
OPS = ("sum", "mean")


def values_of(rank, step, tensor=0):
    """Whole numbers, so that sums of all ranks have the same bits in any order."""
    return (torch.arange(COUNT) % 1000 + 7 * step + 100 * tensor + rank).to(torch.float32)


def is_right(tensor, op, step, number=0):
    """A mean may be rounded before the sum, or after it."""
    wanted = sum(values_of(rank, step, number) for rank in range(slipway.size()))
    if op == "sum":
        return torch.equal(tensor.cpu(), wanted)
    return torch.allclose(tensor.cpu(), wanted / slipway.size(), rtol=1e-6, atol=0)


def fill_late(tensors, step):
    sources = [values_of(slipway.rank(), step, number).pin_memory() for number in range(len(tensors))]
    torch.cuda._sleep(2_000_000)
    for tensor, source in zip(tensors, sources):
        tensor.copy_(source, non_blocking=True)
    return sources  # to be kept until the copies have ended


def check_steps(name, tensors, op):
    team = slipway.Team(name, tensors, op=op, gpu_exchange="nccl")
    for step in range(STEPS):
        sources = fill_late(tensors, step)
        team.gradients()
        assert all(is_right(tensor, op, step, number) for number, tensor in enumerate(tensors)), (name, step)
        del sources
    team.unregister()


def check_teams():
    for op in OPS:
        check_steps(f"one {op}", [torch.zeros(COUNT, device="cuda")], op)
        block = torch.full((2 * COUNT + GAP,), -1.0, device="cuda")
        check_steps(f"two {op}", [block[:COUNT], block[COUNT + GAP:]], op)
        assert bool((block[COUNT:COUNT + GAP] == -1).all()), op


def check_refusal():
    try:
        slipway.Team("nccl", [torch.zeros(COUNT, device="cuda")], gpu_exchange="nccl")
    except slipway.DeviceError as error:
        assert "share GPU" in str(error), error
    else:
        raise AssertionError("ranks that share a GPU were connected by NCCL")


def check_allreduces():
    tensor = torch.zeros(COUNT, device="cuda")
    for op in OPS:
        for step in range(STEPS):
            sources = fill_late([tensor], step)
            slipway.allreduce(tensor, op)
            assert is_right(tensor, op, step), (op, step)
            del sources


def main():
    folder = on_gpu.join_ranks(__file__)
    rank, gpus = slipway.rank(), on_gpu.gpus_of_ranks()
    for check in (check_refusal if ways_taken.share(gpus) else check_teams, check_allreduces):
        check()
        if rank == 0:
            print(f"passed: {check.__name__} on {len(gpus)} ranks, {ways_taken.number_of(gpus)}", flush=True)
    slipway.finalize()
    if rank == 0:
        ways_taken.require_nccl(json.loads((folder / "comm.json").read_text()), gpus)
        print("passed: the ways in comm.json")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
