"""What the scripts of this folder share: they need a PyTorch that sees a GPU, and start themselves on several ranks.

A script that had to leave out a check, because the machine cannot do it, ends with status 77, too.
"""

import ctypes
import os
import pathlib
import platform
import shutil
import sys
import tempfile

SKIPPED = 77


def skip(why):
    print(f"skipped: {why}", flush=True)
    sys.exit(SKIPPED)


try:
    import torch
except ImportError as reason:
    skip(reason)


def require_gpu():
    if not torch.cuda.is_available():
        skip("torch sees no GPU; tests/gpu/run_all runs this on a machine that has one")


def mpirun():
    """The words of Open MPI that start ranks; their number follows."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [shutil.which("mpirun") or sys.exit("error: there is no mpirun in PATH"), *root, "--oversubscribe", "-n"]


def start_ranks(program, ranks, *arguments):
    """Replaces this process by an mpirun of `program`."""
    words = [*mpirun(), str(ranks), sys.executable, str(pathlib.Path(program).absolute()), *arguments]
    os.execv(words[0], words)


def use_gpu_of_rank():
    """After slipway.init()."""
    import slipway

    require_gpu()
    torch.cuda.set_device(slipway.local_rank() % torch.cuda.device_count())


def join_ranks(program):
    """With RANKS as its argument, `program` starts itself on so many ranks. Else it joins the job, and uses its GPU.
    Returns a new folder of this rank: in that of rank 0 stands comm.json when the job has ended."""
    import slipway

    require_gpu()
    if len(sys.argv) > 1:
        start_ranks(program, sys.argv[1])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="slipway-gpu-"))
    os.environ["SLIPWAY_METRICS"] = str(folder / "metrics.jsonl")
    slipway.init()
    use_gpu_of_rank()
    return folder


def _ask_driver(call, *arguments):
    code = getattr(ctypes.CDLL("libcuda.so.1"), call)(*arguments)
    assert code == 0, f"{call}: {code}"


def _bus_of(device):
    """Place on the PCI bus of a GPU that torch numbers so."""
    number, bus = ctypes.c_int(), ctypes.create_string_buffer(32)
    _ask_driver("cuInit", 0)
    _ask_driver("cuDeviceGet", ctypes.byref(number), device)
    _ask_driver("cuDeviceGetPCIBusId", bus, len(bus), number)
    return bus.value.decode()


def gpus_of_ranks():
    """Node, and place on its PCI bus, of the GPU of each rank. Collective; after use_gpu_of_rank()."""
    import slipway

    return slipway.allgather_object((platform.node(), _bus_of(torch.cuda.current_device())))


def _obstacle_to_direct():
    """GPUs that this rank does not see are left out: CUDA says nothing of them."""
    own, number_of = torch.cuda.current_device(), {_bus_of(each): each for each in range(torch.cuda.device_count())}
    for _, bus in gpus_of_ranks():
        other = number_of.get(bus, own)
        if other != own and not torch.cuda.can_device_access_peer(own, other):
            return f"GPU {own} cannot reach GPU {other}"
    return ""


def _obstacle_to_events():
    """Shares an event between the processes of all ranks, as torch does it."""
    import slipway

    own, handle, obstacle = torch.cuda.Event(interprocess=True), None, ""
    try:
        own.record()
        handle = bytes(own.ipc_handle())
    except RuntimeError as error:
        obstacle = f"an event cannot be shared: {error}"
    opened = []
    for rank, other in enumerate(slipway.allgather_object(handle)):
        if rank == slipway.rank() or other is None:
            continue
        try:
            opened.append(torch.cuda.Event.from_ipc_handle(torch.device("cuda", torch.cuda.current_device()), other))
        except RuntimeError as error:
            obstacle = f"an event of rank {rank} cannot be opened: {error}"
    opened.clear()
    slipway.barrier()  # `own` lives until here
    return " ".join(obstacle.split())


def obstacles():
    """"direct" and "events" -> why the GPUs of the ranks cannot do that, as CUDA says without Slipway; "": they can.
    The same on all ranks. Collective; after use_gpu_of_rank()."""
    import slipway

    found = slipway.allgather_object({"direct": _obstacle_to_direct(), "events": _obstacle_to_events()})
    return {what: next((each[what] for each in found if each[what]), "") for what in found[0]}
