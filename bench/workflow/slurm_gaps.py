#!/usr/bin/python3
"""The gap between the end of a step and the start of the next: Slipway's workflows as Slurm jobs, beside jobs of
`sbatch --dependency=afterok`.

Both sides run the same chain of jobs of one program, which notes the time when it begins and when it ends. They take
turns on the same Slurm; rows are medians over all gaps. Run it where jobs can be submitted, in a folder that the nodes
see, or in the test bed:

    tests/slurm/testbed run -- python3 bench/workflow/slurm_gaps.py --program PREFIX/bin/slipway
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

STEP = "import sys, time\nopen(sys.argv[1], 'a').write(f'{time.time()}\\n')\ntime.sleep(float(sys.argv[2]))\n" \
       "open(sys.argv[1], 'a').write(f'{time.time()}\\n')\n"
PATIENCE_S = 300


def arguments_of(line):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.environ.get("SLIPWAY_PROGRAM", "slipway"), help="the program slipway")
    parser.add_argument("--steps", type=int, default=6, metavar="N", help="of each chain (6)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each side is measured (5)")
    parser.add_argument("--work", type=float, default=0.2, metavar="S", help="what a step takes (0.2)")
    parser.add_argument("--folder", default=os.environ.get("SLIPWAY_TESTBED_SHARED", "."), help="all nodes see it (.)")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    return parser.parse_args(line)


def run(words, folder):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {words[0]} has failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def words_of(folder, number, work):
    return [sys.executable, str(folder / "step.py"), str(folder / f"times.{number}"), str(work)]


def slipway_chain(folder, arguments):
    steps = {f"s{number}": {"command": words_of(folder, number, arguments.work),
                            "after": [f"s{number - 1}"] if number else []} for number in range(arguments.steps)}
    text = f"name: gaps\ndefaults: {{engine: slurm, time_limit: 2m}}\nsteps: {json.dumps(steps)}\n"
    (folder / "flow.yaml").write_text(text)
    run([arguments.program, "-q", "--runs-dir", "runs", "submit", "flow.yaml"], folder)


def sbatch_chain(folder, arguments):
    before = None
    for number in range(arguments.steps):
        script = "#!/bin/sh\nexec " + " ".join(words_of(folder, number, arguments.work)) + "\n"
        (folder / f"job.{number}").write_text(script)
        after = [f"--dependency=afterok:{before}", "--kill-on-invalid-dep=yes"] if before else []
        words = ["sbatch", "--parsable", "--ntasks=1", "--time=3", "--output=/dev/null", *after, f"job.{number}"]
        before = run(words, folder).strip()


SIDES = {"sbatch": sbatch_chain, "slipway": slipway_chain}


def gaps_of(side, arguments):
    """The seconds between two steps, of one chain."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gaps-", dir=arguments.folder)).absolute()
    try:
        folder.chmod(0o777)
        (folder / "step.py").write_text(STEP)
        SIDES[side](folder, arguments)
        times = [times_in(folder / f"times.{number}") for number in range(arguments.steps)]
        wait_for_quiet_queue()
        return [start - end for (_, end), (start, _) in zip(times, times[1:])]
    finally:
        shutil.rmtree(folder)


def times_in(file):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        lines = file.read_text().split() if file.exists() else []
        if len(lines) == 2:
            return [float(line) for line in lines]
        time.sleep(0.05)
    sys.exit(f"error: no times in {file} after {PATIENCE_S} s: see squeue")


def wait_for_quiet_queue():
    deadline = time.monotonic() + PATIENCE_S
    while run(["squeue", "--noheader", "--me"], ".").strip() and time.monotonic() < deadline:
        time.sleep(0.1)


def measure(arguments):
    gaps = {side: [] for side in SIDES}
    for number in range(1, arguments.rounds + 1):
        for side in SIDES:
            print(f"round {number} of {arguments.rounds}: {side}", file=sys.stderr)
            gaps[side] += gaps_of(side, arguments)
    return [{"side": side, "median_s": round(statistics.median(values), 4), "min_s": round(min(values), 4),
             "max_s": round(max(values), 4), "gaps": len(values)} for side, values in gaps.items()]


def main():
    arguments = arguments_of(sys.argv[1:])
    rows = measure(arguments)
    ratio = round(rows[1]["median_s"] / rows[0]["median_s"], 3)
    if arguments.json:
        print(json.dumps({"schema": "slipway.bench.workflow.gaps/1", "rows": rows, "ratio": ratio}))
        return
    print(f"{'side':10} {'median s':>9} {'min':>8} {'max':>8} {'gaps':>6}")
    for row in rows:
        print("{side:10} {median_s:9.3f} {min_s:8.3f} {max_s:8.3f} {gaps:6}".format(**row))
    print(f"slipway / sbatch: {ratio}")


if __name__ == "__main__":
    main()
