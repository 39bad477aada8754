"""Parameter servers: an exchange for comparing schemes, without a promise of speed. See docs/how-to/use-a-parameter-server.md."""

import ctypes

from slipway import _calls
from slipway._arrays import memory_of, tensor_list
from slipway.collectives import named
from slipway.errors import ArgumentError

# The library writes into the parameters of a server, whether or not the program still holds them.
_served = {}


class ParameterServer:
    """Parameters that all ranks push gradients to and pull from; the servers apply plain SGD.

    `parameters`: a dict by name, pairs, or a list of float arrays; all ranks start from those of rank 0. `staleness` 0 is
    synchronous; with k a rank may be k steps ahead of the slowest. Collective.
    """

    def __init__(self, name, parameters, rate, staleness=0):
        self.name = name
        self._text = name.encode()
        pairs = named(parameters)
        for _, array in pairs:
            memory_of(array)
        self._names = [array_name for array_name, _ in pairs]
        tensors, kept = tensor_list(pairs)
        _calls.call("slipway_server_create", self._text, tensors, len(kept), rate, staleness)
        _served[name] = kept

    def push(self, gradients):
        """Hands over the gradients of one step: a dict by the parameters' names, or a list in their order."""
        tensors, kept = tensor_list(list(zip(self._names, self._in_order(gradients))), writable=False)
        _calls.call("slipway_server_push", self._text, tensors, len(kept))

    def pull(self):
        """Copies the servers' parameters to the arrays of the constructor."""
        _calls.call("slipway_server_pull", self._text)

    def set_rate(self, rate):
        """The learning rate of what this rank pushes from now on; synchronous ranks need the same at each step. Local."""
        _calls.call("slipway_server_set_rate", self._text, rate)

    def lead(self):
        """How many steps this rank was ahead of the slowest one at its last pull. Local."""
        result = ctypes.c_int64()
        _calls.call("slipway_server_lead", self._text, ctypes.byref(result))
        return result.value

    def free(self):
        """The arrays keep what the last pull gave. Collective."""
        _calls.call("slipway_server_free", self._text)
        _served.pop(self.name, None)

    def _in_order(self, gradients):
        if isinstance(gradients, dict):
            missing = [name for name in self._names if name not in gradients]
            unknown = [name for name in gradients if name not in self._names]
            if missing or unknown:
                raise ArgumentError(f"parameter server '{self.name}': no gradient of {missing}, no parameter {unknown}")
            return [gradients[name] for name in self._names]
        arrays = [array for _, array in named(gradients)]
        if len(arrays) != len(self._names):
            raise ArgumentError(f"parameter server '{self.name}': {len(arrays)} gradients for {len(self._names)} "
                                "parameters")
        return arrays


_calls.at_finalize.append(_served.clear)
