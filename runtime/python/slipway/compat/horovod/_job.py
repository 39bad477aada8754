"""The job as Horovod shows it: init and shutdown, ranks within and across nodes, process sets."""

import atexit

import slipway
from slipway import _machine
from slipway._job import ends_well
from slipway.collectives import ALL
from slipway.compat.horovod import _order
from slipway.compat.horovod._queue import OperationQueue
from slipway.errors import ArgumentError, NotSupportedError, StateError


class NotInitializedError(StateError, ValueError):
    """A call before hvd.init() or after hvd.shutdown(): a ValueError, as in Horovod."""


class ProcessSet:
    """Some ranks of the job. It can be used after init(process_sets=[...]) or add_process_set."""

    def __init__(self, ranks):
        self.ranks = sorted(int(rank) for rank in ranks)
        self.process_set_id = None
        self.group = None

    def size(self):
        return len(self.ranks)

    def rank(self):
        """This rank in the set, or -1. Errors: NotInitializedError."""
        return self.ranks.index(rank()) if self.included() else -1

    def included(self):
        """Whether this rank is in the set. Errors: NotInitializedError."""
        return rank() in self.ranks

    def __repr__(self):
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"


global_process_set = ProcessSet([])
global_process_set.process_set_id = 0
global_process_set.group = ALL


class _State:
    queue = None
    hosts = []  # of every rank: its node, and its rank there
    process_sets = []


def init(comm=None, process_sets=None):
    """Joins the job; a second call does nothing. Collective."""
    if is_initialized():
        return
    if comm is not None and not isinstance(comm, (list, tuple)):
        raise NotSupportedError("init(comm): a communicator of mpi4py is not taken; start the job with the ranks "
                                "it needs")
    if not slipway.initialized():
        slipway.init()
    if comm and sorted(comm) != list(range(slipway.size())):
        raise NotSupportedError("init(comm) with some of the ranks is not there; use init() and add_process_set")
    global_process_set.ranks = list(range(slipway.size()))
    _State.hosts = slipway.allgather_object((_machine.identity(), slipway.local_rank()))
    _State.queue = OperationQueue()
    atexit.register(_end)
    for process_set in process_sets if isinstance(process_sets, (list, tuple)) else []:
        add_process_set(process_set)


def shutdown():
    """Carries out what was asked for, and leaves the job. Collective."""
    _close()
    if slipway.initialized():
        slipway.finalize()


def _close():
    if is_initialized():
        _State.queue.close()
        _State.queue = None
        for process_set in _State.process_sets:
            process_set.process_set_id = process_set.group = None
        _State.process_sets = []


def _end():
    """At the end of the program, before slipway leaves the job."""
    if ends_well():
        _close()


def is_initialized():
    return _State.queue is not None


def operations():
    """The queue of this rank's operations."""
    if _State.queue is None:
        raise NotInitializedError("Horovod has not been initialized; call hvd.init()")
    return _State.queue


def rank():
    operations()
    return slipway.rank()


def size():
    operations()
    return slipway.size()


def local_rank():
    operations()
    return slipway.local_rank()


def _of_my(place):
    operations()
    mine = _State.hosts[slipway.rank()][place]
    return [rank for rank, host in enumerate(_State.hosts) if host[place] == mine]


def local_size():
    """Ranks on this node."""
    return len(_of_my(0))


def cross_rank():
    """This node among those that have a rank with this local rank."""
    return _of_my(1).index(slipway.rank())


def cross_size():
    return len(_of_my(1))


def is_homogeneous():
    """Whether every node has the same number of ranks."""
    operations()
    hosts = [host for host, _ in _State.hosts]
    return len({hosts.count(host) for host in hosts}) == 1


def members(process_set):
    """The group of a process set that this rank may use."""
    operations()
    if process_set.group is None:
        raise StateError(f"{process_set} is not in use; call hvd.add_process_set")
    if not process_set.included():
        raise ArgumentError(f"rank {slipway.rank()} is outside of {process_set}")
    return process_set.group


def add_process_set(process_set):
    """Makes a process set usable; takes a list of ranks as well. Collective over all ranks."""
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    if process_set.group is not None:
        raise ArgumentError(f"{process_set} is in use already")

    def work():
        _order.agree(_order.Call(f"add_process_set {process_set.ranks}"), slipway.rank(), ALL)
        return slipway.group_create(process_set.ranks)

    process_set.group = operations().run(work)
    process_set.process_set_id = process_set.group.number
    _State.process_sets.append(process_set)
    return process_set


def get_process_set_ids_and_ranks():
    """The ranks of every process set in use, by its id."""
    operations()
    return {process_set.process_set_id: list(process_set.ranks)
            for process_set in [global_process_set, *_State.process_sets]}


def get_process_set_ids():
    return sorted(get_process_set_ids_and_ranks())


def remove_process_set(process_set):
    """Ends the use of a process set; False if it was not in use. Collective over all ranks."""
    if process_set is global_process_set or process_set not in _State.process_sets:
        return False

    def work():
        _order.agree(_order.Call(f"remove_process_set {process_set.ranks}"), slipway.rank(), ALL)
        process_set.group.free()

    operations().run(work)
    _State.process_sets.remove(process_set)
    process_set.process_set_id = process_set.group = None
    return True
