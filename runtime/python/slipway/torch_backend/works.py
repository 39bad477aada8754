"""Operations in flight: what torch waits for, and the threads that carry operations out in order."""

import collections
import threading
import traceback

import torch
from torch._C._distributed_c10d import Work as TorchWork

from slipway.errors import StalledError

# C++ holds only its own half of a Work that Python made. When the Python half goes first, C++ waits for ever. So each
# Work is kept until it is done and was asked for; the oldest of those that nobody asks for are dropped.
_kept = {}
_MOST_KEPT = 4096
_IDLE_S = 60  # a thread without work lives so long
_kept_lock = threading.Lock()

_thread = threading.local()  # .callbacks: those of an operation that this thread runs


def _keep(work):
    with _kept_lock:
        _kept[id(work)] = work
        if len(_kept) > _MOST_KEPT:
            oldest = next((key for key, kept in _kept.items() if kept.is_completed()), None)
            _kept.pop(oldest, None)


def _let_go(work):
    with _kept_lock:
        _kept.pop(id(work), None)


def _seconds(timeout):
    """None for no limit; torch's C++ means that by 0, some versions by -1."""
    seconds = timeout.total_seconds() if hasattr(timeout, "total_seconds") else timeout
    return seconds if seconds and seconds > 0 else None


class Work(TorchWork):
    """One operation. wait() raises what went wrong; the future has a list of tensors, or that error.

    `limit`: seconds after which wait() gives up where the library itself has no watch; `what` names the operation.
    """

    def __init__(self, result, what, limit=None):
        super().__init__()
        self._result, self.what, self._limit = result, what, limit
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._error = self._source = self._promise = self._future = None
        self._asked = False
        self.asked_by = None  # of an OperationQueue; None: it is in none
        _keep(self)

    def carried_out_on_stream(self, carry_out):
        """What a thread does for it: in CPU memory just that."""
        return carry_out

    def finish(self, error=None, source=None):
        """Called once, by the thread that carried it out. Runs the callbacks of the future."""
        with self._lock:
            self._error, self._source = error, source
            self._done.set()
            promise, asked = self._promise, self._asked
        if promise is not None:
            self._settle(promise)
        if asked:
            _let_go(self)

    def _is_asked_for(self):
        with self._lock:
            self._asked = True
            done = self._done.is_set()
        if done:
            _let_go(self)

    def wait(self, timeout=None):
        seconds = _seconds(timeout) or self._limit
        callbacks = getattr(_thread, "callbacks", None)
        if callbacks is not None and self.asked_by is callbacks.queue.program and not self._done.is_set():
            callbacks.queue.let_others_go_first(callbacks)
        if not self._done.wait(seconds):
            raise StalledError(f"{self.what} was not done after {seconds:.1f} s; see what the other rank does, or "
                               "give init_process_group a larger timeout")
        self._is_asked_for()
        if self._error is not None:
            raise self._error
        return True

    def _new_future(self):
        return torch.futures.Future()

    def _fulfil(self, promise):
        promise.set_result(None)

    def _settle(self, promise):
        """Fulfils it, or gives it the reason why not. torch drops what a callback raises: nobody would be woken. A
        promise on a lost GPU may take neither. stderr says so, and the thread goes on with what others asked for."""
        try:
            self._fulfil(promise)
        except Exception as error:
            try:
                promise.set_exception(error)
            except Exception:
                traceback.print_exc()

    def _outcome(self, done):
        if self._error is not None:  # the cause, where the promise could not be fulfilled either
            raise self._error
        done.wait()  # raises why the promise could not be fulfilled
        return self._result

    def get_future(self):
        with self._lock:
            if self._future is None:
                # An error that set_exception() leaves is a value for C++; one that a callback raises is an error.
                self._promise = self._new_future()
                self._future = self._promise.then(self._outcome)
                fulfil = self._promise if self._done.is_set() else None
            else:
                fulfil = None
        if fulfil is not None:
            self._settle(fulfil)
        self._is_asked_for()
        return self._future

    def is_completed(self):
        return self._done.is_set()

    def is_success(self):
        return self._done.is_set() and self._error is None

    def exception(self):
        return self._error

    def result(self):
        return self._result

    def synchronize(self):
        self.wait()

    def source_rank(self):
        return self._source

    _source_rank = source_rank


