"""Messages between two ranks: TCP connections between the processes, made when they are first needed.

The library has collectives only. A message is read as soon as it comes, and kept by the receiver until it is asked for:
so send() never waits for recv(). A connection that ends names the rank at its other end. Tensors on a GPU travel
through pinned memory of the CPU.
"""

import collections
import contextlib
import ctypes
import functools
import queue
import secrets
import socket
import struct
import threading

import torch

from slipway.errors import ArgumentError, MismatchError, StalledError
from slipway.torch_backend.device import Departure, DeviceStreams, DeviceWork, device_of, store
from slipway.torch_backend.exchange import dense, is_dense
from slipway.torch_backend.works import Work

_HELLO = struct.Struct("<16sq")  # the receiver's token, the sender's rank in the job
_HEADER = struct.Struct("<Qqqq")  # group, sender's rank in the group, tag, bytes
_LAST_DATA_S = 0.5  # what a rank sent before it ended may still be on its way


def _bytes_of(tensor):
    """The memory of a dense tensor."""
    size = tensor.numel() * tensor.element_size()
    if size == 0:
        return memoryview(bytearray())
    return memoryview((ctypes.c_uint8 * size).from_address(tensor.data_ptr())).cast("B")


def _held(tensor):
    return lambda: tensor


def _read(connection, buffer):
    view = memoryview(buffer)
    while len(view):
        count = connection.recv_into(view)
        if count == 0:
            raise EOFError
        view = view[count:]
    return buffer


def _say_end(connection):
    """The other side reads the end; what it sends is still read here."""
    with contextlib.suppress(OSError):  # it has gone itself
        connection.shutdown(socket.SHUT_WR)


def _say_last(connection):
    """The end of a rank that lives and reads on, to a peer's _watch(): a dead one says no byte before it."""
    with contextlib.suppress(OSError):
        connection.sendall(b"\0")
    _say_end(connection)


class Peer:
    """Another process: where it listens, and what people call it."""

    def __init__(self, job_rank, address, port, token, name):
        self.job_rank, self.address, self.port, self.token, self.name = job_rank, address, port, token, name


class _Receive:
    """One recv() that waits."""

    def __init__(self, tensor, source, work):
        self.tensor, self.source, self.work = tensor, source, work

    def fill(self, source, data):
        """In the thread that has read the message, or in that of the program. An error is the work's."""
        try:
            self._require_fits(source, data)
            self.work.carried_out_on_stream(lambda: self._put(data))()
        except BaseException as error:
            self.work.finish(error)
            return
        self.work.finish(source=source)

    def _require_fits(self, source, data):
        size = self.tensor.numel() * self.tensor.element_size()
        if len(data) != size:
            raise MismatchError(f"{self.work.what}: rank {source} of the group sent {len(data)} bytes, and the tensor "
                                f"has {size}; use the same shape and dtype on both")

    def _put(self, data):
        def fill(memory):
            _bytes_of(memory)[:] = data
        if isinstance(self.work, DeviceWork):
            store(self.tensor, fill)
            return
        target = self.tensor
        if not is_dense(target):  # on its device: the program may have set another default one
            target = torch.empty(target.shape, dtype=target.dtype, device=target.device)
        fill(target)
        if target is not self.tensor:
            with torch.no_grad():
                self.tensor.copy_(target)


