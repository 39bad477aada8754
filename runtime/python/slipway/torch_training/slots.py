"""Where the gradients of an optimizer are exchanged: one block of memory, and in it a slot for each parameter.

The program may give a tensor that it was handed other memory: model.double() does so with every p.grad, and
model.share_memory(). So tensors that the exchange relies on are never handed out.
"""

import ctypes
import sys
import types

import torch

from slipway.errors import DeviceMemoryError, NotSupportedError, StateError
from slipway.memory import Block
from slipway.torch_training import gradient_memory
from slipway.torch_training.layouts import has_strides, order_in_memory, strides_of_gradient

_ALIGNMENT = 64  # what torch asks of memory for a tensor

_MOVED = "was moved to other memory between backward and step(): call share_memory() before backward"
_CHANGED = ("was changed between backward and step(), while it was exchanged: call synchronize() first, also before "
            "unscale_() of torch's GradScaler")


def _references_without_tensors():
    """What sys.getrefcount() says of a slot's array from which no tensor was made. Each storage of one adds one."""
    slot = types.SimpleNamespace(array=(ctypes.c_uint8 * 1)())
    return sys.getrefcount(slot.array)


_WITHOUT_TENSORS = _references_without_tensors()


class Slot:
    """One parameter: where its gradient is exchanged, and how far this step has come.

    `view` is its part of the block, as a tensor that nobody else has; `array` are the bytes of it. While that part is
    lent, torch may have made a gradient of any slot there; otherwise it is the slot's.
    """

    def __init__(self, name, parameter, view, array=None):
        self.name = name
        self.parameter = parameter
        self.view = view
        self.bytes = _bytes(view)
        self._address = view.data_ptr()
        self._array = array  # None on a GPU, and for a parameter without elements
        self._order = order_in_memory(view)
        self.given = None  # the gradient of this step, once backward has made it, ...
        self._version = 0  # ... how many changes of it torch had counted then, ...
        self._changed = False  # ... and whether the program had changed it when a copy took its place
        self._frozen = False  # whether it goes without a gradient in this step: none is made, and none wanted
        self._elsewhere = None  # if not the view is exchanged in this step: a tensor that nobody else has, its address
        self.passes = 0  # backward passes since the last exchange
        self.submitted = False

    def require_like(self):
        """Errors: StateError: the parameter was converted or moved."""
        now, then = _description(self.parameter), _description(self.view)
        if now != then:
            raise StateError(f"parameter '{self.name}' is now {now}; it was {then} when its DistributedOptimizer was "
                             "made: make the optimizer after model.to(...)")

    def holds(self, gradient):
        """Whether a gradient lies where the exchange expects that of this slot, and torch did not make it there."""
        return (is_plain(gradient) and gradient.data_ptr() == self._address and gradient.dtype == self.view.dtype
                and self._is_laid_out(gradient) and not gradient_memory.is_lent(self._address))

    def in_memory(self, tensor=None):
        """The view, or a tensor with its strides, in the order of memory: row-major, as the exchange has it."""
        tensor = self.view if tensor is None else tensor
        return tensor if self._order is None else tensor.permute(self._order)

    def _is_laid_out(self, gradient):
        return has_strides(gradient, self.view.stride()) and not gradient.is_conj() and not gradient.is_neg()

    def _is_ready(self, gradient):
        """Whether the library can take it as it is."""
        return (is_plain(gradient) and gradient.is_cpu and self._is_laid_out(gradient)
                and not gradient.requires_grad)

    def is_unused(self):
        """Whether no tensor of hand_out() is left. On a GPU that is not known, and counts as true."""
        return self._array is None or sys.getrefcount(self._array) == _WITHOUT_TENSORS

    def hand_out(self):
        """A new tensor in the memory of the view, for the program. torch counts changes of it alone."""
        if self._array is None:
            return self.view.data
        flat = torch.frombuffer(self._array, dtype=self.view.dtype)
        return flat if self.view.dim() == 1 else flat.as_strided(self.view.shape, self.view.stride())

    def note(self, gradient):
        """The program must not change this gradient until end_step()."""
        self.given, self._version = gradient, gradient._version

    def _is_changed(self):
        """Whether the program has written to what was noted, or put another gradient in its stead."""
        given, now = self.given, self.parameter.grad
        if given is None or now is given:
            return given is not None and given._version != self._version
        return now is None or now.data_ptr() != given.data_ptr() or given._version != self._version

    def submit(self, team, index, sparse_as_dense):
        """Submits the gradient, with one copy at most. Errors: StateError: the parameter was converted or moved."""
        try:
            self._submit(team, index, sparse_as_dense)
        except RuntimeError:
            self.require_like()
            raise

    def _submit(self, team, index, sparse_as_dense):
        gradient = self.parameter.grad
        self._frozen = gradient is None and not self.parameter.requires_grad
        ready = self._is_ready(gradient)
        lent = ready and gradient_memory.is_lent(gradient.data_ptr())
        if ready and not lent and gradient.data_ptr() == self._address:
            team.submit(index)
            self.note(gradient)
        elif lent and gradient_memory.is_alone(gradient):
            self._submit_at(team, index, gradient)
        elif self.is_unused() and gradient_memory.take(self._address):
            self._copy(team, index, gradient, ready, sparse_as_dense)
        else:
            self.parameter.grad = self._fill(torch.empty_like(self.view), gradient, sparse_as_dense)
            self._submit_at(team, index, self.parameter.grad)

    def _submit_at(self, team, index, gradient):
        """Submits it where it lies. The program may give its tensor other memory meanwhile."""
        alias = gradient.detach()
        team.submit_at(index, self.in_memory(alias))
        self._elsewhere = alias, alias.data_ptr()
        self.note(gradient)

    def _copy(self, team, index, gradient, ready, sparse_as_dense):
        """The library copies past the caches, in one thread; where torch has several for it, those are faster."""
        if ready and torch.get_num_threads() == 1:
            team.submit_from(index, self.in_memory(gradient))
            self.give()
        else:
            self._fill(self.view, gradient, sparse_as_dense)
            self.give()
            team.submit(index)

    def give(self):
        """Makes what lies in the view the gradient."""
        self._changed = self._is_changed()
        gradient = self.hand_out()
        self.parameter.grad = gradient
        self.note(gradient)

    def _fill(self, target, gradient, sparse_as_dense):
        with torch.no_grad():
            if gradient is None:
                target.zero_()
            elif not gradient.is_sparse:
                target.copy_(gradient)
            elif sparse_as_dense:
                target.copy_(gradient.to_dense())
            else:
                raise NotSupportedError(f"the gradient of '{self.name}' is sparse; set sparse=False, or "
                                        "sparse_as_dense=True here")
        return target

    def end_step(self):
        """Makes what was exchanged the gradient. A frozen parameter stays without one: optimizers leave it alone.

        Returns what the program did meanwhile that it must not, or None.
        """
        given, (alias, address) = self.given, self._elsewhere or (None, self._address)
        changed = self._changed or self._is_changed()
        self.given = self._elsewhere = None
        frozen, self._frozen = self._frozen, False
        self.passes, self.submitted, self._changed = 0, False, False
        there = given is not None and self.parameter.grad is given and given.data_ptr() == address
        if frozen:
            self.parameter.grad = None
        elif alias is not None and not there:
            self.parameter.grad = alias
        elif not there and not self.holds(self.parameter.grad):
            self.parameter.grad = self.hand_out()
        if alias is not None and alias.data_ptr() != address:
            return _MOVED
        return _CHANGED if changed else None