class Together(Work):
    """Operations that were asked for as one, each of which is carried out by itself."""

    def __init__(self, works, what):
        self._works = works
        super().__init__([work.result() for work in works], what)

    def wait(self, timeout=None):
        for work in self._works:
            work.wait(timeout)
        self._done.set()
        self._is_asked_for()
        return True

    def get_future(self):
        futures = [work.get_future() for work in self._works]
        promise = self._new_future()
        torch.futures.collect_all(futures).add_done_callback(lambda _: self._settle(promise))

        def result(done):
            for future in futures:
                future.wait()  # raises its error
            done.wait()  # raises why the promise could not be fulfilled
            return self._result

        return promise.then(result)

    def is_completed(self):
        return all(work.is_completed() for work in self._works)

    def is_success(self):
        return all(work.is_success() for work in self._works)

    def exception(self):
        return next((work.exception() for work in self._works if work.exception() is not None), None)


class _Callers:
    """Those who ask for operations: the program, or the callbacks of one operation."""

    def __init__(self, queue):
        self.queue = queue
        self.asked = collections.deque()


class OperationQueue:
    """Carries out the operations of one group, one after the other.

    They come in the order of the calls. But when an operation is done, its callbacks run, and what they ask for comes
    before anything else. So the order is that of a program that waits for each operation, and the same on all ranks,
    however fast each is. While callbacks run, other threads carry out what they ask for: they may wait for it.
    """

    def __init__(self, name):
        self._name = name
        self.program = _Callers(self)
        self._callers = [self.program]  # and behind it running callbacks, of which the last go first
        self._change = threading.Condition()
        self._busy = False  # an operation is being carried out
        self._idle = 0  # threads that wait for one

    def ask(self, work, carry_out):
        callbacks = getattr(_thread, "callbacks", None)
        with self._change:
            work.asked_by = callbacks if callbacks in self._callers else self.program
            work.asked_by.asked.append((work, carry_out))
            self._wake()
        return work

    def let_others_go_first(self, callbacks):
        """Callbacks wait for an operation of others: those no longer wait for the end of the callbacks."""
        with self._change:
            self._leave(callbacks)
            self._wake()

    def _leave(self, callbacks):
        if callbacks in self._callers:
            before = self._callers[self._callers.index(callbacks) - 1]
            before.asked.extendleft(reversed(callbacks.asked))
            self._callers.remove(callbacks)

    def _wake(self):
        if self._busy or not self._callers[-1].asked:
            return
        if self._idle == 0:
            threading.Thread(target=self._serve, name=f"slipway-{self._name}", daemon=True).start()
        else:
            self._change.notify_all()  # one alone might be a thread in drain()

    def _next(self):
        """None when there was nothing to do for a while: the thread may end."""
        with self._change:
            self._idle += 1
            there = self._change.wait_for(lambda: self._callers[-1].asked and not self._busy, _IDLE_S)
            self._idle -= 1
            if not there:
                return None
            self._busy = True
            return self._callers[-1].asked.popleft()

    def _serve(self):
        while (asked := self._next()) is not None:
            work, carry_out = asked
            error = None
            try:
                with torch.no_grad():
                    carry_out()
            except BaseException as raised:  # raised where the program waits for it
                error = raised
            self._finish(work, error)
            asked = work = carry_out = error = None  # the tensors of the last operation

    def _finish(self, work, error):
        callbacks = _thread.callbacks = _Callers(self)
        with self._change:
            self._busy = False
            self._callers.append(callbacks)
        try:
            work.finish(error)
        finally:
            _thread.callbacks = None
            with self._change:
                self._leave(callbacks)
                self._change.notify_all()

    def drain(self, seconds=None):
        """Returns when nothing is asked for any more; False when that takes longer."""
        with self._change:
            return self._change.wait_for(lambda: not self._busy and not any(each.asked for each in self._callers),
                                         seconds)