class _Mailbox:
    """Messages that came, and receives that wait, by group and tag."""

    def __init__(self):
        self._lock = threading.Lock()
        self._came = collections.defaultdict(list)
        self._waiting = collections.defaultdict(list)

    def receive(self, key, receive):
        with self._lock:
            found = next((i for i, (source, _) in enumerate(self._came[key]) if receive.source in (None, source)), None)
            if found is None:
                self._waiting[key].append(receive)
                return
            source, data = self._came[key].pop(found)
        receive.fill(source, data)

    def deliver(self, key, source, data):
        with self._lock:
            waiting = self._waiting[key]
            found = next((i for i, receive in enumerate(waiting) if receive.source in (None, source)), None)
            if found is None:
                self._came[key].append((source, data))
                return
            receive = waiting.pop(found)
        receive.fill(source, data)

    def fail(self, concerns, error):
        """Ends the receives that concerns(group, source) holds for."""
        with self._lock:
            ended = []
            for (group, _), waiting in self._waiting.items():
                hit = [receive for receive in waiting if concerns(group, receive.source)]
                for receive in hit:
                    waiting.remove(receive)
                ended += hit
        for receive in ended:
            receive.work.finish(error)


class _Way:
    """The connection on which this process sends to one peer; the peer sends on another one. It also sees its end."""

    def __init__(self, peer, own_rank, on_end):
        self.peer = peer
        self.ended = None  # why nothing more comes from the peer
        self.lost = None  # why nothing can be sent to it
        self._closed = False
        self._asked = queue.SimpleQueue()
        self._own_rank, self._on_end = own_rank, on_end
        self._connection = None
        threading.Thread(target=self._serve, name=f"slipway-to-{peer.job_rank}", daemon=True).start()

    def send(self, header, arrived, work):
        """`arrived()` gives the tensor, when it has come to the CPU's memory."""
        self._asked.put(lambda: self._send_one(header, arrived, work))

    def close(self, then):
        """Ends the connection when all that was given has been sent, and calls `then`. Does not wait."""
        def end():
            self._closed = True
            if self._connection is not None:
                _say_end(self._connection)
            then()
        self._asked.put(end)

    def _serve(self):
        try:
            self._connection = socket.create_connection((self.peer.address, self.peer.port))
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connection.sendall(_HELLO.pack(self.peer.token, self._own_rank))
            threading.Thread(target=self._watch, name=f"slipway-watch-{self.peer.job_rank}", daemon=True).start()
        except OSError as error:
            self._lose(f"{self.peer.name} cannot be reached at {self.peer.address}:{self.peer.port} ({error}); is it "
                       "still running, and does a firewall keep the nodes apart?")
        while True:
            self._asked.get()()

    def _send_one(self, header, arrived, work):
        try:
            if self.lost is not None:
                raise self.lost
            tensor = arrived()
            self._connection.sendall(header)
            self._connection.sendall(_bytes_of(tensor))
            work.finish()
        except OSError as error:
            self._lose(f"{self.peer.name} has closed its connection ({error}); see its log")
            work.finish(self.lost)
        except RuntimeError as error:  # of the peer, or of the GPU
            work.finish(error)

    def _watch(self):
        """The peer sends nothing here but its end."""
        try:
            reads_on = bool(self._connection.recv(1))
        except OSError:
            reads_on = False
        if self._closed:  # the peer has read the end
            return
        tell = self._end if reads_on else self._lose
        tell(f"{self.peer.name} has ended, or closed its connection; see its log")

    def _end(self, message):
        """Nothing more comes from the peer."""
        if self.ended is None:
            self.ended = StalledError(message)
            self._on_end(self.peer, self.ended)

    def _lose(self, message):
        """Nor can anything be sent to it."""
        self.lost = self.lost or StalledError(message)
        self._end(message)


