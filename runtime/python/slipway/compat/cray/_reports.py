"""What the ranks of a team agree on, and the lines about it at verbosity 1 and 2."""

import contextlib
import dataclasses
import socket
import time

import slipway
from slipway.errors import MismatchError


def agree(call, told):
    """MismatchError unless all ranks were told the same. Collective."""
    for rank, others in enumerate(slipway.allgather_object(told)):
        if others != told:
            raise MismatchError(f"{call}: rank {slipway.rank()} has {told}, rank {rank} has {others}")


def tell_schedule(team, settings, steps, verbosity):
    if verbosity >= 1 and slipway.rank() == 0:
        print(f"slipway: team {team}: {settings}, {steps} steps", flush=True)


@dataclasses.dataclass
class Waiting:
    """What a team has waited so far; told every `every` calls at verbosity 2."""

    team: object
    verbosity: int = 0
    every: int = 0
    calls: int = 0
    seconds: float = 0.0

    @contextlib.contextmanager
    def measured(self):
        """Around one call. Collective."""
        begin = time.monotonic()
        yield
        self.seconds += time.monotonic() - begin
        self.calls += 1
        if self.verbosity >= 2 and self.every > 0 and self.calls % self.every == 0:
            self._tell()

    def _tell(self):
        waits = slipway.allgather_object((self.seconds, socket.gethostname()))
        if slipway.rank() == 0:
            print(waiting_line(self.team, self.calls, waits), flush=True)


def waiting_line(team, calls, waits):
    """`waits`: seconds and host of every rank. One line for all ranks, where the plugin had one for each."""
    order = sorted(range(len(waits)), key=lambda rank: waits[rank][0])
    seconds = [waits[rank][0] for rank in order]
    # Who waits least is whom the others wait for.
    slowest = ", ".join(f"{rank} ({waits[rank][1]}, {waits[rank][0]:.3f} s)" for rank in order[:3])
    return (f"slipway: team {team}, {calls} calls: ranks waited min {seconds[0]:.3f} s, median "
            f"{seconds[len(seconds) // 2]:.3f} s, max {seconds[-1]:.3f} s for communication; slowest ranks: {slowest}")
