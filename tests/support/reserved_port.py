"""A port of this machine that no other program is given while the test has it."""

import contextlib
import socket


@contextlib.contextmanager
def reserved_port():
    """Connections are refused until a program of the test listens there, which it may."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the listener that is to take it
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
