#!/usr/bin/python3
"""Names in Python programs: none is undefined, and no import is unused. Checked by pyflakes."""

import ast

import source_tree
from pyflakes import checker, messages

FAULTS = (messages.UndefinedName, messages.UndefinedLocal, messages.UnusedImport, messages.RedefinedWhileUnused)


def offers_imports(name):
    """Modules whose imports are for their users."""
    return name.name == "__init__.py" or "compat" in name.parts


def tries_imports(line):
    """`import x  # noqa`: whether it can be imported is the question."""
    return line.rstrip().endswith("# noqa")


def check(root):
    problems = []
    for name in source_tree.files_of(root):
        if name.suffix != ".py":
            continue
        text = source_tree.text_of(root, name)
        lines = text.splitlines()
        found = checker.Checker(ast.parse(text), str(name)).messages
        for message in sorted(found, key=lambda message: message.lineno):
            unused = isinstance(message, messages.UnusedImport)
            if not isinstance(message, FAULTS) or unused and offers_imports(name):
                continue
            if not tries_imports(lines[message.lineno - 1]):
                problems.append(f"{name}:{message.lineno}: {message.message % message.message_args}")
    return problems


if __name__ == "__main__":
    source_tree.run(check)
