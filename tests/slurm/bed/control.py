"""How another process gives the supervisor orders: one JSON line each way over a socket in the bed's folder."""

import json
import os
import select
import socket
import struct

from bed.errors import BedError, UsageError

PATIENCE_S = 120


class NoAnswer(BedError):
    """No supervisor listens there."""


def _path(state):
    return str(state / "control")


def listen(state):
    """The socket of the supervisor; only its own user (and root) may give orders."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(_path(state))
    (state / "control").chmod(0o600)
    sock.listen(8)
    return sock


def answer(listener, obey):
    """Takes one order, has it obeyed, tells the result; returns the action. `obey(action, target)` may throw."""
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(30)
        try:
            order = json.loads(connection.makefile().readline())
            action, target = str(order["action"]), str(order["target"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        try:
            told = {"said": obey(action, target)}
        except Exception as error:  # an order that fails must not end the bed
            told = {"error": str(error), "usage": isinstance(error, UsageError)}
        try:
            connection.sendall((json.dumps(told) + "\n").encode())
        except OSError:
            pass  # it asked and left
    return action


def order(state, action, target=""):
    """Gives an order and returns what was said; after `down` the supervisor has ended. Throws BedError."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(PATIENCE_S)
            sock.connect(_path(state))
            supervisor = os.pidfd_open(_peer(sock))
            sock.sendall((json.dumps({"action": action, "target": target}) + "\n").encode())
            told = json.loads(sock.makefile().readline() or '{"error": "the supervisor ended meanwhile"}')
    except OSError as error:
        raise NoAnswer(f"no test bed answers in {state}: {error.strerror or error}; next: testbed up") from None
    try:
        if "error" in told:
            raise (UsageError if told.get("usage") else BedError)(told["error"])
        if action == "down" and not select.select([supervisor], [], [], PATIENCE_S)[0]:
            raise BedError(f"the test bed in {state} does not end")
        return told["said"]
    finally:
        os.close(supervisor)


def _peer(sock):
    """The process at the other end."""
    pid, _, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return pid
