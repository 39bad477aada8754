"""What launch_map_test.py calls in jobs. Each job imports this module, so it imports little."""

import os
import pathlib
import signal
import time


def add(x, y):
    return x + y


def odd_fails(x):
    if x % 2:
        raise ValueError(x)
    return x


def ends(x):
    if x == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def waits(number, folder):
    """Notes that it runs, and goes on until the file `go` is there."""
    mark = pathlib.Path(folder) / f"runs-{number}"
    mark.touch()
    while not (pathlib.Path(folder) / "go").exists():
        time.sleep(0.02)
    mark.unlink()
    return number


def notes(number, file):
    """The last ones go on until the file `go` is there."""
    with open(file, "a") as out:
        print(number, file=out)
    while number > 5 and not pathlib.Path(file).with_name("go").exists():
        time.sleep(0.02)
    return number
