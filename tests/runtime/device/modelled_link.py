#!/usr/bin/python3
"""What the exchange through the CPU costs on the fake driver, whose copies take the time of a link of that bandwidth.

One tensor: copies of its bytes from and to pinned memory, both ways at once, which is the bound; and a team that travels
through the CPU. Then a step of ResNet-50's gradients: a backward pass that only takes time, alone and with the exchange,
and the exchange alone. Sides take turns; times are medians, of the slowest rank.

What is not modelled: ranks share no link, kernels take the time of this processor, and each copy costs its time too.
So bandwidths far below that of memory are to be taken.
"""

import argparse
import ctypes
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

PYTHON = "/usr/bin/python3"
NON_BLOCKING = 1  # a stream that does not wait for the default one
HANDED_OVER = 1 << 20  # bytes, as DistributedOptimizer does


def arguments_of(line):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="a build folder with the tests")
    parser.add_argument("--ranks", type=int, default=2, help="ranks to start (2)")
    parser.add_argument("--bandwidth", type=float, default=1, help="GB/s of a link, each way (1)")
    parser.add_argument("--bytes", type=int, default=100_000_000, help="of the tensor (100000000)")
    parser.add_argument("--width", type=int, default=64, help="channels of the first layers of ResNet-50 (64)")
    parser.add_argument("--backward", type=float, default=0.4, help="seconds of a backward pass (0.4)")
    parser.add_argument("--rounds", type=int, default=10, help="measured rounds (10)")
    return parser.parse_args(line)


def start_ranks(arguments):
    build = arguments.build.absolute()
    fake = build / "tests/fake_driver/libcuda.so.1"
    settings = {
        "SLIPWAY_FAKE_DRIVER": fake, "SLIPWAY_FAKE_GPU_BANDWIDTH": arguments.bandwidth,
        "SLIPWAY_FAKE_GPU_MEMORY": 8 * arguments.bytes + (1 << 30), "SLIPWAY_LIBRARY": build / "lib/libslipway.so",
        "PYTHONPATH": build / "lib/slipway/python", "OMPI_ALLOW_RUN_AS_ROOT": 1, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1,
    }
    environment = os.environ | {name: str(value) for name, value in settings.items()}
    command = ["mpirun", "--oversubscribe", "-n", str(arguments.ranks), PYTHON, "-B", __file__, *sys.argv[1:]]
    return subprocess.run(command, env=environment).returncode


class Gpu:
    """The driver's functions, as a program uses them."""

    def __init__(self):
        self.driver = ctypes.CDLL(os.environ["SLIPWAY_FAKE_DRIVER"], mode=ctypes.RTLD_GLOBAL)
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, entry, *arguments):
        error = getattr(self.driver, entry)(*arguments)
        if error != 0:
            raise RuntimeError(f"{entry} of the fake driver failed: {error}")

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
        return stream

    def memory(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def pinned(self, size):
        pointer = ctypes.c_void_p()
        self.call("cuMemAllocHost_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer


class Array:
    """float32 on the GPU, made by a stream."""

    def __init__(self, address, count, stream):
        self.shape = (count,)
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": "<f4", "data": (address, False), "version": 3,
                                         "stream": stream.value}


def resnet50(width):
    """Elements of each gradient, the first layer first."""
    counts, channels = [width * 3 * 49, width, width], width
    for factor, blocks in ((1, 3), (2, 4), (4, 6), (8, 3)):
        inner = width * factor
        for block in range(blocks):
            counts += [channels * inner, inner, inner, inner * inner * 9, inner, inner, inner * 4 * inner,
                       4 * inner, 4 * inner]
            if block == 0:
                counts += [channels * 4 * inner, 4 * inner, 4 * inner]
            channels = 4 * inner
    return [*counts, channels * 1000, 1000]


class Copies:
    """`size` bytes each way, at once."""

    def __init__(self, gpu, size):
        self.gpu, self.size = gpu, ctypes.c_size_t(size)
        self.streams = gpu.stream(), gpu.stream()
        self.on_gpu, self.pinned = (gpu.memory(size), gpu.memory(size)), (gpu.pinned(size), gpu.pinned(size))

    def __call__(self):
        self.gpu.call("cuMemcpyDtoHAsync_v2", self.pinned[0], self.on_gpu[0], self.size, self.streams[0])
        self.gpu.call("cuMemcpyHtoDAsync_v2", self.on_gpu[1], self.pinned[1], self.size, self.streams[1])
        for stream in self.streams:
            self.gpu.call("cuStreamSynchronize", stream)


class Step:
    """A backward pass makes gradients one after the other, the last layer first, in the time of their elements."""

    def __init__(self, gpu, stream, counts, seconds):
        import slipway

        place = gpu.memory(4 * sum(counts)).value
        arrays = []
        for count in counts:
            arrays.append(Array(place, count, stream))
            place += 4 * count
        self.team = slipway.Team("net", arrays, gpu_exchange="staged")
        self.counts, self.seconds = counts, seconds

    def backward(self, submit=lambda made: None):
        begin, whole, done, made = time.perf_counter(), sum(self.counts), 0, []
        for index in reversed(range(len(self.counts))):
            done += self.counts[index]
            time.sleep(max(0.0, begin + self.seconds * done / whole - time.perf_counter()))
            made.append(index)
            if 4 * sum(self.counts[i] for i in made) >= HANDED_OVER or index == 0:
                submit(made)
                made = []

    def with_exchange(self):
        self.backward(self.team.submit_many)
        self.team.wait()


def measure(gpu, stream, sides, rounds):
    """Seconds of each side in each round."""
    import numpy
    import slipway

    def timed(side):
        slipway.barrier()
        begin = time.perf_counter()
        side()
        gpu.call("cuStreamSynchronize", stream)
        taken = numpy.array([time.perf_counter() - begin])
        slipway.allreduce(taken, "max")
        return float(taken[0])

    times = {name: [] for name in sides}
    for turn in range(-1, rounds):  # the first round has more to do
        for name in random.Random(turn).sample(sorted(sides), len(sides)):
            seconds = timed(sides[name])
            if turn >= 0:
                times[name].append(seconds)
    return times


def run_rank(arguments):
    import slipway

    slipway.init()
    gpu = Gpu()
    stream = gpu.stream()
    array = Array(gpu.memory(arguments.bytes).value, arguments.bytes // 4, stream)
    team = slipway.Team("one", [array], gpu_exchange="staged")
    step = Step(gpu, stream, resnet50(arguments.width), arguments.backward)
    sides = {"copies": Copies(gpu, arguments.bytes), "team": team.wait, "backward": step.backward,
             "step": step.with_exchange, "exchange": step.team.wait}
    medians = {name: statistics.median(times) for name, times in
               measure(gpu, stream, sides, arguments.rounds).items()}
    if slipway.rank() == 0:
        print(json.dumps({
            "ranks": arguments.ranks, "gigabytes_per_s": arguments.bandwidth, "rounds": arguments.rounds,
            "milliseconds": {name: round(1000 * seconds, 1) for name, seconds in medians.items()},
            "share_of_bound": round(medians["copies"] / medians["team"], 3),
            "share_of_exchange": round((medians["step"] - medians["backward"]) / medians["exchange"], 3)}))
    team.unregister()
    step.team.unregister()
    slipway.finalize()
    return 0


if __name__ == "__main__":
    given = arguments_of(sys.argv[1:])
    sys.exit(run_rank(given) if "SLIPWAY_FAKE_DRIVER" in os.environ else start_ranks(given))
