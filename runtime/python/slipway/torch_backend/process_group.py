"""The process group that torch.distributed calls: its collectives on the operations of libslipway.

What the library has no call for is composed; the docstring then says what it costs. P: ranks of the group.
"""

import datetime
import sys

import torch
from torch._C._distributed_c10d import ProcessGroup as TorchProcessGroup
from torch.distributed import ReduceOp

from slipway.errors import ArgumentError, DeviceMemoryError, NotSupportedError, StalledError
from slipway.torch_backend import sparse
from slipway.torch_backend.buckets import called_by_backward
from slipway.torch_backend.device import DeviceStreams, DeviceWork, device_of, together
from slipway.torch_backend.exchange import Exchange, dense, is_dense
from slipway.torch_backend.reductions import Reduction
from slipway.torch_backend.works import OperationQueue, Work

NAME = "slipway"


def _require_dense(tensor, call):
    if tensor.device.type not in ("cpu", "cuda"):
        raise DeviceMemoryError(f"{call}: the tensor is on {tensor.device}, and backend '{NAME}' exchanges memory of "
                                "the CPU and of CUDA devices; move it with .cpu()")
    if tensor.layout != torch.strided:
        raise NotSupportedError(f"{call}: the tensor is {tensor.layout}; only allreduce takes sparse tensors, use "
                                "to_dense()")


def _listed(tensors):
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _one(tensors, call):
    """The tensor of a call that is made with a list for the sake of several devices in one process."""
    tensors = _listed(tensors)
    if len(tensors) != 1:
        raise ArgumentError(f"{call}: {len(tensors)} tensors, where one for each rank is needed; call it for each")
    _require_dense(tensors[0], call)
    return tensors[0]


def _option(options, name, default):
    """A field of an options object of torch, or the value itself, which short forms of the calls pass."""
    if options is None:
        return default
    return getattr(options, name, default if hasattr(options, "timeout") else options)


def _flat(tensors, like):
    """Elements of all tensors, one behind the other, as dense memory."""
    if not tensors:
        return torch.empty(0, dtype=like.dtype, device=like.device)
    return dense(tensors[0]).view(-1) if len(tensors) == 1 else torch.cat([dense(t).reshape(-1) for t in tensors])


def _spread(flat, tensors):
    """The reverse of _flat."""
    start = 0
    for tensor in tensors:
        tensor.copy_(flat[start:start + tensor.numel()].view(tensor.shape))
        start += tensor.numel()


def _storage(tensor):
    """Where the memory begins that a tensor is a part of."""
    return (tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()).data_ptr()


def _dense_for(output):
    """Dense memory for what `_put` then copies into `output`: its own where that is dense."""
    return output if is_dense(output) else torch.empty(output.shape, dtype=output.dtype, device=output.device)


def _put(received, output):
    if received is not output:
        output.copy_(received)


def _numels(tensors):
    return [tensor.numel() for tensor in tensors]


