"""Before each operation the ranks compare what they are about to do: a different order is an error, never a hang.

The comparison is one allreduce of a few integers. A rank that called join has nothing to do any more; it takes part in
the comparisons, and learns from the others which operation to carry out with zeros.
"""

import array
import hashlib

from slipway import collectives, objects
from slipway.errors import MismatchError

_NOBODY = -(1 << 62)


class Call:
    """One operation. `text` says it for people and is the same on every rank.

    `zeros` tells a joined rank how to take part: the name of one of its actions, and arguments. Without it, the
    operation cannot be done while a rank has joined.
    """

    def __init__(self, text, zeros=None):
        self.text = text
        self.zeros = zeros

    def fingerprint(self):
        return int.from_bytes(hashlib.blake2b(self.text.encode(), digest_size=7).digest(), "little")


def _largest(values, group):
    agreed = array.array("q", values)
    collectives.allreduce(agreed, "max", group)
    return list(agreed)


def agree(call, rank, group):
    """All ranks of the group do `call`, or MismatchError says who does what. Collective."""
    mine = call.fingerprint()
    highest, lowest, joined, leader = _largest([mine, -mine, 0, -rank], group)
    if highest != -lowest:
        _explain(call.text, group)
    if joined:
        if call.zeros is None:
            objects.broadcast_object(call.text, -leader, group)
            raise MismatchError(f"{call.text} cannot be done when a rank has called join")
        objects.broadcast_object(call.zeros, -leader, group)


def _explain(text, group):
    texts = objects.allgather_object(text, group)
    ranks = {}
    for rank, said in enumerate(texts):
        if said is not None:
            ranks.setdefault(said, []).append(rank)
    raise MismatchError("ranks ask for different operations; all must ask in the same order: " +
                        "; ".join(f"rank{'s' * (len(who) > 1)} {', '.join(map(str, who))}: {said}"
                                  for said, who in ranks.items()))


def join(rank, actions, group=None):
    """Takes part in what the others do, until all have joined; returns the rank that came last. Collective."""
    rounds = 0
    while True:
        highest, lowest, _, leader = _largest([_NOBODY, _NOBODY, 1, _NOBODY], group)
        if highest == _NOBODY:
            break
        rounds += 1
        if highest != -lowest:
            _explain(None, group)
        what = objects.broadcast_object(None, -leader, group)
        if isinstance(what, str):
            raise MismatchError(f"{what} cannot be done when a rank has called join")
        action, *arguments = what
        actions[action](*arguments)
    # Who took part in the fewest rounds came last.
    size = collectives.size_of(group)
    latest, = _largest([-rounds * size + rank], group)
    return latest % size
