"""In place of horovod.common.util: what scripts ask of it."""

import sys

from slipway.errors import ArgumentError, NotSupportedModuleError


def check_extension(ext_name, *_, **__):
    """An ImportError unless it is horovod.torch that is asked for."""
    if ext_name != "horovod.torch":
        raise NotSupportedModuleError(f"{ext_name} is not there: hand gradients to slipway.gradients as NumPy arrays")


def gpu_available(ext_base_name, verbose=False):
    """Whether torch sees a GPU: tensors there are exchanged."""
    torch = sys.modules.get("torch")
    return ext_base_name == "horovod.torch" and torch is not None and torch.cuda.is_available()


def num_rank_is_power_2(num_rank):
    return num_rank > 0 and num_rank & (num_rank - 1) == 0


def check_num_rank_power_of_2(num_rank):
    """A ValueError unless it is one."""
    if not num_rank_is_power_2(num_rank):
        raise ArgumentError(f"{num_rank} ranks are not a power of 2")


def split_list(values, parts):
    """`parts` lists, as even as can be; the first ones get one more."""
    least, more = divmod(len(values), parts)
    ends = [part * least + min(part, more) for part in range(parts + 1)]
    return [values[begin:end] for begin, end in zip(ends, ends[1:])]
