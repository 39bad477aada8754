"""usage_on_gpu.py PROGRAM: what the helper slipway-gpus measures of a GPU that computes.

PROGRAM is slipway-gpus. `slipway run` writes what it says into gpus.json and energy.json. Without a GPU
or PyTorch it says so and ends with status 77, which means skipped.
"""

import json
import os
import subprocess
import sys
import time

import on_gpu
import torch

SECONDS = 4
BYTES = 1 << 30
WATTS = (5, 3000)  # of one GPU that computes: wrong units are a factor of 1000 away


def name_of_gpu():
    """As in CUDA_VISIBLE_DEVICES, of the first one that torch sees."""
    uuid = getattr(torch.cuda.get_device_properties(0), "uuid", None)
    if uuid is not None:
        return f"GPU-{uuid}"
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]


def says_power():
    """Whether the driver knows the power of the GPU; it does not of each."""
    asked = subprocess.run(["nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits"], check=False,
                           stdout=subprocess.PIPE, text=True).stdout.split()
    return bool(asked) and asked[0].replace(".", "", 1).isdigit()


def compute(seconds):
    held = torch.ones(BYTES // 4, device="cuda")
    matrix = torch.randn(4096, 4096, device="cuda")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        matrix = matrix @ matrix / matrix.norm()
        torch.cuda.synchronize()
    return held


def measured(program):
    """The last line of slipway-gpus after some seconds of work, and how long it looked."""
    torch.cuda.init()
    start = time.monotonic()
    with subprocess.Popen([program, "energy-use", "1", "-", name_of_gpu()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as started:
        held = compute(SECONDS)
        output, _ = started.communicate(timeout=60)
    del held
    lines = [json.loads(line) for line in output.splitlines()]
    assert len(lines) > 2, output  # the first one, one each second, and the last one
    return lines[-1], time.monotonic() - start


def check_use(use):
    total = torch.cuda.get_device_properties(0).total_memory
    assert use["name"] == torch.cuda.get_device_name(0), use
    assert BYTES <= use["memory_used_bytes"] <= use["memory_peak_bytes"] <= use["memory_bytes"], use
    assert use["memory_bytes"] >= total, (use, total)
    assert 0 < use["mean_utilisation"] <= 1 and use["measured_s"] > SECONDS / 2, use


def main():
    on_gpu.require_gpu()
    program = sys.argv[1]
    names = json.loads(subprocess.run([program, "names"], check=True, stdout=subprocess.PIPE, text=True).stdout)
    assert torch.cuda.get_device_name(0) in names, names
    sums, seconds = measured(program)
    check_use(sums["uses"][0])
    watts = None
    if says_power():
        watts = sums["energies"][0]["joules"] / seconds
        assert WATTS[0] < watts < WATTS[1], (sums, seconds)
    print(f"passed: memory and utilisation of the GPU, power {'unknown' if watts is None else f'{watts:.0f} W'}")


if __name__ == "__main__":
    main()
