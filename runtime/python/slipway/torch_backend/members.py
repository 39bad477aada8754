"""How a process joins the job, and how the members of a group find each other: through the store of torch."""

import atexit
import ctypes
import datetime
import hashlib
import json
import os
import secrets
import socket
import threading

import torch.distributed

from slipway import _calls, _job
from slipway.errors import LibraryError, SlipwayError, StalledError, StateError
from slipway.torch_backend import messages, pmi

_LAUNCHER_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK")
_messenger_lock = threading.Lock()
_messenger = None


def by_mpi_launcher(environment=os.environ):
    """Whether mpirun, srun or `slipway run` started this process, and torchrun did not start it in turn."""
    return "TORCHELASTIC_RUN_ID" not in environment and any(name in environment for name in _LAUNCHER_VARIABLES)


def join_job(store, rank, size, timeout):
    """slipway.init(), if the program has not called it. Collective over the ranks of the first group."""
    if _job.in_job():
        return
    if torch.distributed.is_initialized() and torch.distributed.get_world_size() > size:
        raise StateError("a group of backend 'slipway' is made by some ranks only, before any rank has joined the job; "
                         "call slipway.init() on all ranks after init_process_group")
    without_mpi = size > 1 and not by_mpi_launcher()
    if without_mpi:
        pmi.offer(store, rank, size)
    try:
        join(timeout)
    except SlipwayError as error:
        if not without_mpi:
            raise
        raise LibraryError(
            f"no MPI launcher started these {size} ranks, and libslipway cannot start MPI by itself: {error}\n"
            "  next: start the program with `slipway run` or mpirun, or install the libslipway for MPICH "
            "(lib/slipway/mpich), which works under torchrun") from error


def join(timeout):
    """A rank that is slow is waited for as long as torch would wait, unless the configuration says otherwise."""
    configured = os.environ.get("SLIPWAY_CONFIG")
    _job.join(None if configured else {"resilience": {"stall_after_s": timeout.total_seconds()}}, by_backend=True)


def _own_address():
    """The address by which this node reaches the others: that of the way to MASTER_ADDR."""
    master = os.environ.get("MASTER_ADDR", "127.0.0.1")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(master, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as way:
            way.connect(place)  # sends nothing
            return way.getsockname()[0]
    except OSError:
        return "127.0.0.1"


def _own_messenger():
    global _messenger
    with _messenger_lock:
        if _messenger is None:
            _messenger = (messages.Messenger(_job.rank(), address := _own_address()), address)
        return _messenger


class Members:
    """The ranks of one group, in torch's order, and what they have besides collectives."""

    def __init__(self, store, rank, size, timeout):
        join_job(store, rank, size, timeout)
        self._store, self._rank, self._size = store, rank, size
        self._meetings = 0
        self._messenger, address = _own_messenger()
        known = self._introduce(address)
        self._id = known[0]["group"]
        job_ranks = [member["job_rank"] for member in known]
        self._require_one_job(job_ranks)
        self._peers = [messages.Peer(m["job_rank"], m["address"], m["port"], bytes.fromhex(m["token"]),
                                     f"rank {place} of the group (host {m['host']}, pid {m['pid']})")
                       for place, m in enumerate(known)]
        self._messenger.add_group(self._id, self._peers)
        self.number = self._create(job_ranks)

    def _introduce(self, address):
        """What each rank says of itself, by rank. Waits for all, as long as the store's timeout."""
        own = {"job_rank": _job.rank(), "host": socket.gethostname(), "pid": os.getpid(), "address": address,
               "port": self._messenger.port, "token": self._messenger.token.hex(), "group": secrets.randbits(63)}
        self._store.set(f"slipway/member/{self._rank}", json.dumps(own))
        return [json.loads(self._store.get(f"slipway/member/{rank}")) for rank in range(self._size)]

    def _require_one_job(self, job_ranks):
        if len(set(job_ranks)) == self._size:
            return
        raise LibraryError(f"torch counts {self._size} ranks, and the MPI of libslipway {_job.size()}; start all ranks "
                           "with one mpirun or `slipway run`, of the MPI that libslipway is built for")

    def _create(self, job_ranks):
        ranks = (ctypes.c_int * self._size)(*job_ranks)
        tag = int.from_bytes(hashlib.blake2b(str(self._id).encode(), digest_size=4).digest(), "little") % 32768
        return _calls.int_from("slipway_group_create_by_members", ranks, self._size, tag)

    def name_of(self, rank):
        return self._peers[rank].name

    def send(self, tensor, to, tag, timeout):
        messages.require_other("send", to, self._rank, self._size)
        work = messages.work_to_send(f"send to {self.name_of(to)}", tensor, timeout)
        self._messenger.send(self._id, self._rank, to, tag, tensor, work)
        return work

    def receive(self, tensor, source, tag, timeout):
        if source is not None:
            messages.require_other("recv", source, self._rank, self._size)
        said = "recv from any rank" if source is None else f"recv from {self.name_of(source)}"
        work = messages.work_to_receive(said, tensor, timeout)
        self._messenger.receive(self._id, source, tag, tensor, work)
        return work

    def meet(self, timeout, wait_all):
        """Names of ranks that did not come in time; on rank 0, the others wait for its verdict."""
        number, self._meetings = self._meetings, self._meetings + 1
        key = f"slipway/meeting/{number}/"
        self._store.set(key + str(self._rank), "here")
        if self._rank == 0:
            missing = self._absent(key, timeout, wait_all)
            self._store.set(key + "verdict", json.dumps(missing))
            return missing
        try:
            self._store.wait([key + "verdict"], timeout + datetime.timedelta(seconds=10))
        except RuntimeError:
            raise StalledError(f"monitored_barrier: {self.name_of(0)} did not come; see its log") from None
        return json.loads(self._store.get(key + "verdict"))

    def _absent(self, key, timeout, wait_all):
        missing = []
        for rank in range(1, self._size):
            try:
                self._store.wait([key + str(rank)], timeout if not missing else datetime.timedelta(milliseconds=10))
            except RuntimeError:
                missing.append(self.name_of(rank))
                if not wait_all:
                    break
        return missing


def at_end(drain):
    """Before the program leaves the job, operations in flight are waited for. Then the others learn that this rank
    sends no more messages. It does not leave before them: finalize() waits for all."""
    def leave():
        if _job.ends_well():
            drain()
            if _messenger is not None:
                _messenger[0].close()
    atexit.register(leave)
