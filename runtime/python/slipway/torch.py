"""PyTorch: an optimizer whose gradients are exchanged while backward still computes others.

    slipway.init()
    optimizer = slipway.torch.DistributedOptimizer(optimizer, model.named_parameters())
    slipway.torch.broadcast_parameters(model.state_dict())
    slipway.torch.broadcast_optimizer_state(optimizer)

The gradients of all parameters lie in one block of slipway_alloc memory, so that nothing is copied for the exchange:
slipway.torch_training.slots. On a CPU, torch makes large ones there: slipway.torch_training.gradient_memory.
Those of parameters on a GPU lie in one block there, and travel through pinned memory of the CPU.

Importing this module also registers the backend "slipway" of torch.distributed: slipway.torch_backend.
"""

import contextlib
import itertools
import weakref

import torch

from slipway import _job, _skeletons, collectives, objects, torch_backend
from slipway.errors import ArgumentError, NotSupportedError, StateError
from slipway.teams import Team
from slipway.torch_backend.exchange import dense
from slipway.torch_training.batch_norm import SyncBatchNorm
from slipway.torch_training.batches import Batch
from slipway.torch_training.gradient_memory import GradientMemory, is_lent
from slipway.torch_training.scaler import GradScaler, unscale_for_torch
from slipway.torch_training.slots import clear, is_plain, place

__all__ = ["DistributedOptimizer", "GradScaler", "SyncBatchNorm", "broadcast_optimizer_state", "broadcast_parameters"]

torch_backend.register()

_team_numbers = itertools.count(1)


def _called_after_accumulation(parameter, method, *arguments):
    """Calls a method when backward has added to parameter.grad, while its object lives. Returns what must be kept alive
    until then."""
    weak = weakref.WeakMethod(method)  # the parameter keeps its hooks, and they must not keep the object

    def call(*_):
        living = weak()
        if living is not None:
            living(*arguments)

    if hasattr(parameter, "register_post_accumulate_grad_hook"):  # torch 2.1
        hook = parameter.register_post_accumulate_grad_hook(call)
        weakref.finalize(method.__self__, hook.remove).atexit = False
        return hook
    node = _accumulation_of(parameter)
    node.register_hook(call)
    return node


def _accumulation_of(parameter):
    """The node that adds to parameter.grad; the parameter itself does not keep it."""
    return parameter.expand_as(parameter).grad_fn.next_functions[0][0]


def _is_stale(hook, parameter):
    """Whether what _called_after_accumulation() returned is a node that backward no longer comes to."""
    return not hasattr(parameter, "register_post_accumulate_grad_hook") and _accumulation_of(parameter) is not hook


def _named_trained(optimizer, named_parameters):
    """Name and parameter of everything the optimizer trains, in its order.

    A team exchanges the last ones first, and backward is likely to come to these first.
    """
    trained = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if named_parameters is None:
        names = {id(p): f"parameter {index}" for index, p in enumerate(trained)}
    else:
        names = {id(p): name for name, p in named_parameters}
        if len({name for name, _ in named_parameters}) != len(named_parameters):
            raise ArgumentError("two parameters have the same name; prefix those of each model")
    unnamed = [p for p in trained if id(p) not in names]
    if unnamed:
        raise ArgumentError(f"named_parameters has no name for {len(unnamed)} of the optimizer's parameters, the first "
                            f"of shape {tuple(unnamed[0].shape)}; hand over the names of all, or None")
    return [(names[id(p)], p) for p in trained]


def pairs_of(parameters, function):
    """Names and tensors as a list. Errors: ArgumentError, which names `function`."""
    try:
        pairs = list(parameters.items() if hasattr(parameters, "items") else parameters)
        wrong = next((pair for pair in pairs if not _is_named(pair)), None)
    except TypeError:  # nothing to go through
        pairs, wrong = [], parameters
    if wrong is not None:
        raise ArgumentError(f"{function}: {type(wrong).__name__} is no pair of name and tensor; hand over "
                            "model.named_parameters() or model.state_dict()")
    return pairs


def _is_named(pair):
    return isinstance(pair, (tuple, list)) and len(pair) == 2


def _travels_in_batches(device):
    return device.type == "cuda"


def checked_passes(passes):
    if not isinstance(passes, int) or passes < 1:
        raise ArgumentError(f"backward_passes_per_step is {passes!r}, not a number from 1")
    return passes


