#!/usr/bin/python3
"""Words that have no place in a finished tree: reminders to ourselves, and paths of one machine."""

import re

import source_tree

REMINDER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}~/])/(work|home|root|Users)/[\w.-]+")
SPEAKS_OF_THEM = ("tests/repo/", "LICENSE")


def check(root):
    problems = []
    for name in source_tree.files_of(root):
        if str(name).startswith(SPEAKS_OF_THEM):
            continue
        for number, line in enumerate(source_tree.text_of(root, name).splitlines(), start=1):
            found = REMINDER.search(line) or MACHINE_PATH.search(line)
            if found or (len(root.parts) > 2 and str(root) in line):
                problems.append(f"{name}:{number}: {found.group() if found else root}")
    return problems


if __name__ == "__main__":
    source_tree.run(check)