def clear(parameter, set_to_none):
    """Its gradient, of whichever memory."""
    if set_to_none:
        parameter.grad = None
    elif parameter.grad is not None:
        with torch.no_grad():
            parameter.grad.zero_()


def is_plain(gradient):
    """Whether a gradient is there, and is not sparse."""
    return gradient is not None and gradient.layout == torch.strided


def _description(tensor):
    return f"{tensor.dtype} of shape {tuple(tensor.shape)} on {tensor.device}"


def place(named):
    """A slot for each parameter, in one block: shared memory, or memory of the GPU. Also a tensor of the whole block."""
    device = _device_of(named)
    offsets, size = {}, 0
    for name, p in named:
        offsets[name] = size
        size += -(-_bytes(p) // _ALIGNMENT) * _ALIGNMENT
    if device.type != "cpu":
        flat = torch.zeros(max(1, size), dtype=torch.uint8, device=device)
        return [Slot(name, p, _view(flat, offsets[name], p)) for name, p in named], flat
    block = Block(size)
    flat = block.torch((block.size,), torch.uint8)
    arrays = {name: (ctypes.c_uint8 * _bytes(p)).from_buffer(block.bytes, offsets[name])
              for name, p in named if _bytes(p) > 0}
    return [Slot(name, p, _view(flat, offsets[name], p), arrays.get(name)) for name, p in named], flat


def _bytes(tensor):
    return tensor.numel() * tensor.element_size()


def _view(flat, offset, parameter):
    """The bytes from `offset` as a tensor like the gradient of `parameter`."""
    part = flat[offset:offset + _bytes(parameter)].view(parameter.dtype)
    return part.as_strided(parameter.shape, strides_of_gradient(parameter))


def _device_of(named):
    """The one device of all parameters."""
    devices = {parameter.device: name for name, parameter in reversed(named)}
    for device, name in devices.items():
        if device.type not in ("cpu", "cuda"):
            raise DeviceMemoryError(f"parameter '{name}' is on {device}; only memory of the CPU and of CUDA devices is "
                                    "exchanged")
    if len(devices) > 1:
        first, second = list(devices.items())[:2]
        raise DeviceMemoryError(f"parameter '{first[1]}' is on {first[0]}, and parameter '{second[1]}' on {second[0]}; "
                                "wrap the parameters of each device in an optimizer of their own")
    return next(iter(devices), torch.device("cpu"))
