"""ways_on_gpu.py RANKS: single allreduces choose their way by times, and comm.json says which and why.

Prints the time of an allreduce of each size, and what was measured. comm.json also has the threads that add up a team
which travels through pinned memory. With RANKS, at least 2, it starts itself by mpirun; without, a launcher has started
it. Without a GPU or PyTorch it says so and ends with status 77, which means skipped.
"""

import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

import on_gpu
import slipway
import torch

SIZES = [4096 << shift for shift in range(14)]  # up to 32 MiB
TIMES = 9
SMALLEST, LARGEST = 4096, 16 << 20  # that the library measures


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


def check_ways(report, ranks, waits):
    (group,) = report["gpu_allreduce"]
    measured = group["measured_ms"]
    assert group["ranks"] == ranks and measured, group
    assert (measured[0]["bytes"], measured[-1]["bytes"]) == (SMALLEST, LARGEST), group
    assert all(each["staged"] > 0 for each in measured), group
    assert "without_direct" in group or all(each["direct"] > 0 for each in measured), group
    assert group["ways"][-1]["up_to_bytes"] is None, group
    assert group.get("waits", waits) == waits, group  # missing where no size goes by the GPUs


def main():
    if len(sys.argv) > 1:
        on_gpu.require_gpu()
        on_gpu.start_ranks(__file__, sys.argv[1])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="slipway-gpu-"))
    os.environ["SLIPWAY_METRICS"] = str(folder / "metrics.jsonl")
    slipway.init()
    on_gpu.use_gpu_of_rank()
    rank, ranks = slipway.rank(), slipway.size()
    times = {size: microseconds_of(size) for size in SIZES}
    exchange_staged()
    slipway.finalize()
    if rank == 0:
        report = json.loads((folder / "comm.json").read_text())
        (staged,) = report["teams"]
        waits = os.environ.get("SLIPWAY_GPU_WAIT", "cpu")
        print(f"{ranks} ranks, SLIPWAY_GPU_WAIT={waits}: bytes and us of slipway.allreduce")
        print("  ".join(f"{size}: {taken:.0f}" for size, taken in times.items()))
        print(json.dumps({"gpu_allreduce": report["gpu_allreduce"], "sum_threads": staged["sum_threads"]}))
        check_ways(report, ranks, waits)
        assert staged["way"] == "staged" and staged["sum_threads"] >= 1, staged
        print(f"passed: ways of single allreduces on {ranks} ranks, SLIPWAY_GPU_WAIT={waits}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
