"""Waiting in tests: for what is about to happen, and not for ever."""

import time

_PAUSE_S = 0.05


def wait_for(condition, seconds=60, what="what was waited for"):
    """Returns what `condition` returns once that is true. Fails after `seconds`; `what` may be a function, too."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(_PAUSE_S)
    return value
