#!/usr/bin/python3
"""slipway bench workflow: steps a second of workflows whose steps do nothing, beside make, GNU parallel and Snakemake.

wide      no step needs another
deep      each step needs the one before
diamond   all but the first and last need the first; the last needs them all

Each step runs `true`. The sides take turns, round by round, each in a fresh folder; medians over the rounds. GNU
parallel knows no dependencies: it runs the wide shape only. A side that is not installed is left out. Slipway keeps a
record and a result of each step, so that it runs only once; make and parallel keep none.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).absolute().parent
PROGRAM = os.environ.get("SLIPWAY_PROGRAM", str(HERE.parent.parent / "bin/slipway"))


def needs_of(shape, count):
    """The numbers of the steps that each step needs."""
    if shape == "wide":
        return [[] for _ in range(count)]
    if shape == "deep":
        return [[number - 1] if number else [] for number in range(count)]
    return [[], *[[0] for _ in range(count - 2)], list(range(1, count - 1))]


def names(numbers):
    return [f"s{number}" for number in numbers]


def slipway_side(folder, needs, jobs):
    steps = "\n".join(f"  s{number}: {{command: ['true'], after: [{', '.join(names(each))}]}}"
                      for number, each in enumerate(needs))
    (folder / "flow.yaml").write_text(f"name: noop\nsteps:\n{steps}\n")
    return [PROGRAM, "-q", "--runs-dir", "runs", "run", "flow.yaml"]


def make_side(folder, needs, jobs):
    rules = "".join(f"s{number}: {' '.join(names(each))}\n\t@true\n" for number, each in enumerate(needs))
    everything = " ".join(names(range(len(needs))))
    (folder / "Makefile").write_text(f".PHONY: all {everything}\nall: {everything}\n{rules}")
    return ["make", "-s", "-j", str(jobs), "all"]


def parallel_side(folder, needs, jobs):
    if any(needs):
        return None
    (folder / "commands").write_text("true\n" * len(needs))
    return ["parallel", "-j", str(jobs), "-a", "commands"]


def snakemake_side(folder, needs, jobs):
    rules = "".join(f"rule s{number}:\n  input: {names(each)}\n  output: touch('s{number}')\n  shell: 'true'\n"
                    for number, each in enumerate(needs))
    (folder / "Snakefile").write_text(f"rule all:\n  input: {names(range(len(needs)))}\n{rules}")
    return ["snakemake", "--quiet", "--cores", str(jobs)]


SIDES = {"slipway": slipway_side, "make": make_side, "parallel": parallel_side, "snakemake": snakemake_side}
SHAPES = ("wide", "deep", "diamond")


def arguments_of(line):
    parser = argparse.ArgumentParser(prog="slipway bench workflow", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000, metavar="N", help="of each workflow (1000)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each side is measured (5)")
    parser.add_argument("--without", action="append", default=[], choices=[*SIDES][1:], help="leave out a side")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    arguments = parser.parse_args(line)
    if arguments.steps < 3 or arguments.rounds < 1:
        parser.error("--steps counts from 3, --rounds from 1")
    return arguments


def installed(without):
    return [side for side in SIDES if side not in without and (side == "slipway" or shutil.which(side))]


def seconds_of(side, shape, steps):
    """None: the side cannot run the shape."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        command = SIDES[side](folder, needs_of(shape, steps), os.cpu_count())
        if command is None:
            return None
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        seconds = time.perf_counter() - begun
    if done.returncode != 0:
        sys.exit(f"error: {side} has failed: {done.stderr.strip()[-500:]}\n  next: leave it out with --without {side}")
    return seconds


def measure(arguments):
    sides = installed(arguments.without)
    seconds = {(shape, side): [] for shape in SHAPES for side in sides}
    for number in range(1, arguments.rounds + 1):
        for shape, side in seconds:
            print(f"round {number} of {arguments.rounds}: {shape}, {side}", file=sys.stderr)
            taken = seconds_of(side, shape, arguments.steps)
            if taken is not None:
                seconds[shape, side].append(taken)
    return [row_of(shape, side, taken, arguments.steps) for (shape, side), taken in seconds.items() if taken]


def row_of(shape, side, seconds, steps):
    median = statistics.median(seconds)
    return {"shape": shape, "side": side, "median_s": round(median, 4), "min_s": round(min(seconds), 4),
            "max_s": round(max(seconds), 4), "steps_per_s": round(steps / median, 1)}


def print_table(result):
    print(f"{result['steps']} steps, {result['cpus']} CPUs, {result['rounds']} rounds")
    print(f"{'shape':9} {'side':10} {'median s':>9} {'min':>8} {'max':>8} {'steps/s':>9}")
    for row in result["rows"]:
        print("{shape:9} {side:10} {median_s:9.3f} {min_s:8.3f} {max_s:8.3f} {steps_per_s:9.0f}".format(**row))


def main():
    arguments = arguments_of(sys.argv[1:])
    result = {"schema": "slipway.bench.workflow/1", "steps": arguments.steps, "rounds": arguments.rounds,
              "cpus": os.cpu_count(), "rows": measure(arguments)}
    if arguments.json:
        print(json.dumps(result))
    else:
        print_table(result)


if __name__ == "__main__":
    main()
