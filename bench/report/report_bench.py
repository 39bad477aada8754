#!/usr/bin/python3
"""slipway bench report: the page of `slipway report` beside Optuna's plots of the same trials, in headless Chromium.

write   seconds to write the file: `slipway report` from the trial book; Optuna from trials in memory
bytes   of the file; `own`: without the library of the page
paint   milliseconds from navigation to the first paint; `usable`: until it answers
brush   milliseconds of a frame while a range is dragged along an axis of the parallel coordinates

The sides take turns, round by round, each in a browser of its own; medians over the rounds. Optuna's plots are files of
their own: parallel coordinates, history, slices of all parameters; contour of two for up to 2,000 trials.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).absolute().parent
sys.path[:0] = [str(HERE), str(HERE / "bench-support/report"), str(HERE / "bench-support/view")]

import optuna_plots  # noqa: E402
from in_browser import Browser, has_browser  # noqa: E402
from made_book import PARAMETERS, PROGRAM, made_book  # noqa: E402

ASSETS = "<script>", "<style>"
PLACE = """
document.getElementById('s-parallel-coordinates').scrollIntoView();
await new Promise((done) => setTimeout(done, 1500));
const box = document.querySelector('#s-parallel-coordinates .surface').getBoundingClientRect();
return [box.left, box.top, box.height];
"""


def arguments_of(line):
    parser = argparse.ArgumentParser(prog="slipway bench report", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10_000, metavar="N", help="of the trial book (10000)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each side is measured (5)")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    arguments = parser.parse_args(line)
    if arguments.trials < 2 or arguments.rounds < 1:
        parser.error("--trials counts from 2, --rounds from 1")
    return arguments


def slipway(place, *words):
    done = subprocess.run([PROGRAM, "--runs-dir", place / "runs", *words], cwd=place, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        called = " ".join(map(str, words))
        sys.exit(f"error: slipway {called} has failed: {done.stderr.strip()}\n  next: run it by hand")
    return done.stdout


def write_report(place, path):
    begun = time.monotonic()
    slipway(place, "-q", "report", "--out", path)
    return {"write_s": time.monotonic() - begun, "bytes": path.stat().st_size, "own_bytes": own_bytes(path)}


def own_bytes(path):
    """Without the script and the style of the page."""
    text = path.read_text()
    for begin in ASSETS:
        end = begin.replace("<", "</")
        before, _, rest = text.partition(begin)
        text = before + rest.partition(end)[2]
    return len(text.encode())


def frames_of_brush(browser):
    left, top, height = browser.run(f"return (async () => {{ {PLACE} }})()")
    return browser.frames_of_drag(left + 52, top + 60, height - 120)


class Side:
    """What is measured of one page, round by round."""

    def __init__(self, name, write, brush=None):
        self.name, self.write, self.brush = name, write, brush
        self.rounds, self.frames = [], []

    def measure(self, path):
        figures = self.write(path)
        with Browser() as browser:
            figures |= browser.open(path)
            frames = self.brush(browser) if self.brush else None
        self.rounds.append(figures)
        self.frames += frames or []
        path.unlink()

    def row(self):
        medians = {name: statistics.median(each[name] for each in self.rounds) for name in self.rounds[0]}
        ordered = sorted(self.frames)
        return {"side": self.name, **medians, "brush_frame_ms": statistics.median(ordered) if ordered else None,
                "brush_frame_p95_ms": ordered[int(0.95 * (len(ordered) - 1))] if ordered else None}


def sides_of(place):
    sides = [Side("slipway", lambda path: write_report(place, path), frames_of_brush)]
    if not optuna_plots.has_optuna():
        return sides
    study = optuna_plots.study_of(json.loads(slipway(place, "report", "--json"))["runs"][0])
    for plot in optuna_plots.plots_of(study):
        brush = optuna_plots.frames_of_brush if plot == "parallel_coordinate" else None
        sides.append(Side(f"optuna {plot}", lambda path, plot=plot: optuna_plots.write(study, plot, path), brush))
    return sides


def text_of(row):
    frame = "-" if row["brush_frame_ms"] is None else f"{row['brush_frame_ms']:.0f} / {row['brush_frame_p95_ms']:.0f}"
    return (f"{row['side']:28} {row['write_s']:9.2f} {row['bytes'] / 1e6:8.2f} {row['own_bytes'] / 1e6:8.2f} "
            f"{row['first_paint_ms']:9.0f} {row['usable_ms']:10.0f} {frame:>12}")


def print_table(figures):
    print("{trials} trials of {parameters} parameters, {rounds} rounds, load {load[0]} to {load[1]}".format(**figures))
    print(f"{'side':28} {'write s':>9} {'MB':>8} {'own MB':>8} {'paint ms':>9} {'usable ms':>10} {'brush ms':>12}")
    for row in figures["rows"]:
        print(text_of(row))
    print("brush: median and 95th percentile of a frame" if figures["peers"] else
          "Optuna's plots are not measured: install python3-optuna and python3-plotly")


def load():
    return round(os.getloadavg()[0], 1)


def measure(arguments, folder):
    place = folder / "book"
    made_book(place, arguments.trials)
    sides, before = sides_of(place), load()
    for number in range(1, arguments.rounds + 1):
        for side in sides:
            print(f"round {number} of {arguments.rounds}: {side.name}", file=sys.stderr)
            side.measure(folder / "page.html")
    return {"schema": "slipway.bench.report/1", "trials": arguments.trials, "parameters": PARAMETERS,
            "rounds": arguments.rounds, "cores": os.cpu_count(), "load": [before, load()],
            "peers": optuna_plots.versions() if len(sides) > 1 else None, "rows": [side.row() for side in sides]}


def main():
    arguments = arguments_of(sys.argv[1:])
    if not has_browser():
        sys.exit("error: there is no browser\n  next: install chromium, chromium-driver and python3-selenium")
    with tempfile.TemporaryDirectory(prefix="slipway-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        figures = measure(arguments, pathlib.Path(name))
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        print_table(figures)


if __name__ == "__main__":
    main()
