"""Starts MPI without an MPI launcher, under torchrun: MPICH's process manager interface, version 1, over torch's store.

MPI_Init of MPICH speaks lines of text with its launcher over a descriptor: it puts where each rank can be reached,
waits for the others, and gets their places. Here a thread of the process answers, and torch's store carries the values.
"""

import json
import os
import socket
import threading
import time

from slipway import _machine

_FOREIGN = ("PMI_", "PMIX_", "OMPI_", "HYDI_", "MPIR_")
_LONGEST_LINE = 8192


def _fields(line):
    return dict(word.partition("=")[::2] for word in line.split(" ") if "=" in word)


def process_mapping(machines):
    """Which ranks share a node, as MPICH reads it: "(vector,(first node,nodes,ranks on each),...)"."""
    nodes, blocks = {}, []
    for machine in machines:
        node = nodes.setdefault(machine, len(nodes))
        if blocks and blocks[-1][0] == node:
            blocks[-1][1] += 1
        else:
            blocks.append([node, 1])
    return "(vector," + ",".join(f"({node},1,{count})" for node, count in blocks) + ")"


class _Values:
    """What the ranks put, in torch's store."""

    def __init__(self, store, rank, size):
        self._store, self._rank, self._size = store, rank, size
        self._own, self._all, self._barriers = {}, {}, 0

    def put(self, key, value):
        self._own[key] = value

    def get(self, key):
        return self._own.get(key, self._all.get(key))

    def barrier(self):
        """All values that were put before it can be got after it."""
        number, self._barriers = self._barriers, self._barriers + 1
        self._store.set(f"pmi/{number}/values/{self._rank}", json.dumps(self._own))
        for rank in range(self._size):
            self._all.update(json.loads(self._store.get(f"pmi/{number}/values/{rank}")))
        # The store may live in one of these processes: it must not end before all have read.
        left = self._store.add(f"pmi/{number}/left", 1)
        end = time.monotonic() + 5
        while self._rank == 0 and left < self._size and time.monotonic() < end:
            time.sleep(0.01)
            left = self._store.add(f"pmi/{number}/left", 0)


class _Manager(threading.Thread):
    """Answers the MPI of this process until it says that it is done."""

    def __init__(self, connection, values, size, mapping):
        super().__init__(name="slipway-pmi", daemon=True)
        self._lines = connection.makefile("rw", encoding="ascii", newline="\n")
        self._values, self._size, self._mapping = values, size, mapping

    def run(self):
        for line in iter(lambda: self._lines.readline(_LONGEST_LINE), ""):
            fields = _fields(line.rstrip("\n"))
            try:
                answer = self._answer(fields.get("cmd"), fields)
            except Exception as error:  # the store is gone, or another rank did not come
                said = str(error).split("\n")[0].replace(" ", "_")[:200]
                answer = f"cmd={fields.get('cmd')}_result rc=-1 msg={said}"
            self._lines.write(answer + "\n")
            self._lines.flush()
            if fields.get("cmd") == "finalize":
                return

    def _answer(self, command, fields):
        fixed = {"init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
                 "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0",
                 "get_appnum": "cmd=appnum appnum=0 rc=0",
                 "get_my_kvsname": "cmd=my_kvsname kvsname=slipway rc=0",
                 "get_universe_size": f"cmd=universe_size size={self._size} rc=0",
                 "finalize": "cmd=finalize_ack rc=0"}
        if command == "put":
            self._values.put(fields["key"], fields["value"])
            return "cmd=put_result rc=0 msg=success"
        if command == "barrier_in":
            self._values.barrier()
            return "cmd=barrier_out rc=0"
        if command == "get":
            value = self._mapping if fields["key"] == "PMI_process_mapping" else self._values.get(fields["key"])
            if value is None:
                return "cmd=get_result rc=-1 msg=key_not_found value=unknown"
            return f"cmd=get_result rc=0 msg=success value={value}"
        return fixed.get(command, f"cmd={command}_result rc=-1 msg=unknown_command")


def offer(store, rank, size):
    """Lets the MPI that this process is about to start find the other ranks. Collective."""
    store.set(f"pmi/machine/{rank}", _machine.identity())
    machines = [store.get(f"pmi/machine/{other}").decode() for other in range(size)]
    for name in [name for name in os.environ if name.startswith(_FOREIGN)]:
        del os.environ[name]  # of a launcher around torchrun: each of its ranks has the same
    ours, theirs = socket.socketpair()
    _Manager(ours, _Values(store, rank, size), size, process_mapping(machines)).start()
    os.environ.update(PMI_FD=str(theirs.detach()), PMI_RANK=str(rank), PMI_SIZE=str(size))
