#!/usr/bin/python3
"""slipway bench ddp: what an optimizer step costs with the gradients of ResNet-50 (161 tensors, 102 MB).

Models with next to no compute in the same processes, which take turns step by step, so that what disturbs the machine
disturbs all of them: without exchange, torch DistributedDataParallel (DDP) over gloo, over MPI where torch has it and
over the backend "slipway", each also with gradient_as_bucket_view ("views"), and slipway.torch.DistributedOptimizer.
Backward makes new gradients at each step. Medians over all steps, of the slowest rank. The overhead is what a step
takes longer than one without exchange.

Two sides show what is possible. "ddp alone" is DDP that exchanges nothing: no backend can take less. "limit" is one
allreduce of as many bytes in memory of slipway_alloc, all of them rewritten before, and nothing else.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import time

HERE = pathlib.Path(__file__).absolute().parent
sys.path[:0] = [str(HERE), str(HERE / "bench-support/ddp")]

import in_ranks  # noqa: E402

NOTHING, LIMIT, OPTIMIZER = "local", "limit", "slipway"
VIEWS = " views"
ALONE = "ddp alone"


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
    """Parameters of these shapes in a chain. Backward makes a gradient for each, from the last to the first, as a copy,
    and computes nothing."""

    def __new__(cls, shapes, gradients):
        import torch

        class Layer(torch.autograd.Function):
            @staticmethod
            def forward(ctx, chain, parameter, gradient):
                ctx.gradient = gradient
                return chain.clone()

            @staticmethod
            def backward(ctx, chain):
                return chain, ctx.gradient.clone(), None

        class Chain(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.ParameterList(torch.nn.Parameter(torch.zeros(shape)) for shape in shapes)

            def forward(self, chain):
                for parameter, gradient in zip(self.layers, gradients):
                    chain = Layer.apply(chain, parameter, gradient)
                return chain

        return Chain()


def backends():
    """What DDP is measured over: side -> name for torch."""
    import torch

    mpi = {"mpi": "mpi"} if torch.distributed.is_mpi_available() else {}
    return {ALONE: "gloo", "gloo": "gloo", **mpi, "backend": "slipway"}


def exchange_nothing(_, bucket):
    """A hook of DDP: done at once."""
    import torch

    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


def over_ddp(model, side, group):
    import torch

    views = side.endswith(VIEWS)
    model = torch.nn.parallel.DistributedDataParallel(model, process_group=group, gradient_as_bucket_view=views)
    if side.startswith(ALONE):
        model.register_comm_hook(None, exchange_nothing)
    return model


def make_sides(shapes):
    """Side -> function that makes one step."""
    import slipway
    import slipway.torch
    import torch

    gradients = [torch.full(shape, slipway.rank() + 1.0) for shape in shapes]
    groups = {side: torch.distributed.new_group(backend=backend) for side, backend in backends().items()}
    ways = {NOTHING: None, **groups, **{side + VIEWS: group for side, group in groups.items()}, OPTIMIZER: None}
    sides = {}
    for side, group in ways.items():
        model = Model(shapes, gradients)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        if group is not None:
            model = over_ddp(model, side, group)
        elif side == OPTIMIZER:
            optimizer = slipway.torch.DistributedOptimizer(optimizer, model.named_parameters())
        sides[side] = (model, optimizer)
    return sides


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

    shared = slipway.alloc(in_ranks.bytes_of(in_ranks.resnet50_shapes()) // 4)
    seconds = {side: [] for side in [*sides, LIMIT]}
    order = list(seconds)
    for step in range(-3, steps):  # the first ones warm up
        random.Random(step).shuffle(order)  # the same on all ranks; none always comes after the same other one
        for side in order:
            shared.fill(1)
            slipway.barrier()
            taken = numpy.array([allreduce_of(shared) if side == LIMIT else step_of(*sides[side])])
            slipway.allreduce(taken, "max")
            if step >= 0:
                seconds[side].append(float(taken[0]))
    return seconds


def allreduce_of(array):
    """Seconds of one allreduce."""
    import slipway

    begin = time.perf_counter()
    slipway.allreduce(array, "mean")
    return time.perf_counter() - begin


def check(sides, ranks, steps):
    """All exchanges gave the mean to every step, or the figures mean nothing."""
    mean = (ranks + 1) / 2
    for side in (side for side in sides if side != NOTHING and not side.startswith(ALONE)):
        moved = -next(iter(sides[side][0].parameters())).flatten()[0].item() / 0.01
        if abs(moved - mean * steps) > 1e-2 * mean * steps:
            sys.exit(f"error: {side} moved a weight by {moved} gradients and not {mean * steps}")


def row_of(side, seconds, medians):
    over = medians[side] - (0 if side == LIMIT else medians[NOTHING])
    return {"side": side, "median_ms": round(1e3 * medians[side], 3), "min_ms": round(1e3 * min(seconds[side]), 3),
            "max_ms": round(1e3 * max(seconds[side]), 3), "overhead_ms": round(1e3 * over, 3)}


def document(seconds, shapes, ranks):
    medians = {side: statistics.median(seconds[side]) for side in seconds}
    rows = [row_of(side, seconds, medians) for side in seconds]
    over = {row["side"]: row["overhead_ms"] for row in rows}
    return {"schema": "slipway.bench.ddp/1", "ranks": ranks, "tensors": len(shapes), "bytes": in_ranks.bytes_of(shapes),
            "steps": len(seconds[NOTHING]), "rows": rows,
            "overhead_ratio": _ratio(over, OPTIMIZER), "backend_overhead_ratio": _ratio(over, "backend"),
            "limit_overhead_ratio": _ratio(over, LIMIT),
            "backend_steps_ratio": round(medians["gloo"] / medians["backend"], 4)}


def _ratio(overhead, side):
    """To that of DDP over gloo; None where that took nothing."""
    return round(overhead[side] / overhead["gloo"], 4) if overhead["gloo"] > 0 else None


def print_table(result):
    print(f"{result['tensors']} gradients of ResNet-50, {result['bytes'] / 1e6:.1f} MB, {result['ranks']} ranks, "
          f"{result['steps']} steps of each, in turns\n")
    print(f"{'EXCHANGE':<15} {'MEDIAN':>9} {'MIN':>9} {'MAX':>9} {'OVERHEAD':>9}   (ms)")
    for row in result["rows"]:
        print(f"{row['side']:<15} {row['median_ms']:>9.1f} {row['min_ms']:>9.1f} {row['max_ms']:>9.1f} "
              f"{row['overhead_ms']:>9.1f}")
    print(f"\nsteps a second, DDP over the backend slipway / over gloo: {result['backend_steps_ratio']:.2f}")
    if result["overhead_ratio"] is not None:
        print("overhead beside that of DDP over gloo:")
        print(f"  DDP over the backend slipway  {result['backend_overhead_ratio']:.3f}")
        print(f"  DistributedOptimizer          {result['overhead_ratio']:.3f}")
        print(f"  the exchange alone            {result['limit_overhead_ratio']:.3f}")


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
