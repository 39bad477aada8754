"""The program of a rank of a job: reads the call, runs the function, and writes the result.

`_rank.py FOLDER [NUMBER]`: the folder of the call, and which call of it. Its own folder is no place to import from.
"""

import os
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import json
import pathlib
import signal
import threading
import time
import traceback

from slipway.launch import _calls, _checkpoint, _results

_CANCEL_PAUSE_S = 1.0


def place_of(environment):
    """What the launcher says about this rank."""
    configuration = json.loads(environment.get("SLIPWAY_CONFIG") or "{}")
    return {"rank": int(environment.get("RANK", 0)), "world_size": int(environment.get("WORLD_SIZE", 1)),
            "attempt": int(environment.get("SLIPWAY_ATTEMPT", 1)), "outputs": environment["SLIPWAY_OUTPUT_DIR"],
            "checkpoints": environment.get("SLIPWAY_CHECKPOINT_DIR", ""),
            "resume_from": environment.get("SLIPWAY_RESUME_FROM", ""),
            "stop_file": environment.get("SLIPWAY_STOP_FILE", ""), "metrics": environment.get("SLIPWAY_METRICS", ""),
            "is_trial": "SLIPWAY_TRIAL" in environment, "spec_hash": configuration.get("spec_hash", ""),
            "keep": configuration.get("checkpoint", {}).get("keep", 2)}


def cancel_file(folder, number):
    """Its existence asks call `number` of a map to end."""
    return pathlib.Path(folder) / f"cancel-{number:05}"


def _end_when_cancelled(folder, number, place):
    file = cancel_file(folder, number)

    def look():
        while not file.exists():
            time.sleep(_CANCEL_PAUSE_S)
        _results.write_cancelled(place["outputs"], place)
        print("slipway: the call is cancelled", file=sys.stderr, flush=True)
        os._exit(1)

    if file.exists():
        look()
    threading.Thread(target=look, daemon=True, name="slipway-cancel").start()


def _report_seconds(place, seconds):
    """The objective of the trials of a map."""
    line = {"time": time.time(), "step": 0, "metrics": {"seconds": seconds}}
    with open(place["metrics"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _call(folder, number, place):
    """The value of the function."""
    _calls.prepare(folder)
    saved = _checkpoint.load(place)
    function, arguments, keywords = saved if saved is not None else (*_calls.read(folder, number), {})
    if _checkpoint.can_checkpoint(function):
        _checkpoint.save_on_signal(place, (function, arguments, keywords),
                                   lambda error: _results.write_exception(place["outputs"], place, error))
    value = function(*arguments, **keywords)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # it has ended: there is nothing left to save
    return value


def run(folder, number, place):
    """The exit status. An exception of the function is its result, and a failure of the job."""
    try:
        begun = time.monotonic()
        if _checkpoint.has_returned(place):
            return 0
        value = _call(folder, number, place)
        _results.write_value(place["outputs"], place, value)
        if place["is_trial"] and place["rank"] == 0:
            _report_seconds(place, time.monotonic() - begun)
        return 0
    except SystemExit as error:
        if error.code == _checkpoint.SAVED:
            raise
        failure = error
    except Exception as error:
        failure = error
    traceback.print_exception(type(failure), failure, failure.__traceback__)
    _results.write_exception(place["outputs"], place, failure)
    return 1


def main(words):
    folder, number = pathlib.Path(words[1]), int(words[2]) if len(words) > 2 else 0
    place = place_of(os.environ)
    sys.stdout.reconfigure(line_buffering=True)
    if place["is_trial"]:
        _end_when_cancelled(folder, number, place)
    return run(folder, number, place)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
