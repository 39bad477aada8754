#!/usr/bin/python3
"""slipway bench view: what `slipway watch` costs, in a terminal of 80 x 24 on a made book of trials.

first   seconds from the start of the program to a screen with all trials counted; beside it `slipway status`
rest    share of a core while nothing changes, of an ended ensemble and of a run that trains
rate    trials a second that a manager runs, watched and not, in turns
"""

import argparse
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

HERE = pathlib.Path(__file__).absolute().parent
sys.path[:0] = [str(HERE), str(HERE / "bench-support/view")]

from made_book import NOOP, PROGRAM, ensemble, made_book, slipway  # noqa: E402

PATIENCE = 60
GOALS = {"first": 0.1, "rest": 0.01}


def arguments_of(line):
    parser = argparse.ArgumentParser(prog="slipway bench view", description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=10_000, metavar="N", help="trials of the book (10000)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each is measured (5)")
    parser.add_argument("--seconds", type=int, default=20, metavar="N", help="how long it rests (20)")
    parser.add_argument("--check", action="store_true", help="exit status 1 when a goal is missed")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    arguments = parser.parse_args(line)
    if min(arguments.trials, arguments.rounds, arguments.seconds) < 1:
        parser.error("--trials, --rounds and --seconds count from 1")
    return arguments


class Watched:
    """`slipway watch` in a terminal of its own."""

    def __init__(self, place, run="last"):
        self.begun = time.monotonic()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "TERM": "xterm-256color"}
            os.chdir(place)
            os.execve(PROGRAM, [str(PROGRAM), "--runs-dir", str(place / "runs"), "watch", str(run)], environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.seen = b""

    def read(self, seconds):
        ready, _, _ = select.select([self.terminal], [], [], seconds)
        if ready:
            self.seen += os.read(self.terminal, 1 << 16)

    def wait_for(self, *texts):
        """Seconds since its start until the terminal has got all of the texts."""
        while not all(text.encode() in self.seen for text in texts):
            if time.monotonic() - self.begun > PATIENCE:
                sys.exit(f"error: slipway watch did not show {texts}\n  next: start it in the run's folder and look")
            self.read(0.05)
        return time.monotonic() - self.begun

    def rest(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(end - time.monotonic() if end > time.monotonic() else 0)

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        os.write(self.terminal, b"q")
        while True:
            try:
                if not os.read(self.terminal, 1 << 16):
                    break
            except OSError:  # the other side is closed
                break
        _, status = os.waitpid(self.pid, 0)
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status)


def seconds_of(action):
    begun = time.monotonic()
    action()
    return time.monotonic() - begun


def measure_first(place, trials, rounds):
    first, status = [], []
    for _ in range(rounds):
        watched = Watched(place)
        first.append(watched.wait_for(f"complete {trials}"))
        watched.end()
        status.append(seconds_of(lambda: slipway(place, "status")))
    return {"first_frame_s": statistics.median(first), "slipway_status_s": statistics.median(status)}


def share_at_rest(place, text, seconds):
    watched = Watched(place)
    watched.wait_for(text)
    watched.rest(3)  # what follows the first frame
    before, begun = watched.processor_seconds(), time.monotonic()
    watched.rest(seconds)
    share = (watched.processor_seconds() - before) / (time.monotonic() - begun)
    watched.end()
    return share


def measure_rest(place, trials, seconds, folder):
    of_book = share_at_rest(place, f"complete {trials}", seconds)
    folder.mkdir()
    spec = {"name": "live", "launch": {"engine": "local"},
            "train": {"command": ["sh", "-c", f"sleep {seconds + 60}"]}}
    (folder / "exp.yaml").write_text(json.dumps(spec))
    run = subprocess.Popen([PROGRAM, "--runs-dir", folder / "runs", "-q", "run", "exp.yaml"], cwd=folder,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    while not list(folder.glob("runs/live-*/attempt-1")):
        time.sleep(0.05)
    of_run = share_at_rest(folder, "running", seconds)
    run.send_signal(signal.SIGTERM)
    run.wait()
    return {"rest_share_of_book": of_book, "rest_share_of_live_run": of_run}


def rate_of(place, watched):
    """Trials a second of a manager whose programs end at once."""
    place.mkdir(parents=True)
    trials = 600
    ensemble(place, trials, 2, [str(NOOP)], parameters=2)
    begun = time.monotonic()
    run = subprocess.Popen([PROGRAM, "--runs-dir", place / "runs", "-q", "run", "exp.yaml"], cwd=place,
                           stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    screen = None
    while run.poll() is None:
        if watched and screen is None and list(place.glob("runs/bench-*/state.json")):
            screen = Watched(place)
        if screen is None:
            time.sleep(0.005)
        else:
            screen.read(0.02)
    seconds = time.monotonic() - begun
    if screen is not None:
        screen.end()
    if run.returncode != 0:
        sys.exit("error: slipway run has failed\n  next: run it by hand")
    return trials / seconds


def measure_rate(place, rounds):
    alone, watched = [], []
    for number in range(rounds):
        alone.append(rate_of(place / f"alone-{number}", False))
        watched.append(rate_of(place / f"watched-{number}", True))
    return {"trials_a_second": statistics.median(alone), "trials_a_second_watched": statistics.median(watched),
            "least_and_most_alone": [min(alone), max(alone)], "least_and_most_watched": [min(watched), max(watched)]}


def main():
    arguments = arguments_of(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="slipway-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        place = pathlib.Path(folder)
        made_book(place / "book", arguments.trials)
        figures = measure_first(place / "book", arguments.trials, arguments.rounds)
        figures |= measure_rest(place / "book", arguments.trials, arguments.seconds, place / "live")
        figures |= measure_rate(place / "rate", arguments.rounds)
    reached = (figures["first_frame_s"] <= GOALS["first"] and figures["rest_share_of_book"] <= GOALS["rest"]
               and figures["rest_share_of_live_run"] <= GOALS["rest"])
    if arguments.json:
        document = {"schema": "slipway.bench.view/1", "trials": arguments.trials, "rounds": arguments.rounds,
                    "cores": os.cpu_count(), "figures": figures, "reached": reached}
        print(json.dumps(document, indent=2))
    else:
        for name, figure in figures.items():
            print(f"{name:26} {figure if isinstance(figure, list) else format(figure, '.4g')}")
        print(f"goals: a first frame within {GOALS['first']} s, at most {GOALS['rest']:.0%} of a core at rest: "
              f"{'reached' if reached else 'missed'}")
    return 1 if arguments.check and not reached else 0


if __name__ == "__main__":
    sys.exit(main())
