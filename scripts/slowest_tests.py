#!/usr/bin/python3
"""Prints the slowest 20 tests of the JUnit files that ctest wrote, those over their budget marked, and the time of all."""

import pathlib
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/repo"))
import tiers  # noqa: E402


def mark(name, took, entries):
    budget = tiers.budget_of(name, entries)
    return f"  (budget {budget} s)" if budget is not None and took > budget else ""


def main(files):
    seconds = {}
    for file in files:
        try:
            cases = xml.etree.ElementTree.parse(file).iter("testcase")
        except (OSError, xml.etree.ElementTree.ParseError):
            continue  # ctest did not come to its end, and has said why
        for case in cases:
            if case.get("status") in ("run", "fail"):
                seconds[case.get("name")] = float(case.get("time"))
    if not seconds:
        return
    slowest = sorted(seconds.items(), key=lambda test: -test[1])[:20]
    print(f"\nThe slowest {len(slowest)} of {len(seconds)} tests, which took {sum(seconds.values()):.0f} s together:")
    entries, _ = tiers.read_table((ROOT / "tests/tiers.cmake").read_text())
    for name, took in slowest:
        print(f"{took:7.1f} s  {name}{mark(name, took, entries)}")


main(sys.argv[1:])
