"""memory_on_gpu.py RANKS: memory that GPUs cannot share is exchanged another way, with the right sums.

Expandable segments of PyTorch go through pinned memory ("staged"), managed memory by the CPU ("cpu"). With RANKS it
starts itself by mpirun; without, a launcher has started it. Without a GPU or PyTorch it says so and ends with status
77, which means skipped.
"""

import ctypes
import json
import os
import shutil

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"  # read when torch allocates for the first time

import on_gpu  # noqa: E402
import slipway  # noqa: E402
import torch  # noqa: E402

COUNT = 3_000_000
ATTACHED_TO_ALL = 1  # CU_MEM_ATTACH_GLOBAL


class Managed:
    """Managed memory of the CUDA driver, with __cuda_array_interface__. It is freed with the process."""

    def __init__(self, count):
        address = ctypes.c_uint64()
        code = ctypes.CDLL("libcuda.so.1").cuMemAllocManaged(ctypes.byref(address), ctypes.c_size_t(4 * count),
                                                             ATTACHED_TO_ALL)
        assert code == 0, f"cuMemAllocManaged: {code}"
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": "<f4", "data": (address.value, False),
                                         "version": 3}


def expandable(count):
    tensor = torch.zeros(count, device="cuda")
    segments = torch.cuda.memory_snapshot()
    assert any(segment.get("is_expandable") for segment in segments), "this PyTorch makes no expandable segments"
    return tensor


def managed(count):
    return torch.as_tensor(Managed(count), device="cuda")


def values_of(rank):
    return (torch.arange(COUNT) % 5 + rank).to(torch.float32)


def check_sums(name, tensor):
    """As a team, a mean; as one call, a sum. Both come late, on a stream of their own."""
    wanted = sum(values_of(rank) for rank in range(slipway.size()))
    team = slipway.Team(name, [tensor])
    stream = torch.cuda.Stream()
    pinned = values_of(slipway.rank()).pin_memory()
    for exchange, expected in ((team.gradients, wanted / slipway.size()), (lambda: slipway.allreduce(tensor), wanted)):
        for _ in range(3):
            with torch.cuda.stream(stream):
                torch.cuda._sleep(20_000_000)
                tensor.copy_(pinned, non_blocking=True)
                exchange()
                copy = tensor.clone()
                stream.synchronize()
            assert torch.equal(copy.cpu(), expected), name


def main():
    folder = on_gpu.join_ranks(__file__)
    tensors = {"expandable": expandable(COUNT), "managed": managed(COUNT)}
    for name, tensor in tensors.items():
        check_sums(name, tensor)
    rank = slipway.rank()
    slipway.finalize()
    if rank == 0:
        teams = json.loads((folder / "comm.json").read_text())["teams"]
        print(json.dumps(teams))
        ways = {team["team"]: team["way"] for team in teams}
        assert ways == {"expandable": "staged", "managed": "cpu"}, ways
        print(f"passed: memory that GPUs cannot share, {ways}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
