#!/usr/bin/python3
"""Words are spelled as in a dictionary of common mistakes: pages, comments and messages, checked by codespell.

spelling_words.txt lists words that are right here. Identifiers in camel case are no words. Strings of tests may be
wrong: many are typing errors for which Slipway suggests a correction.
"""

import pathlib
import subprocess

import source_tree

WORDS = pathlib.Path(__file__).resolve().parent / "spelling_words.txt"
IDENTIFIER = r"\b\w*[a-z0-9][A-Z]\w*\b"
STRING = r'R"\(.*?\)"|"(?:[^"\\]|\\.)*"'
WRONG_BY_INTENT = "tests/launcher/golden/"
BUILT = "templates/report/dist/"  # by a compressor of names


def misspelled(root, names, ignored):
    """Lines of codespell: `docs/a.md:3: recieve ==> receive`."""
    if not names:
        return []
    found = subprocess.run(
        ["codespell", "--check-hidden", "--quiet-level=3", "--ignore-words", WORDS, "--ignore-regex", ignored, *names],
        cwd=root, capture_output=True, text=True)
    if found.returncode not in (0, 65):  # 65: there are mistakes
        raise RuntimeError(found.stderr)
    return found.stdout.splitlines()


def check(root):
    names = [str(name) for name in source_tree.files_of(root) if not str(name).startswith(BUILT)]
    tests = [name for name in names if name.startswith("tests/") and not name.startswith(WRONG_BY_INTENT)]
    others = [name for name in names if not name.startswith("tests/")]
    return misspelled(root, others, IDENTIFIER) + misspelled(root, tests, f"{IDENTIFIER}|{STRING}")


if __name__ == "__main__":
    source_tree.run(check)
