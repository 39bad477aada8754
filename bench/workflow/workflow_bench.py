#!/usr/bin/python3
"""slipway bench workflow: steps a second of workflows whose steps do nothing, beside make, GNU parallel and Snakemake.
With --engine slurm: the gap between two steps as Slurm jobs, beside sbatch.

wide      no step needs another
deep      each step needs the one before
diamond   all but the first and last need the first; the last needs them all

gap       how long after the start of a step the next one of a chain starts: each writes down the time and ends
memory    resident memory of Slipway's manager in the second and in the last tenth of the time that `wide` takes

The shapes: each step runs `true`. The sides take turns, round by round, each in a fresh folder; medians over the
rounds. GNU parallel knows no dependencies: it runs the wide shape only. A side that is not installed is left out.
Slipway keeps a record and a result of each step, so that it runs only once; make and parallel keep none.

Slurm: a chain of jobs of one program, which notes the time when it begins and when it ends, by `slipway submit` and by
`sbatch --dependency=afterok`. The sides take turns. Run it where you submit jobs, in a folder that the nodes see.
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
PLACE_OF_JOBS = ("partition", "account", "qos")


def arguments_of(line):
    parser = argparse.ArgumentParser(prog="slipway bench workflow", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="local", choices=["local", "slurm"], help="where the steps run (local)")
    parser.add_argument("--steps", type=int, metavar="N", help="of each workflow (1000; with slurm 6)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each side is measured (5)")
    parser.add_argument("--without", action="append", default=[], choices=[*SIDES][1:], help="leave out a side")
    parser.add_argument("--work", type=float, default=0.2, metavar="S", help="with slurm: what a step takes (0.2)")
    parser.add_argument("--folder", default=".", help="with slurm: where the nodes see the steps (.)")
    for name in PLACE_OF_JOBS:
        parser.add_argument(f"--{name}", metavar="NAME", help="with slurm: of all jobs")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    arguments = parser.parse_args(line)
    arguments.steps = arguments.steps or (1000 if arguments.engine == "local" else 6)
    if arguments.steps < 3 or arguments.rounds < 1:
        parser.error("--steps counts from 3, --rounds from 1")
    if arguments.engine == "slurm" and not shutil.which("sbatch"):
        parser.error("--engine slurm needs Slurm's programs on the PATH, such as sbatch")
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


def measure_here(arguments):
    return {"schema": "slipway.bench.workflow/1", "steps": arguments.steps, "rounds": arguments.rounds,
            "cpus": os.cpu_count(), "rows": measure(arguments), "gap": gap_row(arguments.steps),
            "memory": memory_row(arguments.steps)}


def gaps_of(folder, steps):
    """Seconds between the starts of the steps of a chain."""
    command = json.dumps(["sh", "-c", "date +%s%N >> times"])
    lines = "\n".join(f"  s{number}: {{command: {command}, after: [{f's{number - 1}' if number else ''}]}}"
                      for number in range(steps))
    (folder / "flow.yaml").write_text(f"name: chain\nsteps:\n{lines}\n")
    subprocess.run([PROGRAM, "-q", "--runs-dir", "runs", "run", "flow.yaml"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    times = [int(line) for line in (folder / "times").read_text().split()]
    return [(after - before) / 1e9 for before, after in zip(times, times[1:])]


def gap_row(steps):
    with tempfile.TemporaryDirectory() as folder:
        gaps = sorted(gaps_of(pathlib.Path(folder), steps))
    return {"median_s": round(statistics.median(gaps), 4), "p99_s": round(gaps[int(len(gaps) * 0.99)], 4),
            "max_s": round(gaps[-1], 4)}


def resident_bytes(pid):
    """None: it has ended."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def memory_row(steps):
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        command = slipway_side(pathlib.Path(folder), needs_of("wide", steps), os.cpu_count())
        manager = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while manager.poll() is None:
            samples.append(resident_bytes(manager.pid))
            time.sleep(0.005)
    samples = [each for each in samples if each]
    tenth = max(1, len(samples) // 10)
    return {"begin_bytes": int(statistics.median(samples[tenth:2 * tenth] or samples)),
            "end_bytes": int(statistics.median(samples[-tenth:]))}


# ---- Slurm

JOB = "import sys, time\nopen(sys.argv[1], 'a').write(f'{time.time()}\\n')\ntime.sleep(float(sys.argv[2]))\n" \
      "open(sys.argv[1], 'a').write(f'{time.time()}\\n')\n"
PATIENCE_S = 300


def output_of(words, folder):
    done = subprocess.run([str(word) for word in words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode != 0:
        sys.exit(f"error: {words[0]} has failed: {done.stderr.strip()[-500:]}\n"
                 "  next: sites may want --partition, --account or --qos")
    return done.stdout


def words_of_job(folder, number, work):
    return [sys.executable, str(folder / "step.py"), str(folder / f"times.{number}"), str(work)]


def place_of_jobs(arguments):
    given = {name: getattr(arguments, name) for name in PLACE_OF_JOBS}
    return {name: value for name, value in given.items() if value}


def slipway_chain(folder, arguments):
    steps = {f"s{number}": {"command": words_of_job(folder, number, arguments.work),
                            "after": [f"s{number - 1}"] if number else []} for number in range(arguments.steps)}
    defaults = {"engine": "slurm", "time_limit": "2m", "slurm": place_of_jobs(arguments)}
    (folder / "flow.yaml").write_text(f"name: gaps\ndefaults: {json.dumps(defaults)}\nsteps: {json.dumps(steps)}\n")
    run = output_of([PROGRAM, "-q", "--runs-dir", "runs", "submit", "flow.yaml"], folder).strip()
    return [step["job"] for step in json.loads((output_of(
        [PROGRAM, "--json", "--runs-dir", "runs", "status", run], folder)))["steps"]]


def sbatch_chain(folder, arguments):
    jobs = []
    for number in range(arguments.steps):
        script = "#!/bin/sh\nexec " + " ".join(words_of_job(folder, number, arguments.work)) + "\n"
        (folder / f"job.{number}").write_text(script)
        after = [f"--dependency=afterok:{jobs[-1]}", "--kill-on-invalid-dep=yes"] if jobs else []
        words = ["sbatch", "--parsable", "--ntasks=1", "--time=3", "--output=/dev/null", *after]
        words += [f"--{name}={value}" for name, value in place_of_jobs(arguments).items()]
        jobs.append(output_of([*words, f"job.{number}"], folder).split(";")[0].strip())
    return jobs


CHAINS = {"sbatch": sbatch_chain, "slipway": slipway_chain}


def gaps_between_jobs(side, arguments):
    """The seconds between two steps, of one chain."""
    with tempfile.TemporaryDirectory(prefix="gaps-", dir=arguments.folder) as temporary:
        folder = pathlib.Path(temporary).absolute()
        (folder / "step.py").write_text(JOB)
        jobs = CHAINS[side](folder, arguments)
        times = [times_in(folder / f"times.{number}") for number in range(arguments.steps)]
        wait_for_end_of(jobs)
    return [start - end for (_, end), (start, _) in zip(times, times[1:])]


def times_in(file):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        lines = file.read_text().split() if file.exists() else []
        if len(lines) == 2:
            return [float(line) for line in lines]
        time.sleep(0.05)
    sys.exit(f"error: a step has not ended after {PATIENCE_S} s: see squeue --me")


def wait_for_end_of(jobs):
    """A side must not meet the end of the other."""
    meant = {str(job) for job in jobs}
    deadline = time.monotonic() + PATIENCE_S
    while meant & set(output_of(["squeue", "--noheader", "--me", "--format=%A"], ".").split()):
        if time.monotonic() > deadline:
            sys.exit(f"error: jobs have not ended after {PATIENCE_S} s: see squeue --me")
        time.sleep(0.1)


def measure_slurm(arguments):
    gaps = {side: [] for side in CHAINS}
    for number in range(1, arguments.rounds + 1):
        for side in CHAINS:
            print(f"round {number} of {arguments.rounds}: {side}", file=sys.stderr)
            gaps[side] += gaps_between_jobs(side, arguments)
    rows = [{"side": side, "median_s": round(statistics.median(values), 4), "min_s": round(min(values), 4),
             "max_s": round(max(values), 4), "gaps": len(values)} for side, values in gaps.items()]
    ratio = statistics.median(gaps["slipway"]) / statistics.median(gaps["sbatch"])
    return {"schema": "slipway.bench.workflow.gaps/1", "steps": arguments.steps, "rounds": arguments.rounds,
            "rows": rows, "ratio": round(ratio, 3)}


def print_gaps(result):
    print(f"{result['steps']} steps, {result['rounds']} rounds: seconds between the end of a step and the next")
    print(f"{'side':10} {'median s':>9} {'min':>8} {'max':>8} {'gaps':>6}")
    for row in result["rows"]:
        print("{side:10} {median_s:9.3f} {min_s:8.3f} {max_s:8.3f} {gaps:6}".format(**row))
    print(f"slipway / sbatch: {result['ratio']}")


def print_table(result):
    print(f"{result['steps']} steps, {result['cpus']} CPUs, {result['rounds']} rounds")
    print(f"{'shape':9} {'side':10} {'median s':>9} {'min':>8} {'max':>8} {'steps/s':>9}")
    for row in result["rows"]:
        print("{shape:9} {side:10} {median_s:9.3f} {min_s:8.3f} {max_s:8.3f} {steps_per_s:9.0f}".format(**row))
    print("gap       {median_s:.4f} s median, {p99_s:.4f} s of 99 %, {max_s:.4f} s at most".format(**result["gap"]))
    begin, end = (result["memory"][key] / 2**20 for key in ("begin_bytes", "end_bytes"))
    print(f"memory    {begin:.1f} MiB early, {end:.1f} MiB at the end")


def main():
    arguments = arguments_of(sys.argv[1:])
    with_slurm = arguments.engine == "slurm"
    result = measure_slurm(arguments) if with_slurm else measure_here(arguments)
    if arguments.json:
        print(json.dumps(result))
    else:
        (print_gaps if with_slurm else print_table)(result)


if __name__ == "__main__":
    main()
