#!/usr/bin/python3
"""Each environment variable of ours stands once in the table of the reference page, and is read or set somewhere."""

import re

import source_tree

TABLE = "launcher/plan/environment_table.cpp"
ENTRY = re.compile(r'^    \{"(SLIPWAY_\w+?_?)(?:<NAME>)?", k', re.MULTILINE)
LITERAL = re.compile(r'"(SLIPWAY_[A-Z0-9_]+)"')
PARTS = ("core/", "launcher/", "runtime/", "staging/", "ensemble/", "trainers/")
# Between our own programs, or for tests; and an example in a comment.
INTERNAL = {"SLIPWAY_WATCH_SOCKET", "SLIPWAY_STAGED_IN", "SLIPWAY_CRASH_AT", "SLIPWAY_POWERCAP",
            "SLIPWAY_GPU_LOCK_FDS", "SLIPWAY_DATA_MY_TRAIN"}


def check(root):
    table = ENTRY.findall((root / TABLE).read_text())
    problems = [f"{TABLE}: {name} stands there twice" for name in {name for name in table if table.count(name) > 1}]
    used = {}
    for path in source_tree.files_of(root):
        if str(path) == TABLE or not str(path).startswith(PARTS) or path.suffix not in (".cpp", ".h", ".py"):
            continue
        for name in LITERAL.findall(source_tree.text_of(root, path)):
            used.setdefault(name, path)
    prefixes = tuple(name for name in table if name.endswith("_"))
    for name, path in sorted(used.items()):
        if name not in table and name not in INTERNAL and not name.startswith(prefixes):
            problems.append(f"{path}: {name} is missing in {TABLE}")
    problems += [f"{TABLE}: nothing reads or sets {name}" for name in table if name not in used]
    problems += [f"tests/repo/environment.py: nothing uses {name} any more" for name in INTERNAL - used.keys()]
    return problems


if __name__ == "__main__":
    source_tree.run(check)
