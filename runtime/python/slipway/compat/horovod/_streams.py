"""Streams of GPUs: an operation works on the streams of the thread that has asked for it, as in Horovod."""

import contextlib

import torch


class AskersStreams:
    """The streams on which the program works now: with these tensors, else on its GPU. None where it uses no GPU."""

    def __init__(self, tensors=()):
        devices = {tensor.device: None for tensor in tensors if tensor.is_cuda}  # in the order of the tensors
        used = torch.cuda.is_initialized()
        self._streams = [torch.cuda.current_stream(device) for device in devices or [None]] if used else []

    def carry_out(self, work, *arguments):
        """In the queue's thread."""
        with contextlib.ExitStack() as working_on:
            for stream in self._streams:
                working_on.enter_context(torch.cuda.stream(stream))
            return work(*arguments)

    def join(self):
        """This thread's current streams go on after the operation."""
        for stream in self._streams:
            current = torch.cuda.current_stream(stream.device)
            if current != stream:
                current.wait_stream(stream)