class DistributedOptimizer(torch.optim.Optimizer):
    """Wraps any optimizer of torch: step() applies the mean gradient over all ranks.

    Each gradient is submitted when backward has made it, after `backward_passes_per_step` passes, whose gradients are
    added as torch adds them. A parameter that got no gradient counts as zero: momentum and weight decay still move it.
    One that requires_grad_(False) has frozen, on all ranks alike, has none. One that was frozen at wrapping is not
    exchanged: once it trains, step() is a StateError. Settings, for those of the configuration: compression
    "bf16" or "fp16", mode "delayed" with lag, sync_first, sync_last (then total_steps for those in per cent),
    clip_norm, check_finite, op "mean" or "sum". In the first delayed steps there is nothing to apply, and step() leaves
    the parameters alone. Making one is collective, and so is step().
    """

    # torch's GradScaler then hands itself to step(), and does not unscale gradients that are being exchanged.
    _step_supports_amp_scaling = True

    def __init__(self, optimizer, named_parameters=None, *, backward_passes_per_step=1, compression=None, total_steps=0,
                 team=None, sparse_as_dense=False, **settings):
        if isinstance(optimizer, torch.optim.LBFGS):
            raise NotSupportedError("LBFGS calls backward many times in one step; use an optimizer that steps once")
        self._optimizer = optimizer
        self._passes = checked_passes(backward_passes_per_step)
        self._sparse_as_dense = sparse_as_dense
        if named_parameters is not None:
            named_parameters = pairs_of(named_parameters, "named_parameters of DistributedOptimizer")
        self._slots, self._flat = place(_named_trained(optimizer, named_parameters))
        self._exchanged_ones = {id(slot.parameter) for slot in self._slots}
        names = {id(p): f"'{name}'" for name, p in named_parameters or []}
        self._frozen = {id(p): names.get(id(p), _unnamed(p)) for p in self._without_slot()}
        if not self._slots:
            raise ArgumentError("the optimizer has no parameter that requires a gradient")
        self._memory = GradientMemory.of(self._slots)
        self._watched = True
        self._left = len(self._slots)  # to be submitted in this step
        self._fresh = None  # index and slot of the one that backward has just made
        self._exchanged = self._skip = False
        self._begun = False
        self.delivered = True
        self._settings = settings
        self.team = self._make_team(team or f"optimizer {next(_team_numbers)}", total_steps,
                                    {"compress": compression, **settings})
        self._batch = Batch(self.team, self._flat.device) if _travels_in_batches(self._flat.device) else None
        self._hooks = [self._hook(index, slot) for index, slot in enumerate(self._slots)]

    def _hook(self, index, slot):
        return _called_after_accumulation(slot.parameter, self._gradient_is_made, index, slot)

    def _hook_again(self, index, slot):
        """The gradient came without a call: torch has another node for a parameter that was converted."""
        made = slot.parameter.grad is not None and slot.parameter.requires_grad
        if made and _is_stale(self._hooks[index], slot.parameter):
            self._hooks[index] = self._hook(index, slot)

    def _without_slot(self):
        """Asked for in each step, since the wrapped optimizer may have others by now. Groups without any cost least."""
        known = self._exchanged_ones
        others = (group["params"] for group in self.param_groups if not known.issuperset(map(id, group["params"])))
        return [p for parameters in others for p in parameters if id(p) not in known]

    def _require_all_exchanged(self):
        """The wrapped optimizer would apply gradients of this rank alone."""
        for p in self._without_slot():
            if p.requires_grad and p.grad is not None:
                what = f"{self._frozen[id(p)]} was frozen" if id(p) in self._frozen else f"{_unnamed(p)} was not there"
                raise StateError(f"{what} when the optimizer was made, so its gradient is not exchanged; nothing was "
                                 "updated: close() the optimizer and wrap again")

    def _make_team(self, name, total_steps, settings):
        return Team(name, [(slot.name, slot.in_memory()) for slot in self._slots], total_steps, **settings)

    def _wait(self):
        """Exchanges; returns whether there is something to apply."""
        self.team.wait()
        return self.team.delivered()

    def _gradient_is_made(self, index, slot):
        if not self._watched:
            return
        if slot.submitted:
            slot.note(slot.parameter.grad)  # this error says that it was changed
            raise StateError(
                f"the gradient of '{slot.name}' was computed again before step(): set backward_passes_per_step to the "
                "number of backward passes, or run those that are not for this optimizer within no_sync()")
        if self._memory is not None and not self._memory.lending:
            self._memory.begin()
        self._submit_fresh()
        self._exchanged = False
        slot.passes += 1
        if slot.passes == self._passes:
            self._submit(index, slot)

    def _submit(self, index, slot):
        gradient = slot.parameter.grad
        plain = is_plain(gradient)
        if self._batch is not None and plain:
            self._batch.add(index, slot)
        elif plain and is_lent(gradient.data_ptr()):
            self._fresh = index, slot  # until backward no longer uses it
        else:
            slot.submit(self.team, index, self._sparse_as_dense)
        slot.submitted = True
        self._left -= 1
        if self._left == 0:
            self._end_lending()
            self._hand_over()

    def _submit_fresh(self):
        if self._fresh is not None:
            (index, slot), self._fresh = self._fresh, None
            slot.submit(self.team, index, self._sparse_as_dense)

    def _hand_over(self):
        if self._batch is not None:
            self._batch.hand_over()

    def _end_lending(self):
        if self._memory is not None:
            self._memory.end()

    def synchronize(self):
        """Exchanges what backward has made: p.grad then holds the mean, to be clipped for example. Collective.

        After a NotFiniteError the step is dropped on all ranks; call zero_grad() and go on.
        """
        self._end_lending()
        for index, slot in reversed(list(enumerate(self._slots))):
            self._submit_fresh()
            if not slot.submitted:
                self._hook_again(index, slot)
                self._submit(index, slot)
        self._submit_fresh()
        self._hand_over()
        self.delivered = self._begun = True  # zero_grad() clears what an error leaves
        try:
            self.delivered = self._wait()
        finally:
            self._left = len(self._slots)
            wrong = [(slot.name, what) for slot in self._slots if (what := slot.end_step()) is not None]
        if wrong:
            raise StateError("the gradient of '{}' {}".format(*wrong[0]))
        self._require_all_exchanged()
        self._exchanged = True

    @property
    def exchanged(self):
        """Whether step() exchanges nothing any more, since synchronize() did or must not. Local."""
        return self._exchanged or self._skip

    def step(self, closure=None, *, grad_scaler=None):
        """Exchanges, unless synchronize() did, and updates the parameters if something was delivered. Collective.

        `grad_scaler`: that of torch, which calls this; gradients are unscaled after the exchange.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if "found_inf" in self.__dict__:
            raise NotSupportedError("this version of torch unscales gradients in another way; use "
                                    "slipway.torch.GradScaler")
        taken = grad_scaler is None or unscale_for_torch(self, grad_scaler)
        if taken and not self.exchanged:
            self.synchronize()
        self._exchanged = False
        if taken and self.delivered:
            self._optimizer.step()
        return loss

    @contextlib.contextmanager
    def skip_synchronize(self):
        """step() within updates with the gradients as they are."""
        self._skip = True
        try:
            yield
        finally:
            self._skip = False

    @contextlib.contextmanager
    def no_sync(self):
        """Backward passes within are not counted and submit nothing: they only add to the gradients."""
        self._watched = False
        try:
            yield
        finally:
            self._watched = True

    def zero_grad(self, set_to_none=None):
        """As of the wrapped optimizer. The next backward brings the gradients back to where they are exchanged.

        After a step() that delivered nothing the gradients stay: with the configuration's `accumulate` they are the sum
        so far, otherwise they are zero.
        """
        self._end_lending()  # an error may have ended backward
        if any(slot.submitted for slot in self._slots):
            raise StateError("zero_grad() between backward and step(), while gradients are exchanged: to drop them, "
                             "call synchronize() before it, on all ranks")
        for slot in self._slots:
            slot.passes = 0
        self._exchanged = False
        if not self.delivered:
            return
        if set_to_none is None:
            set_to_none = _clears_by_default(self._optimizer)
        for parameter in self._without_slot():
            clear(parameter, set_to_none)
        if set_to_none or self._flat.device.type == "cpu":
            # What is freed last, torch takes first: the next gradients lie as these do.
            for slot in self._slots:
                clear(slot.parameter, set_to_none)
            return
        self._flat.zero_()
        for slot in self._slots:
            if slot.parameter.requires_grad or slot.parameter.grad is not None:  # as in torch
                slot.parameter.grad = slot.hand_out()

    def exchange_settings(self):
        """Those given here, and what the configuration says of gradients. Local."""
        given = {name: value for name, value in self._settings.items() if value is not None}
        return {**_job.configuration().get("gradients", {}), **given}

    def norm(self):
        """The global norm of the last gradients before clipping, with clip_norm. Local."""
        return self.team.norm()

    def exchange_state(self):
        """What a restart would lose of the exchange: bytes of this rank for its checkpoint. Collective."""
        return self.team.state_save()

    def load_exchange_state(self, state):
        """What exchange_state() gave on this rank. Collective. Errors: StateError: it has made steps already."""
        self.team.state_load(state)
        self._begun = True

    @property
    def begun(self):
        """Whether the exchange has made a step, or has loaded how many there were. Local."""
        return self._begun or any(slot.submitted for slot in self._slots)

    @property
    def keeps_gradients(self):
        """Whether gradients are on their way from one step() to another. Local."""
        return self.exchange_settings().get("mode") == "delayed"

    def close(self):
        """Ends the exchange, so that the model can be wrapped again. Collective."""
        self._watched = False
        if self._memory is not None:
            self._memory.close()
        self.team.unregister()

    # What an optimizer is asked for, the wrapped one answers.

    @property
    def param_groups(self):
        return self._optimizer.param_groups

    @property
    def state(self):
        return self._optimizer.state

    @property
    def defaults(self):
        return self._optimizer.defaults

    def state_dict(self):
        return self._optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self._optimizer.load_state_dict(state_dict)

    def add_param_group(self, param_group):
        raise NotSupportedError("the exchanged parameters are fixed: close() this optimizer, add to the wrapped one, "
                                "and wrap it again")

    def __getattr__(self, name):
        if name == "_optimizer":  # not made yet
            raise AttributeError(name)
        return getattr(self._optimizer, name)

    def __reduce_ex__(self, _):
        """A pickle holds the wrapped optimizer: schedulers whose state refers to their optimizer can be saved."""
        return self._optimizer.__reduce_ex__(1)  # what is for later protocols must be of the class of `self`

    def __copy__(self):
        raise NotSupportedError("a DistributedOptimizer cannot be copied; use its state_dict()")

    def __deepcopy__(self, _):
        return self.__copy__()

    def __repr__(self):
        return f"DistributedOptimizer({self._optimizer!r})"


def _unnamed(parameter):
    return f"a parameter of shape {tuple(parameter.shape)}"


def _clears_by_default(optimizer):
    """What zero_grad() without an argument does in this version of torch."""
    defaults = type(optimizer).zero_grad.__defaults__ or (False,)
    return bool(defaults[0])


def broadcast_parameters(parameters, root=0, group=None):
    """Copies a state_dict or named parameters of rank `root` to all, in place. Collective.

    Errors: ArgumentError: no pairs of names and tensors, a model for example.
    """
    tensors = dict(pairs_of(parameters, "broadcast_parameters"))
    tensors = {name: value.detach() for name, value in tensors.items() if isinstance(value, torch.Tensor)}
    broadcast_tensors(tensors, root, group)


def broadcast_tensors(tensors, root=0, group=None):
    """broadcast() for a dict of tensors, which need not be contiguous. One call for each device of a rank: where a
    model lies on several GPUs, all ranks divide it alike."""
    travelling = {name: dense(tensor) for name, tensor in tensors.items()}
    for place in sorted({_place_of(tensor) for tensor in travelling.values()}):
        some = {name: tensor for name, tensor in travelling.items() if _place_of(tensor) == place}
        collectives.broadcast(some, root, group)
    for name, tensor in tensors.items():
        if travelling[name] is not tensor:
            tensor.copy_(travelling[name])


def _place_of(tensor):
    return tensor.device.type, tensor.device.index or 0


def broadcast_optimizer_state(optimizer, root=0, group=None):
    """Gives every rank the optimizer state of rank `root`, also one that has not stepped yet. Collective."""
    mine = collectives.rank_in(group) == root
    tensors = []
    skeleton = _skeletons.take_out(optimizer.state_dict(), tensors) if mine else None
    skeleton = objects.broadcast_object(skeleton, root, group)
    if not mine:
        places = list(_skeletons.placeholders(skeleton))
        tensors = [torch.empty(place.shape, dtype=place.dtype, device=torch.device("cpu")) for place in places]
    broadcast_tensors({f"state {index}": tensor.cpu() for index, tensor in enumerate(tensors)}, root, group)
    if not mine:
        tensors = [place.laid_out(tensor) for place, tensor in zip(places, tensors)]
        optimizer.load_state_dict(_skeletons.put_in(skeleton, tensors))
