"""Any Python objects, pickled: for settings, states and small results. The ranks of a job trust each other."""

import pickle

from slipway.collectives import rank_in, allgather_bytes, broadcast_bytes


def broadcast_object(value, root=0, group=None):
    """The object of rank `root`, on every rank. Collective."""
    data = pickle.dumps(value) if rank_in(group) == root else b""
    data = broadcast_bytes(data, root, group)
    return value if rank_in(group) == root else pickle.loads(data)


def allgather_object(value, group=None):
    """The objects of all ranks, in rank order. Collective."""
    return [pickle.loads(data) for data in allgather_bytes(pickle.dumps(value), group)]
