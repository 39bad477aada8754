#!/usr/bin/python3
"""slipway bench gpu: what an exchange of tensors in GPU memory costs.

First, one tensor: an allreduce over all ranks by Slipway (as a team, as a team that travels through the CPU's memory,
and as one call) and by torch over gloo; beside them the bound of what travels, copies of as many bytes from and to
pinned memory, both ways at once, on all ranks at the same time. Then a training step of ResNet-50: without exchange,
with DistributedDataParallel over gloo and over the backend "slipway", and with slipway.torch.DistributedOptimizer by
the GPU and through the CPU ("staged"); beside the last two the exchange alone. All sides take turns, a training by five
steps; times are medians, of the slowest rank.
"""

import argparse
import errno
import json
import os
import pathlib
import random
import socket
import statistics
import sys
import time

HERE = pathlib.Path(__file__).absolute().parent
sys.path[:0] = [str(HERE.parent / "ddp"), str(HERE / "bench-support/ddp")]

import in_ranks  # noqa: E402

STEPS = 5  # a training runs many in a row: the CPU then queues a step while the GPU is busy with the one before


def arguments_of(line):
    parser = argparse.ArgumentParser(prog="slipway bench gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, metavar="N", help="ranks to start on this machine (2)")
    parser.add_argument("--bytes", type=int, default=100_000_000, metavar="N", help="bytes of the tensor (100000000)")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="measured rounds of each side (10)")
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="images of a step; 0: no training (32)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the tables")
    arguments = parser.parse_args(line)
    if min(arguments.ranks, arguments.bytes // 4, arguments.rounds) < 1 or arguments.batch < 0:
        parser.error("--ranks, --bytes and --rounds count from 1 (--bytes from 4)")
    return arguments


def timed(action, times):
    """Seconds of an action, of the slowest rank: from a common start to the end of all work on the GPU, the mean of
    `times` actions in a row."""
    import numpy
    import slipway
    import torch

    torch.cuda.synchronize()
    slipway.barrier()
    begin = time.perf_counter()
    for _ in range(times):
        action()
    torch.cuda.synchronize()
    taken = numpy.array([(time.perf_counter() - begin) / times])
    slipway.allreduce(taken, "max")
    return float(taken[0])


def order_of(sides, turn):
    """Each comes first as often as the others, and none always after the same other one. The same on all ranks."""
    first = sides[turn % len(sides)]
    rest = [side for side in sides if side != first]
    random.Random(turn).shuffle(rest)
    return [first, *rest]


def in_turns(sides, rounds, times=1, warm_up=3):
    """Side -> seconds of one action, for each round of `times` in a row."""
    seconds = {side: [] for side in sides}
    for turn in range(-warm_up, rounds):
        for side in order_of(list(sides), turn):
            taken = timed(sides[side], times)
            if turn >= 0:
                seconds[side].append(taken)
    return seconds


def copies(count):
    """Copies both ways at once, on streams of their own."""
    import torch

    down, up = torch.cuda.Stream(), torch.cuda.Stream()
    on_device = [torch.ones(count, device="cuda") for _ in range(2)]
    pinned = [torch.ones(count).pin_memory() for _ in range(2)]

    def copy():
        with torch.cuda.stream(down):
            pinned[0].copy_(on_device[0], non_blocking=True)
        with torch.cuda.stream(up):
            on_device[1].copy_(pinned[1], non_blocking=True)
    return copy


def exchanges(count):
    """Side -> an exchange of a tensor that is new in each round."""
    import slipway
    import torch

    tensors = {side: torch.empty(count, device="cuda") for side in ("team", "staged", "allreduce", "gloo")}
    teams = {"team": slipway.Team("bench", [tensors["team"]]),
             "staged": slipway.Team("bench staged", [tensors["staged"]], gpu_exchange="staged")}
    rank = slipway.rank()

    def fresh(side):
        return tensors[side].fill_(rank + 1.0)

    def by_gloo():
        torch.distributed.all_reduce(fresh("gloo"))
        tensors["gloo"] /= slipway.size()

    def by_team(side):
        fresh(side)
        teams[side].gradients()

    sides = {"copies": copies(count), "team": lambda: by_team("team"), "staged": lambda: by_team("staged"),
             "allreduce": lambda: slipway.allreduce(fresh("allreduce"), "mean"), "gloo": by_gloo}
    return sides, tensors


def check(tensors):
    """All exchanges gave the mean, or the figures mean nothing."""
    import slipway

    mean = (slipway.size() + 1) / 2
    for side, tensor in tensors.items():
        if not bool((tensor == mean).all()):
            sys.exit(f"error: {side} gave {tensor[:4].tolist()}... and not {mean}")


def training(batch):
    """Side -> a training step of ResNet-50, or nothing where torchvision is not there."""
    try:
        import torchvision
    except ImportError:
        return {}
    import slipway.torch
    import torch

    images = torch.randn(batch, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (batch,), device="cuda")

    def step_of(model, optimizer):
        def step():
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
        return step

    def plain():
        torch.manual_seed(1)
        model = torchvision.models.resnet50().cuda()
        return model, torch.optim.SGD(model.parameters(), lr=1e-3)

    def wrapped(group):
        model, _ = plain()
        model = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
        return model, torch.optim.SGD(model.parameters(), lr=1e-3)

    def optimized(**settings):
        model, optimizer = plain()
        optimizer = slipway.torch.DistributedOptimizer(optimizer, model.named_parameters(), **settings)
        return step_of(model, optimizer), optimizer.synchronize

    sides = {"local": step_of(*plain()), "gloo": step_of(*wrapped(None)),
             "backend": step_of(*wrapped(torch.distributed.new_group(backend="slipway")))}
    sides["optimizer"], sides["exchange"] = optimized()
    sides["staged"], sides["staged exchange"] = optimized(gpu_exchange="staged")
    return sides


def folder_of_mps():
    """Where a control daemon of NVIDIA's MPS listens, under which ranks that share a GPU compute at once; or None.
    `slipway doctor` looks in the same way (launcher/cli/doctor/mps.h)."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(f"{folder}/control")
        except OSError as error:
            # A socket of another type refuses a datagram, if its process lives.
            return folder if error.errno == errno.EPROTOTYPE else None
    return folder


def require_gpu():
    """Ends the program where nothing can be measured."""
    try:
        import torch
    except ImportError as error:
        sys.exit(f"error: {sys.executable} cannot import torch: {error}\n"
                 f"  next: install PyTorch with CUDA for it: {sys.executable} -m pip install torch")
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU\n  next: slipway doctor says what is missing")


def run_rank(arguments):
    in_ranks.find_package(__file__)
    require_gpu()
    import slipway
    import torch

    slipway.init()
    torch.cuda.set_device(slipway.local_rank() % torch.cuda.device_count())
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = slipway.broadcast_object(listener.getsockname()[1])
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=slipway.rank(),
                                         world_size=slipway.size())
    sides, tensors = exchanges(arguments.bytes // 4)
    seconds = in_turns(sides, arguments.rounds)
    check(tensors)
    steps = {}
    if arguments.batch:
        trained = training(arguments.batch)
        steps = in_turns(trained, arguments.rounds, STEPS) if trained else {}
        if not trained and slipway.rank() == 0:
            print("no torchvision: no training step", file=sys.stderr)
    if slipway.rank() == 0:
        show(document(arguments, seconds, steps), arguments.json)
    torch.distributed.destroy_process_group()
    slipway.finalize()


def rows_of(seconds):
    return [{"side": side, "median_ms": round(1e3 * statistics.median(taken), 3), "min_ms": round(1e3 * min(taken), 3),
             "max_ms": round(1e3 * max(taken), 3)} for side, taken in seconds.items()]


def document(arguments, seconds, steps):
    import slipway
    import torch

    medians = {side: statistics.median(taken) for side, taken in seconds.items()}
    result = {"schema": "slipway.bench.gpu/1", "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
              "ranks": slipway.size(), "gpus": min(slipway.size(), torch.cuda.device_count()),
              "mps": folder_of_mps() is not None, "bytes": arguments.bytes,
              "rows": rows_of(seconds), "share_of_bound": round(medians["copies"] / medians["team"], 3),
              "staged_share_of_bound": round(medians["copies"] / medians["staged"], 3),
              "gloo_ratio": round(medians["gloo"] / medians["team"], 2)}
    if not steps:
        return result
    medians = {side: statistics.median(taken) for side, taken in steps.items()}

    def overhead(side, alone):
        return round((medians[side] - medians["local"]) / medians[alone], 3)
    return {**result, "training": rows_of(steps), "overhead_of_exchange": overhead("optimizer", "exchange"),
            "staged_overhead_of_exchange": overhead("staged", "staged exchange")}


def show(result, as_json):
    if as_json:
        print(json.dumps(result))
        return
    mps = ", under NVIDIA's MPS" if result["mps"] else ""
    print(f"{result['gpu']}, {result['ranks']} ranks on {result['gpus']} GPUs, torch {result['torch']}{mps}")
    for title, rows in ((f"one tensor of {result['bytes'] / 1e6:.0f} MB", result["rows"]),
                        ("a step of ResNet-50", result.get("training"))):
        if not rows:
            continue
        print(f"\n{title}\n{'SIDE':<15} {'MEDIAN':>9} {'MIN':>9} {'MAX':>9}   (ms)")
        for row in rows:
            print(f"{row['side']:<15} {row['median_ms']:>9.2f} {row['min_ms']:>9.2f} {row['max_ms']:>9.2f}")
    print(f"\nbound of the copies / team: {result['share_of_bound']:.3f}, "
          f"staged: {result['staged_share_of_bound']:.3f}")
    print(f"gloo / team: {result['gloo_ratio']:.2f}")
    if "training" in result:
        print(f"(optimizer - local) / exchange: {result['overhead_of_exchange']:.3f}, "
              f"staged: {result['staged_overhead_of_exchange']:.3f}")


if __name__ == "__main__":
    chosen = arguments_of(sys.argv[1:])
    if in_ranks.under_mpirun():
        run_rank(chosen)
    else:
        require_gpu()
        in_ranks.start_ranks(__file__, chosen.ranks)
