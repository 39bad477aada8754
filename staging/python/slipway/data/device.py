"""Batches on a GPU: the reader decodes into pinned memory, and the next batch is copied while the program computes."""

import warnings

import numpy as np
import torch

from slipway import data


def open_pinned(dataset, options):
    """A reader whose batches lie in memory that the GPU copies from by itself. Where none can be pinned: its own memory,
    after a warning."""
    with data.open(dataset, **{**options, "prefetch": 1, "threads": 1}) as small:  # only to learn the sizes
        fields = small.fields.values()
    slots = options.get("prefetch", 4) + 1
    try:
        memory = [[_pinned(*field) for field in fields] for _ in range(slots)]
    except RuntimeError as error:
        reason = str(error).splitlines()[0].split(". ")[0]
        warnings.warn(f"batches are copied to the GPU from ordinary memory, which is slower: {reason}; next: raise `ulimit -l`, "
                      "or lower prefetch", RuntimeWarning, stacklevel=2)
        memory = None
    return data.open(dataset, memory=memory, **options)


def _pinned(dtype, shape):
    """An array over pinned memory; torch need not have its type."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return torch.empty(size, dtype=torch.uint8, pin_memory=True).numpy().view(dtype).reshape(shape)


class Copies:
    """To one GPU, on a stream of its own. Of a dict only the tensors are copied."""

    def __init__(self, device):
        self._stream = torch.cuda.Stream(device)

    def begin(self, values):
        """Returns at once."""
        with torch.cuda.stream(self._stream):
            copied = {name: value.to(self._stream.device, non_blocking=True) if isinstance(value, torch.Tensor) else value
                      for name, value in values.items()}
            return copied, self._stream.record_event()

    def finish(self, copy):
        """Waits until the memory that was copied from is free. Only for this copy, not for the GPU."""
        copy[1].synchronize()

    def take(self, copy):
        """The copied values, for the current stream: it waits, the CPU does not."""
        values, copied = copy
        stream = torch.cuda.current_stream(self._stream.device)
        stream.wait_event(copied)
        for value in values.values():
            if isinstance(value, torch.Tensor):
                value.record_stream(stream)
        return values


def one_ahead(batches, copies):
    """Of (mark, values) gives (mark, values on the device), each copied while the caller computes with the one before.
    Values of `batches` need be valid only until the next are taken. An error comes in the turn of its batch."""
    before, copy, error = None, None, None
    batches = iter(batches)
    try:
        while True:
            try:
                mark, values = next(batches)
                copy = copies.begin(values)
            except StopIteration:
                break
            except Exception as raised:
                error = raised
                break
            if before is not None:
                yield before[0], copies.take(before[1])
            copies.finish(copy)
            before = mark, copy
        if before is not None:
            yield before[0], copies.take(before[1])
        if error is not None:
            raise error
    finally:
        if copy is not None:
            copies.finish(copy)
