#!/usr/bin/python3
"""slipway bench ddp: what an optimizer step costs with the gradients of ResNet-50 (161 tensors, 102 MB).

Four models with next to no compute in the same processes: without exchange, torch DistributedDataParallel over gloo and
over the backend "slipway", and slipway.torch.DistributedOptimizer. They take turns step by step, so that what disturbs
the machine disturbs all of them; medians over all steps, of the slowest rank. The overhead is what a step takes longer
than one without exchange.
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).absolute().parent
sys.path[:0] = [str(HERE), str(HERE / "bench-support/ddp")]

import in_ranks  # noqa: E402

SIDES = ("local", "gloo", "backend", "slipway")
EXCHANGES = SIDES[1:]


def arguments_of(line):
    parser = argparse.ArgumentParser(prog="slipway bench ddp", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, metavar="N", help="ranks to start on this machine (2)")
    parser.add_argument("--steps", type=int, default=20, metavar="N", help="measured steps of each side (20)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    arguments = parser.parse_args(line)
    if arguments.ranks < 1 or arguments.steps < 1:
        parser.error("--ranks and --steps count from 1")
    return arguments


class Model:
    """Parameters of these shapes in a chain. Backward hands out a gradient for each, from the last to the first, and
    computes nothing; torch copies it, as it stays ours."""

    def __new__(cls, shapes, gradients):
        import torch

        class Layer(torch.autograd.Function):
            @staticmethod
            def forward(ctx, chain, parameter, gradient):
                ctx.gradient = gradient
                return chain.clone()

            @staticmethod
            def backward(ctx, chain):
                return chain, ctx.gradient, None

        class Chain(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.ParameterList(torch.nn.Parameter(torch.zeros(shape)) for shape in shapes)

            def forward(self, chain):
                for parameter, gradient in zip(self.layers, gradients):
                    chain = Layer.apply(chain, parameter, gradient)
                return chain

        return Chain()


def make_sides(shapes):
    """Side -> (model, optimizer); and the gradients that backward hands out."""
    import slipway
    import slipway.torch
    import torch

    gradients = [torch.full(shape, slipway.rank() + 1.0) for shape in shapes]
    models = {side: Model(shapes, gradients) for side in SIDES}
    optimizers = {side: torch.optim.SGD(models[side].parameters(), lr=0.01) for side in SIDES}
    models["gloo"] = torch.nn.parallel.DistributedDataParallel(models["gloo"])
    models["backend"] = torch.nn.parallel.DistributedDataParallel(
        models["backend"], process_group=torch.distributed.new_group(backend="slipway"))
    optimizers["slipway"] = slipway.torch.DistributedOptimizer(optimizers["slipway"],
                                                               models["slipway"].named_parameters())
    return {side: (models[side], optimizers[side]) for side in SIDES}


def step_of(model, optimizer):
    """Seconds of one training step."""
    import torch

    chain = torch.zeros(1, requires_grad=True)
    begin = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    model(chain).sum().backward()
    optimizer.step()
    return time.perf_counter() - begin


def measure(sides, steps):
    """Side -> seconds of each step, of the slowest rank."""
    import numpy
    import slipway

    seconds = {side: [] for side in sides}
    orders = list(itertools.permutations(sides))  # none always comes after the same other one
    for step in range(-3, steps):  # the first ones warm up
        for side in orders[step % len(orders)]:
            slipway.barrier()
            taken = numpy.array([step_of(*sides[side])])
            slipway.allreduce(taken, "max")
            if step >= 0:
                seconds[side].append(float(taken[0]))
    return seconds


def check(sides, ranks, steps):
    """All exchanges gave the mean to every step, or the figures mean nothing."""
    mean = (ranks + 1) / 2
    for side in EXCHANGES:
        moved = -next(iter(sides[side][0].parameters())).flatten()[0].item() / 0.01
        if abs(moved - mean * steps) > 1e-2 * mean * steps:
            sys.exit(f"error: {side} moved a weight by {moved} gradients and not {mean * steps}")


def document(seconds, shapes, ranks):
    medians = {side: statistics.median(seconds[side]) for side in SIDES}
    overhead = {side: medians[side] - medians["local"] for side in EXCHANGES}
    return {"schema": "slipway.bench.ddp/1", "ranks": ranks, "tensors": len(shapes), "bytes": in_ranks.bytes_of(shapes),
            "steps": len(seconds["local"]),
            "rows": [{"side": side, "median_ms": round(1e3 * medians[side], 3),
                      "min_ms": round(1e3 * min(seconds[side]), 3), "max_ms": round(1e3 * max(seconds[side]), 3),
                      "overhead_ms": round(1e3 * overhead.get(side, 0.0), 3)} for side in SIDES],
            "overhead_ratio": _ratio(overhead, "slipway"), "backend_overhead_ratio": _ratio(overhead, "backend")}


def _ratio(overhead, side):
    """To that of DDP over gloo; None where that took nothing."""
    return round(overhead[side] / overhead["gloo"], 4) if overhead["gloo"] > 0 else None


def print_table(result):
    print(f"{result['tensors']} gradients of ResNet-50, {result['bytes'] / 1e6:.1f} MB, {result['ranks']} ranks, "
          f"{result['steps']} steps of each, in turns\n")
    print(f"{'EXCHANGE':<10} {'MEDIAN':>9} {'MIN':>9} {'MAX':>9} {'OVERHEAD':>9}   (ms)")
    for row in result["rows"]:
        print(f"{row['side']:<10} {row['median_ms']:>9.1f} {row['min_ms']:>9.1f} {row['max_ms']:>9.1f} "
              f"{row['overhead_ms']:>9.1f}")
    if result["overhead_ratio"] is not None:
        print(f"\noverhead of DistributedOptimizer / overhead of torch DDP over gloo: {result['overhead_ratio']:.3f}")
        print(f"overhead of DDP over the backend slipway / the same: {result['backend_overhead_ratio']:.3f}")


def run_rank(arguments):
    in_ranks.find_package(__file__)
    import slipway
    import torch

    torch.set_num_threads(1)
    slipway.init()
    port = slipway.broadcast_object(_free_port())
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    torch.distributed.init_process_group("gloo", init_method=f"tcp://{os.environ['MASTER_ADDR']}:{port}",
                                         rank=slipway.rank(), world_size=slipway.size())
    shapes = in_ranks.resnet50_shapes()
    sides = make_sides(shapes)
    seconds = measure(sides, arguments.steps)
    check(sides, slipway.size(), arguments.steps + 3)
    if slipway.rank() == 0:
        result = document(seconds, shapes, slipway.size())
        print(json.dumps(result) if arguments.json else "", end="\n" if arguments.json else "")
        if not arguments.json:
            print_table(result)
    torch.distributed.destroy_process_group()
    slipway.finalize()


def _free_port():
    import socket
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    chosen = arguments_of(sys.argv[1:])
    if in_ranks.under_mpirun():
        run_rank(chosen)
    else:
        # Without exchange the gradients are new memory at each step, with one they are not: let the allocator keep what it
        # has, or the first touch of new pages would hide what an exchange costs.
        os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(1 << 30))
        os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(1 << 40))
        in_ranks.start_ranks(__file__, chosen.ranks)
