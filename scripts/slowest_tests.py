#!/usr/bin/python3
"""Prints the slowest 20 tests of the JUnit files that ctest wrote, and how long all took together."""

import sys
import xml.etree.ElementTree


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
    for name, took in slowest:
        print(f"{took:7.1f} s  {name}")


main(sys.argv[1:])
