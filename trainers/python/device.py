"""Where the network computes: `--device`."""

import torch

import slipway
from slipway.trainers.options import UsageError


def chosen(arguments):
    """The device of this rank: with several GPUs in sight the ranks of a node take turns. It is torch's current one then.
    After slipway.init(). UsageError when there is no GPU where one is needed."""
    device = _device_of(arguments.device)
    if arguments.precision == "fp16" and device.type == "cpu":
        raise UsageError("--precision fp16: trains on GPUs only: give --precision bf16")
    return device


def _device_of(word):
    if word == "cpu" or word == "auto" and not torch.cuda.is_available():
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise UsageError("--device cuda: torch sees no GPU: ask for one with launch.gpus_per_rank, use a torch that is built "
                         "with CUDA, or leave the option out")
    device = torch.device("cuda", slipway.local_rank() % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def name_of(device):
    """As people know it."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
