#!/usr/bin/python3
"""How much there is to compile: build_cost.py ROOT BUILD. Counts, because seconds are those of one machine."""

import collections
import json
import pathlib
import re
import subprocess
import sys

MOST_STEPS = {"essentials": 160, "all": 300}  # compilations; what stands in docs/decisions/0032-a-build-in-minutes.md
# Compiled more than once for a reason: the MPI code for each MPI, kernels for each processor, the allreduces against
# SimGrid's MPI, the same test at its full length, support that several test programs link, helpers of the Slurm module.
TWICE = ("runtime/", "tests/", "launcher/cluster/module/", "staging/formats/hdf5_numbers.cpp")


def sources_of(build):
    """source -> how many compilations read it; unity sources are looked into."""
    counts = collections.Counter()
    for command in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(command["file"])
        text = file.read_text() if build in file.parents else ""
        counts.update(re.findall(r'^#include "(/[^"]+\.cpp)"', text, re.MULTILINE) or [str(file)])
    return counts


def steps_of(build, target):
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", target], capture_output=True, text=True, check=True)
    return sum(" -c " in command for command in commands.stdout.splitlines())


def main(root, build):
    root, build = pathlib.Path(root), pathlib.Path(build)
    problems = []
    for target, most in MOST_STEPS.items():
        steps = steps_of(build, target)
        print(f"{target}: {steps} compilations (the most is {most})")
        if steps > most:
            problems.append(f"'{target}' takes {steps} compilations, more than {most}: a bar of docs/decisions/0032")
    for source, count in sources_of(build).items():
        name = str(pathlib.Path(source).relative_to(root)) if root in pathlib.Path(source).parents else source
        if count > 1 and not name.startswith(TWICE):
            problems.append(f"{name} is compiled {count} times: put it into one library")
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
