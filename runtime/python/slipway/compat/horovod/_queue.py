"""The one thread that carries operations out, in the order in which the program asked for them."""

import itertools
import queue
import threading

from slipway.errors import ArgumentError, StateError


class Operation:
    """What was asked for, and what came of it. `name`: what no other operation in flight may be called; or None."""

    def __init__(self, work, name=None):
        self.work = work
        self.name = name
        self.done = threading.Event()
        self.result = None
        self.error = None

    def carry_out(self):
        try:
            self.result = self.work()
        except BaseException as error:  # raised where the program waits for it
            self.error = error
        self.done.set()

    def wait(self):
        self.done.wait()
        if self.error is not None:
            raise self.error
        return self.result


class OperationQueue:
    """Operations of one rank. All ranks must ask in the same order."""

    def __init__(self):
        self._asked = queue.SimpleQueue()
        self._handles = {}
        self._names = set()  # in flight: the program has not learnt yet that they are done
        self._numbers = itertools.count()
        self._thread = threading.Thread(target=self._serve, name="slipway-operations", daemon=True)
        self._thread.start()

    def _serve(self):
        for operation in iter(self._asked.get, None):
            operation.carry_out()

    def ask(self, work, name=None):
        """Returns a handle for synchronize."""
        if name in self._names:
            raise ArgumentError(f"{name} is in flight already: wait for its handle with synchronize(), or give each "
                                "operation a name of its own")
        handle = next(self._numbers)
        self._handles[handle] = operation = Operation(work, name)
        if name is not None:
            self._names.add(name)
        self._asked.put(operation)
        return handle

    def run(self, work):
        """Asks, and waits for the result."""
        return self.synchronize(self.ask(work))

    def poll(self, handle):
        operation = self._operation(handle)
        done = operation.done.is_set()
        if done:
            self._names.discard(operation.name)
        return done

    def synchronize(self, handle):
        operation = self._operation(handle)
        del self._handles[handle]
        try:
            return operation.wait()
        finally:
            self._names.discard(operation.name)

    def _operation(self, handle):
        if handle not in self._handles:
            raise ArgumentError(f"there is no operation in flight with handle {handle!r}: it was waited for already")
        return self._handles[handle]

    def close(self):
        """Carries out what was asked for, and ends the thread."""
        if threading.current_thread() is self._thread:
            raise StateError("an operation cannot end the thread that carries it out")
        self._asked.put(None)
        self._thread.join()
