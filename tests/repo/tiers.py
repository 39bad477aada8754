#!/usr/bin/python3
"""The table of test tiers, held against what ctest knows: tiers.py ROOT BUILD [complete]."""

import json
import pathlib
import re
import subprocess
import sys

SECONDS = 20  # the budget of a test of the default tier without a written reason
PATIENCE = 3  # a test is ended after so many times its budget
MOST_SLOW = 40  # tests of the default tier that have such a reason
PARTS = {"core", "runtime", "staging", "ensemble", "launcher", "trainers", "end_to_end", "slurm", "repo", "long"}
ENTRY = re.compile(r'^(full|slow|waits)\("((?:[^"\\]|\\.)+)"\s+(?:(\d+)\s+)?"([^"]*)"\)$')


def read_table(text):
    """(tier, pattern, seconds, reason) of each entry, and what is wrong with the others."""
    entries, problems = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(("full(", "slow(", "waits(")):
            continue
        matched = ENTRY.match(line)
        if not matched or (matched[1] == "slow") != (matched[3] is not None):
            problems.append(f"tests/tiers.cmake:{number}: write full or waits(\"PATTERN\" \"WHY\"), or slow(\"PATTERN\" SECONDS \"WHY\")")
            continue
        entries.append((matched[1], matched[2].replace("\\\\", "\\"), int(matched[3] or 0), matched[4]))
        if len(matched[4].split()) < 3:
            problems.append(f"tests/tiers.cmake:{number}: the reason says too little: '{matched[4]}'")
    return entries, problems


def placed_by(name, entries):
    """The entry that decides on the tier of a test."""
    return next((entry for entry in entries if entry[0] != "waits" and re.search(entry[1], name)), None)


def budget_of(name, entries):
    """In seconds; None for a test of the full tier."""
    entry = placed_by(name, entries)
    if entry is None:
        return SECONDS
    return entry[2] if entry[0] == "slow" else None


def check_tests(tests, entries, complete):
    """`tests`: name -> (labels, seconds). Problems of the whole table."""
    problems, used, slow = [], set(), []
    for name, (labels, seconds) in tests.items():
        entry = placed_by(name, entries)
        used |= {each for each in entries if each is entry or each[0] == "waits" and re.search(each[1], name)}
        if not PARTS & labels:
            problems.append(f"{name}: no label says which part it tests")
        if labels & {"full", "long"}:
            continue
        if entry and entry[0] == "slow":
            slow.append(name)
        elif seconds > SECONDS * PATIENCE:
            problems.append(f"{name}: its limit is {seconds:g} s; the most in the default tier is {SECONDS * PATIENCE} s: "
                            "give it an entry with a reason in tests/tiers.cmake, or make it quicker")
    if complete:
        problems += [f"tests/tiers.cmake: no test matches '{entry[1]}'" for entry in entries if entry not in used]
    if len(slow) > MOST_SLOW:
        problems.append(f"{len(slow)} tests of the default tier have a budget above {SECONDS} s; the most is {MOST_SLOW}")
    return problems


def tests_of(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    tests = {}
    for test in json.loads(listed.stdout)["tests"]:
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        tests[test["name"]] = set(properties.get("LABELS", [])), float(properties.get("TIMEOUT", 1e9))
    return tests


def main(root, build, *complete):
    entries, problems = read_table((pathlib.Path(root) / "tests/tiers.cmake").read_text())
    tests = tests_of(build)
    problems += check_tests(tests, entries, bool(complete))
    for problem in problems:
        print(problem)
    in_full = sum(bool(labels & {"full", "long"}) for labels, _ in tests.values())
    print(f"{len(problems)} problems; {len(tests) - in_full} tests in the default tier, {in_full} in the others")
    sys.exit(1 if problems or not tests else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