class Messenger:
    """All messages of this process."""

    def __init__(self, own_rank, address):
        self.token = secrets.token_bytes(16)
        self._own_rank = own_rank
        self._lock = threading.Lock()
        self._ways, self._readers, self._groups = {}, {}, {}
        self._incoming = {}  # connections on which peers send, by their rank in the job
        self._sending = None  # after close(): the peers to which messages are still on their way
        self._mailbox = _Mailbox()
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, 0), family=family, backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="slipway-messages", daemon=True).start()

    def add_group(self, number, peers):
        """`peers`: by rank in the group."""
        self._groups[number] = peers

    def send(self, group, own, to, tag, tensor, work):
        """An error is the work's."""
        header = _HEADER.pack(group, own, tag, tensor.numel() * tensor.element_size())
        try:
            arrived = Departure(tensor, work).arrived if isinstance(work, DeviceWork) else _held(dense(tensor))
        except RuntimeError as error:
            work.finish(error)
            return
        self._way_to(self._groups[group][to]).send(header, arrived, work)

    def receive(self, group, source, tag, tensor, work):
        self._mailbox.receive((group, tag), _Receive(tensor, source, work))
        if source is None or work.is_completed():
            return
        way = self._way_to(self._groups[group][source])  # its end is seen there, also before anything has come
        if way.ended is not None:
            self._ended(way.peer, way.ended)

    def close(self):
        """This process sends nothing more: receives of others from it fail when they have read all that it sent. What
        they send is read, and nobody receives it. Does not wait."""
        with self._lock:
            self._sending = set(self._ways)
            ways = dict(self._ways)
            idle = [connection for rank, connection in self._incoming.items() if rank not in ways]
        for rank, way in ways.items():
            way.close(functools.partial(self._has_sent_all, rank))
        for connection in idle:
            _say_last(connection)

    def _has_sent_all(self, rank):
        with self._lock:
            self._sending.discard(rank)
            connection = self._incoming.get(rank)
        if connection is not None:
            _say_last(connection)

    def _way_to(self, peer):
        with self._lock:
            if peer.job_rank not in self._ways:
                self._ways[peer.job_rank] = _Way(peer, self._own_rank, self._ended)
            return self._ways[peer.job_rank]

    def _ended(self, peer, error):
        """Receives from a process that has ended fail, when all that it sent has been read."""
        def end():
            with self._lock:
                reader = self._readers.get(peer.job_rank)
            if reader is None:
                threading.Event().wait(_LAST_DATA_S)
                reader = self._readers.get(peer.job_rank)
            if reader is not None:
                reader.join(60)
            places = {group: peers.index(peer) for group, peers in self._groups.items() if peer in peers}
            self._mailbox.fail(lambda group, source: source is not None and places.get(group) == source, error)
        threading.Thread(target=end, name="slipway-ended", daemon=True).start()

    def _accept(self):
        while True:
            connection, _ = self._listener.accept()
            threading.Thread(target=self._read_from, args=(connection,), name="slipway-from", daemon=True).start()

    def _read_from(self, connection):
        try:
            with connection:
                token, sender = _HELLO.unpack(_read(connection, bytearray(_HELLO.size)))
                if not secrets.compare_digest(token, self.token):
                    return
                with self._lock:
                    self._readers[sender] = threading.current_thread()
                    self._incoming[sender] = connection
                    is_over = self._sending is not None and sender not in self._sending
                if is_over:
                    _say_last(connection)
                while True:
                    group, source, tag, size = _HEADER.unpack(_read(connection, bytearray(_HEADER.size)))
                    self._mailbox.deliver((group, tag), source, _read(connection, bytearray(size)))
        except (EOFError, OSError):
            pass  # the way to that process sees the end, too


def require_other(call, rank, own, size):
    if rank == own or not 0 <= rank < size:
        raise ArgumentError(f"{call}: rank {rank} is not another one of the {size} ranks of the group; this is rank "
                            f"{own}")


# Copies of messages that leave do not wait for those that come.
_leaving, _coming = DeviceStreams(), DeviceStreams()


def _work(call, tensor, timeout, streams):
    device, limit = device_of(call, [tensor]), timeout.total_seconds()
    if device is None:
        return Work([tensor], call, limit)
    return DeviceWork([tensor], call, [tensor], streams.of(device), limit)


def work_to_send(call, tensor, timeout):
    return _work(call, tensor, timeout, _leaving)


def work_to_receive(call, tensor, timeout):
    return _work(call, tensor, timeout, _coming)
