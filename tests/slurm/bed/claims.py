"""The number of a bed: it decides ports and addresses, and no two beds on one network have the same."""

import errno
import socket
import subprocess

from bed import plan as plans
from bed.errors import BedError


class Claim:
    """Holds a number until it is closed or the process ends, however it ends: an abstract socket needs no tidying."""

    def __init__(self, number, sock):
        self.number = number
        self._socket = sock

    def close(self):
        self._socket.close()


def claim(settings):
    """Claims the lowest number whose ports and addresses nobody uses."""
    routes = _routes() if settings.mode == plans.NAMESPACES else ""
    for number in range(plans.MAX_BEDS):
        held = _hold(number)
        if held is None:
            continue
        if f" 10.77.{number}." not in routes and all(_is_free(port) for port in plans.ports_of(number, settings)):
            return Claim(number, held)
        held.close()
    raise BedError(f"all {plans.MAX_BEDS} numbers of test beds are taken; next: take some down")


def _hold(number):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(f"\0slipway-slurm-testbed-{number}")
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return sock


def _routes():
    listed = subprocess.run(["ip", "-4", "route", "show", "table", "all"], capture_output=True, text=True, check=True)
    return " " + listed.stdout.replace("\n", "\n ")


def _is_free(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the last bed's closed connections do not count
        try:
            sock.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True
