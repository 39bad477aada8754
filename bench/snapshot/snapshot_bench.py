#!/usr/bin/python3
"""slipway bench snapshot: how long slipway.checkpoint.save holds up a training, for the weights of ResNet-50 (102 MB).

Two sides take turns on each rank: one copy of all weights within memory, and save(). The memory of both has been used
before. A save is written to the end before the next turn, so both sides find an idle disk. Times of the slowest rank.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).absolute().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "ddp"), str(HERE / "bench-support/ddp")]

import in_ranks  # noqa: E402

SIDES = ("copy", "save", "published")


def arguments_of(line):
    parser = argparse.ArgumentParser(prog="slipway bench snapshot", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=1, metavar="N", help="ranks to start on this machine (1)")
    parser.add_argument("--turns", type=int, default=15, metavar="N", help="measured turns of each side (15)")
    parser.add_argument("--folder", help="folder for the checkpoints; default: a temporary one")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    arguments = parser.parse_args(line)
    if arguments.ranks < 1 or arguments.turns < 1:
        parser.error("--ranks and --turns count from 1")
    return arguments


def make_model():
    import torch

    class Weights(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ParameterList(torch.nn.Parameter(torch.randn(shape))
                                                 for shape in in_ranks.resnet50_shapes())

    return Weights()


def seconds_of(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def measure(model, folder, turns):
    """Side -> seconds of each turn, of the slowest rank. Collective."""
    import numpy
    import slipway
    import torch

    weights = torch.cat([each.detach().reshape(-1) for each in model.parameters()])
    copy = torch.zeros_like(weights)
    seconds = {side: [] for side in SIDES}
    for turn in range(-2, turns):  # the first ones warm up
        actions = {"copy": lambda: copy.copy_(weights),
                   "save": lambda: slipway.checkpoint.save(model, step=turn + 2, keep=1, folder=folder),
                   "published": slipway.checkpoint.wait}
        for side in SIDES:
            slipway.barrier()
            taken = numpy.array([seconds_of(actions[side])])
            slipway.allreduce(taken, "max")
            if turn >= 0:
                seconds[side].append(float(taken[0]))
    return seconds


def document(seconds, ranks):
    medians = {side: statistics.median(seconds[side]) for side in SIDES}
    return {"schema": "slipway.bench.snapshot/1", "ranks": ranks, "bytes": in_ranks.bytes_of(in_ranks.resnet50_shapes()),
            "turns": len(seconds["copy"]),
            "rows": [{"side": side, "median_ms": round(1e3 * medians[side], 3), "min_ms": round(1e3 * min(seconds[side]), 3),
                      "max_ms": round(1e3 * max(seconds[side]), 3)} for side in SIDES],
            "ratio": round(medians["save"] / medians["copy"], 4)}


def print_table(result):
    print(f"weights of ResNet-50, {result['bytes'] / 1e6:.1f} MB, {result['ranks']} ranks, {result['turns']} turns\n")
    print(f"{'SIDE':<10} {'MEDIAN':>9} {'MIN':>9} {'MAX':>9}   (ms)")
    for row in result["rows"]:
        print(f"{row['side']:<10} {row['median_ms']:>9.1f} {row['min_ms']:>9.1f} {row['max_ms']:>9.1f}")
    print(f"\nsave / one copy of all weights: {result['ratio']:.3f}")


def run_rank(arguments):
    in_ranks.find_package(__file__)
    import slipway
    import torch

    torch.set_num_threads(1)
    slipway.init()
    with tempfile.TemporaryDirectory() as temporary:
        folder = slipway.broadcast_object(arguments.folder or temporary)
        seconds = measure(make_model(), folder, arguments.turns)
        slipway.barrier()
    if slipway.rank() == 0:
        result = document(seconds, slipway.size())
        if arguments.json:
            print(json.dumps(result))
        else:
            print_table(result)
    slipway.finalize()


if __name__ == "__main__":
    chosen = arguments_of(sys.argv[1:])
    if in_ranks.under_mpirun():
        run_rank(chosen)
    else:
        in_ranks.start_ranks(__file__, chosen.ranks)
