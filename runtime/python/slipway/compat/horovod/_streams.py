"""Streams of GPUs: an operation works on the stream of the thread that has asked for it, as in Horovod."""

import torch


class AskersStream:
    """The stream on which the program works now; nothing where it uses no GPU."""

    def __init__(self):
        self._stream = torch.cuda.current_stream() if torch.cuda.is_initialized() else None

    def carry_out(self, work, *arguments):
        """In the queue's thread."""
        if self._stream is None:
            return work(*arguments)
        with torch.cuda.stream(self._stream):
            return work(*arguments)

    def join(self):
        """This thread's current stream goes on after the operation."""
        if self._stream is None:
            return
        current = torch.cuda.current_stream(self._stream.device)
        if current != self._stream:
            current.wait_stream(self._stream)
