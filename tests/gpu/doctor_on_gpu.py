"""doctor_on_gpu.py SLIPWAY: what `slipway doctor` says of a real GPU, with the NCCL of PyTorch where it has one.

Ends with status 1 when the GPU section is not as it must be on a machine with a GPU that works. Without a GPU or
PyTorch it says so and ends with status 77, which means skipped.
"""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

import on_gpu
import torch

MUST_BE_OK = ["gpu driver", "gpu 0", "gpu 0 copies", "nccl", "gpu exchange"]
OF_SEVERAL_GPUS = ["gpu peers", "gpu peer copies"]


def nccl_of_torch():
    """The file that PyTorch has loaded, or None."""
    torch.cuda.init()
    maps = pathlib.Path("/proc/self/maps").read_text()
    found = re.search(r"(/\S*libnccl\.so\S*)", maps)
    return found[1] if found else None


def reach_each_other():
    """Whether there are several GPUs, and CUDA says so of them."""
    pairs = itertools.permutations(range(torch.cuda.device_count()), 2)
    return torch.cuda.device_count() > 1 and all(torch.cuda.can_device_access_peer(*pair) for pair in pairs)


def main():
    on_gpu.require_gpu()
    environment = dict(os.environ)
    nccl = nccl_of_torch()
    if nccl:
        environment["SLIPWAY_NCCL"] = nccl
    # Other checks fail here: there is neither an mpirun nor a trainer.
    done = subprocess.run([sys.argv[1], "doctor", "--json"], env=environment, stdout=subprocess.PIPE, text=True,
                          check=False)
    checks = json.loads(done.stdout)["checks"]
    findings = next(check["findings"] for check in checks if check["check"] == "gpu exchange")
    for finding in findings:
        print(f"{finding['grade']:5} {finding['about']:14} {finding['text']}")
    grades = {finding["about"]: finding["grade"] for finding in findings}
    needed = MUST_BE_OK + (OF_SEVERAL_GPUS if reach_each_other() else [])
    wrong = [about for about in needed if grades.get(about) != "ok"]
    text = next(finding["text"] for finding in findings if finding["about"] == "nccl")
    if nccl and not re.match(r"\d+\.\d+\.\d+: ", text):
        wrong.append("the version of NCCL")
    if wrong:
        sys.exit(f"not ok: {', '.join(wrong)}")
    print("passed: the GPU section of slipway doctor")


if __name__ == "__main__":
    main()
