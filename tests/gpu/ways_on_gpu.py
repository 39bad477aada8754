"""ways_on_gpu.py RANKS: single allreduces choose their way by times, and comm.json says which and why.

Prints the time of an allreduce of each size, and what was measured. comm.json also has the threads that add up a team
which travels through pinned memory. With RANKS, at least 2, it starts itself by mpirun; without, a launcher has started
it. Without a GPU or PyTorch it says so and ends with status 77, which means skipped. So it does where no allreduce was
waited for as SLIPWAY_GPU_WAIT asks.
"""

import json
import os
import shutil
import statistics
import time

import on_gpu
import slipway
import torch
import ways_taken

SIZES = [4096 << shift for shift in range(14)]  # up to 32 MiB
TIMES = 9


def microseconds_of(size):
    """Of an allreduce, the median of this rank."""
    tensor = torch.empty(size // 4, device="cuda")
    taken = []
    for _ in range(TIMES):
        tensor.fill_(slipway.rank() + 1.0)
        torch.cuda.synchronize()
        slipway.barrier()
        begin = time.perf_counter()
        slipway.allreduce(tensor, "mean")
        torch.cuda.synchronize()
        taken.append(1e6 * (time.perf_counter() - begin))
    assert bool((tensor == (slipway.size() + 1) / 2).all()), size
    return statistics.median(taken)


def exchange_staged():
    tensor = torch.full((25_000_000,), slipway.rank() + 1.0, device="cuda")
    team = slipway.Team("staged", [tensor], gpu_exchange="staged")
    for _ in range(20):
        team.gradients()
    assert bool((tensor == (slipway.size() + 1) / 2).all())


def check_report(report, gpus, obstacles, times):
    (staged,) = report["teams"]
    waits = os.environ.get("SLIPWAY_GPU_WAIT", "cpu")
    where = f"{len(gpus)} ranks, {ways_taken.number_of(gpus)}, SLIPWAY_GPU_WAIT={waits}"
    print(f"{where}: bytes and us of slipway.allreduce")
    print("  ".join(f"{size}: {taken:.0f}" for size, taken in times.items()))
    print(json.dumps({"gpu_allreduce": report["gpu_allreduce"], "sum_threads": staged["sum_threads"]}))
    assert staged["way"] == "staged" and staged["sum_threads"] >= 1, staged
    ways_taken.require_allreduces(report, len(gpus), waits, obstacles)
    print(f"passed: ways of single allreduces on {where}")


def main():
    folder = on_gpu.join_ranks(__file__)
    rank, gpus, obstacles = slipway.rank(), on_gpu.gpus_of_ranks(), on_gpu.obstacles()
    times = {size: microseconds_of(size) for size in SIZES}
    exchange_staged()
    slipway.finalize()
    try:
        if rank == 0:
            check_report(json.loads((folder / "comm.json").read_text()), gpus, obstacles, times)
    except ways_taken.Refused as reason:
        on_gpu.skip(reason)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