class SlipwayProcessGroup(TorchProcessGroup):
    """One group: operations are carried out in the order of the calls, by a thread of the group."""

    def __init__(self, members, rank, size, timeout):
        super().__init__(rank, size)
        self._rank, self._size = rank, size
        self._members = members
        self._timeout = timeout
        self._exchange = Exchange(members.number, rank, size)
        self._queue = OperationQueue(f"group-{members.number}")
        self._streams = DeviceStreams()
        self._coalesced = None
        self._sequence = 0

    def getBackendName(self):  # as C++ calls it
        return NAME

    def _ask(self, call, result, carry_out, used=None):
        """`used`: all tensors of the operation, if these are more than the result."""
        used = result if used is None else used
        device = device_of(call, used)
        self._sequence += 1
        work = Work(result, call) if device is None else DeviceWork(result, call, used, self._streams.of(device))
        return self._noted(self._queue.ask(work, work.carried_out_on_stream(carry_out)))

    def _noted(self, work):
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def _require_same_dtype(self, call, tensors, dtype):
        for tensor in tensors:
            _require_dense(tensor, call)
            if tensor.dtype != dtype:
                raise ArgumentError(f"{call}: a tensor of {tensor.dtype} among those of {dtype}; convert one of them")

    def _root(self, call, options):
        root = _option(options, "rootRank", 0)
        if not 0 <= root < self._size:
            raise ArgumentError(f"{call}: there is no rank {root} among the {self._size} of the group")
        return root

    def _require_list(self, call, tensors, what):
        if len(tensors) != self._size:
            raise ArgumentError(f"{call}: {len(tensors)} {what}, and the group has {self._size} ranks")
        return tensors

    # Reductions.

    def allreduce(self, tensors, opts=None):
        op = _option(opts, "reduceOp", ReduceOp.SUM)
        listed = _listed(tensors)
        if len(listed) == 1 and listed[0].layout == torch.sparse_coo:
            return self._ask("allreduce", listed, sparse.allreduce(self._exchange, listed[0], op))
        tensor = _one(listed, "allreduce")
        reduction = Reduction(op, tensor.dtype)
        if tensor.device.type == "cpu" and is_dense(tensor) and called_by_backward(sys._getframe()):
            self._exchange.place(tensor)
        return self._ask("allreduce", listed, lambda: reduction.all(self._exchange, tensor))

    def allreduce_coalesced(self, tensors, opts=None):
        """One allreduce for each dtype, of copies one behind the other."""
        op = _option(opts, "reduceOp", ReduceOp.SUM)
        by_dtype = {}
        for tensor in tensors:
            _require_dense(tensor, "allreduce_coalesced")
            by_dtype.setdefault(tensor.dtype, []).append(tensor)
        reductions = {dtype: Reduction(op, dtype) for dtype in by_dtype}

        def carry_out():
            for dtype, some in by_dtype.items():
                flat = torch.cat([dense(tensor).reshape(-1) for tensor in some])
                reductions[dtype].all(self._exchange, flat)
                _spread(flat, some)
        return self._ask("allreduce_coalesced", list(tensors), carry_out)

    def reduce(self, tensors, opts=None):
        """An allreduce, on ranks other than the root of a copy: their tensors stay as they are."""
        tensor = _one(tensors, "reduce")
        root = self._root("reduce", opts)
        reduction = Reduction(_option(opts, "reduceOp", ReduceOp.SUM), tensor.dtype)

        def carry_out():
            reduction.all(self._exchange, tensor if self._rank == root else dense(tensor).clone())
        return self._ask("reduce", [tensor], carry_out)

    def reduce_scatter(self, output_tensors, input_tensors, opts=None):
        """The pieces of the ranks may differ in size."""
        output = _one(output_tensors, "reduce_scatter")
        pieces = self._require_list("reduce_scatter", list(input_tensors[0]), "input tensors")
        self._require_same_dtype("reduce_scatter", pieces, output.dtype)
        self._require_numel("reduce_scatter", output, pieces[self._rank].numel())
        reduction = Reduction(_option(opts, "reduceOp", ReduceOp.SUM), output.dtype)
        return self._ask("reduce_scatter", [output],
                         lambda: self._scatter_reduced(reduction, pieces, _numels(pieces), output), [output, pieces])

    def _scatter_reduced(self, reduction, sent, counts, output):
        received = _dense_for(output)
        reduction.scatter(self._exchange, _flat(sent, output), received, counts)
        _put(received, output)

    def _require_numel(self, call, tensor, wanted):
        if tensor.numel() != wanted:
            raise ArgumentError(f"{call}: a tensor of {tensor.numel()} elements where {wanted} are needed")

    def _reduce_scatter_base(self, output_tensor, input_tensor, opts=None):
        self._require_same_dtype("reduce_scatter_tensor", [input_tensor], output_tensor.dtype)
        _require_dense(output_tensor, "reduce_scatter_tensor")
        self._require_numel("reduce_scatter_tensor", input_tensor, output_tensor.numel() * self._size)
        reduction = Reduction(_option(opts, "reduceOp", ReduceOp.SUM), output_tensor.dtype)
        counts = [output_tensor.numel()] * self._size
        return self._ask("reduce_scatter_tensor", [output_tensor],
                         lambda: self._scatter_reduced(reduction, [input_tensor], counts, output_tensor),
                         [output_tensor, input_tensor])

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        """One reduce_scatter_tensor for each."""
        return self._joined("reduce_scatter_tensor_coalesced", list(outputs),
                            [self._reduce_scatter_base(*pair, opts) for pair in zip(outputs, inputs)])

    # Copies.

    def broadcast(self, tensors, opts=None):
        tensor = _one(tensors, "broadcast")
        root = self._root("broadcast", opts)

        def carry_out():
            travelling = dense(tensor)
            self._exchange.broadcast(travelling, root)
            if travelling is not tensor and self._rank != root:
                tensor.copy_(travelling)
        return self._ask("broadcast", [tensor], carry_out)

    def allgather(self, output_tensors, input_tensors, opts=None):
        """The tensors of the ranks may differ in size; each rank must know all sizes by its outputs."""
        tensor = _one(input_tensors, "allgather")
        outputs = self._require_list("allgather", list(output_tensors[0]), "output tensors")
        self._require_same_dtype("allgather", outputs, tensor.dtype)
        self._require_numel("allgather", outputs[self._rank], tensor.numel())
        return self._ask("allgather", [outputs], lambda: self._gather_all(tensor, outputs), [outputs, tensor])

    def _gather_all(self, tensor, outputs):
        received = torch.empty(sum(_numels(outputs)), dtype=tensor.dtype, device=tensor.device)
        self._exchange.allgather(dense(tensor), received, _numels(outputs))
        _spread(received, outputs)

    def _allgather_base(self, output_tensor, input_tensor, opts=None):
        self._require_same_dtype("all_gather_into_tensor", [input_tensor], output_tensor.dtype)
        _require_dense(output_tensor, "all_gather_into_tensor")
        self._require_numel("all_gather_into_tensor", output_tensor, input_tensor.numel() * self._size)

        def carry_out():
            sent = dense(input_tensor)
            inside = sent.numel() and _storage(sent) == _storage(output_tensor)
            # The library wants memory that does not overlap.
            received = torch.empty_like(output_tensor) if inside else _dense_for(output_tensor)
            self._exchange.allgather(sent, received, [sent.numel()] * self._size)
            _put(received, output_tensor)
        return self._ask("all_gather_into_tensor", [output_tensor], carry_out, [output_tensor, input_tensor])

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        """One all_gather_into_tensor for each."""
        return self._joined("allgather_into_tensor_coalesced", list(outputs),
                            [self._allgather_base(*pair, opts) for pair in zip(outputs, inputs)])

    def allgather_coalesced(self, output_lists, input_list, opts=None):
        """One allgather for each tensor."""
        outputs = self._require_list("allgather_coalesced", list(output_lists), "output lists")
        works = [self.allgather([[of_rank[index] for of_rank in outputs]], [tensor])
                 for index, tensor in enumerate(input_list)]
        return self._joined("allgather_coalesced", outputs, works)

    def gather(self, output_tensors, input_tensors, opts=None):
        """An alltoall in which all send to the root alone."""
        tensor, root = _one(input_tensors, "gather"), self._root("gather", opts)
        outputs = list(output_tensors[0]) if self._rank == root else []
        if self._rank == root:
            self._require_list("gather", outputs, "output tensors")
            self._require_same_dtype("gather", outputs, tensor.dtype)
            self._require_numel("gather", outputs[root], tensor.numel())
        counts = [tensor.numel() if rank == root else 0 for rank in range(self._size)]
        received_counts = _numels(outputs) if outputs else [0] * self._size
        return self._ask("gather", [outputs],
                         lambda: self._all_to_all([tensor], counts, outputs, received_counts, tensor),
                         [outputs, tensor])

    def scatter(self, output_tensors, input_tensors, opts=None):
        """An alltoall in which the root alone sends."""
        tensor, root = _one(output_tensors, "scatter"), self._root("scatter", opts)
        pieces = list(input_tensors[0]) if self._rank == root else []
        if self._rank == root:
            self._require_list("scatter", pieces, "input tensors")
            self._require_same_dtype("scatter", pieces, tensor.dtype)
            self._require_numel("scatter", pieces[root], tensor.numel())
        received_counts = [tensor.numel() if rank == root else 0 for rank in range(self._size)]
        counts = _numels(pieces) if pieces else [0] * self._size
        return self._ask("scatter", [tensor],
                         lambda: self._all_to_all(pieces, counts, [tensor], received_counts, tensor), [tensor, pieces])

    def alltoall(self, output_tensors, input_tensors, opts=None):
        outputs = self._require_list("all_to_all", list(output_tensors), "output tensors")
        pieces = self._require_list("all_to_all", list(input_tensors), "input tensors")
        self._require_same_dtype("all_to_all", pieces + outputs, pieces[0].dtype)
        self._require_numel("all_to_all", outputs[self._rank], pieces[self._rank].numel())
        return self._ask("all_to_all", outputs, lambda: self._all_to_all(
            pieces, _numels(pieces), outputs, _numels(outputs), pieces[0]), [outputs, pieces])

    def _all_to_all(self, pieces, counts, outputs, received_counts, like):
        received = torch.empty(sum(received_counts), dtype=like.dtype, device=like.device)
        self._exchange.alltoall(_flat(pieces, like), counts, received, received_counts)
        _spread(received, outputs)

    def alltoall_base(self, output_tensor, input_tensor, output_split_sizes, input_split_sizes, opts=None):
        self._require_same_dtype("all_to_all_single", [input_tensor], output_tensor.dtype)
        _require_dense(output_tensor, "all_to_all_single")
        counts = self._split(input_tensor, input_split_sizes)
        received_counts = self._split(output_tensor, output_split_sizes)
        if counts[self._rank] != received_counts[self._rank]:
            raise ArgumentError("all_to_all_single: a rank sends itself as much as it receives from itself")

        def carry_out():
            received = _dense_for(output_tensor)
            self._exchange.alltoall(dense(input_tensor), counts, received, received_counts)
            _put(received, output_tensor)
        return self._ask("all_to_all_single", [output_tensor], carry_out, [output_tensor, input_tensor])

    def _split(self, tensor, rows):
        """Elements for each rank, by rows or evenly."""
        total = tensor.shape[0] if tensor.dim() else 1
        width = tensor.numel() // total if total else 0
        rows = list(rows) or [total // self._size] * self._size
        if len(rows) != self._size or sum(rows) != total or min(rows) < 0:
            raise ArgumentError(f"all_to_all_single: {rows} are not {total} rows for {self._size} ranks")
        return [count * width for count in rows]

    # Meeting.

    def barrier(self, opts=None):
        return self._ask("barrier", [], self._exchange.barrier)

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """A barrier through torch's store that names the ranks that do not come. P keys, and rank 0 asks for each."""
        timeout = timeout or self._timeout
        self._queue.drain()
        missing = self._members.meet(timeout if isinstance(timeout, datetime.timedelta)
                                     else datetime.timedelta(seconds=timeout), wait_all_ranks)
        if missing:
            raise StalledError(f"monitored_barrier: {', '.join(missing)} did not come; see their logs")

    # Messages.

    def send(self, tensors, dst_rank, tag=0):
        """Through a TCP connection between the two processes, not in order with collectives. wait() returns when the
        tensor is sent; the current stream may then change it."""
        tensor = _one(tensors, "send")
        return self._noted(self._members.send(tensor, dst_rank, tag, self._timeout))

    def recv(self, tensors, src_rank, tag=0):
        """The message that send() of the other rank made, in order for each tag."""
        tensor = _one(tensors, "recv")
        return self._noted(self._members.receive(tensor, src_rank, tag, self._timeout))

    def recv_anysource(self, tensors, tag=0):
        tensor = _one(tensors, "recv")
        return self._noted(self._members.receive(tensor, None, tag, self._timeout))

    # Several calls as one.

    def _joined(self, call, result, works):
        """A work that is done after all that were asked for before it."""
        def carry_out():
            for work in works:
                work.wait()
        return self._ask(call, result, carry_out)

    def _start_coalescing(self, *_):
        self._coalesced = []

    def _end_coalescing(self, *_):
        works, self._coalesced = self._coalesced or [], None
        if works and all(work.asked_by is None for work in works):  # messages, which are in no order with collectives
            return together(works, "coalesced messages")
        return self._joined("coalesced operations", [work.result() for work in works], works)

    # Life.

    def _set_sequence_number_for_group(self):
        self._sequence = 0

    def _get_sequence_number_for_group(self):
        return self._sequence

    def drain(self, seconds=None):
        """Waits for what was asked for."""
        return self._queue.drain(seconds)

    def shutdown(self):
        """destroy_process_group of newer versions calls it. The communicator stays until the program ends."""
        self.drain()
