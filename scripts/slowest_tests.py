#!/usr/bin/python3
"""Prints what the JUnit files of ctest say of all tests: the slowest 20, those over their budget marked, with the time
of all, and why tests were skipped.
"""

import collections
import pathlib
import re
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/repo"))
import tiers  # noqa: E402


def mark(name, took, entries):
    budget = tiers.budget_of(name, entries)
    return f"  (budget {budget} s)" if budget is not None and took > budget else ""


def cases_in(files):
    for file in files:
        try:
            yield from xml.etree.ElementTree.parse(file).iter("testcase")
        except (OSError, xml.etree.ElementTree.ParseError):
            continue  # ctest did not come to its end, and has said why


def reason_of(skipped):
    """The line of a test's output that says why it was skipped."""
    lines = [line.strip() for line in skipped.findtext("system-out", "").splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"(?i)skip(ped)?\b", line)]
    return re.sub(r"(?i)^skipped:? *", "", (said or lines or ["no reason given"])[-1])


def show_skipped(cases):
    names = collections.defaultdict(list)
    for case in cases:
        if case.find("skipped") is not None:
            names[reason_of(case)].append(case.get("name"))
    if names:
        print(f"\nSkipped tests: {sum(map(len, names.values()))}")
    for reason, of in names.items():
        more = f" and {len(of) - 3} more" if len(of) > 3 else ""
        print(f"  {reason}: {', '.join(of[:3])}{more}")


def show_slowest(cases):
    seconds = {case.get("name"): float(case.get("time")) for case in cases if case.get("status") in ("run", "fail")}
    if not seconds:
        return
    slowest = sorted(seconds.items(), key=lambda test: -test[1])[:20]
    print(f"\nThe slowest {len(slowest)} of {len(seconds)} tests, which took {sum(seconds.values()):.0f} s together:")
    entries, _ = tiers.read_table((ROOT / "tests/tiers.cmake").read_text())
    for name, took in slowest:
        print(f"{took:7.1f} s  {name}{mark(name, took, entries)}")


all_cases = list(cases_in(sys.argv[1:]))
show_slowest(all_cases)
show_skipped(all_cases)
