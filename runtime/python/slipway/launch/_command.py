"""Calls `slipway --json` and reads its answer."""

import json
import subprocess
import warnings

from slipway import _program
from slipway.launch import errors

_LAST_LINES = 5


def _start(words):
    program = _program.find()
    if program is None:
        raise errors.ProgramNotFoundError("the program slipway is not found", _program.NEXT_STEP)
    try:
        # In a session of its own: Ctrl-C is for this process, which then ends the command itself.
        return subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              errors="surrogateescape", start_new_session=True)
    except OSError as error:
        raise errors.ProgramNotFoundError(f"the program slipway cannot be started: '{program}': {error.strerror}",
                                          "correct SLIPWAY_PROGRAM, or install Slipway") from None


def _words(words, runs):
    return [*(["--runs-dir", str(runs)] if runs is not None else []), *map(str, words)]


def _no_document(words, ended):
    told = "\n".join(ended.stderr.strip().splitlines()[-_LAST_LINES:])
    return errors.DefectError(f"slipway {words[0]} ended with status {ended.returncode} and without a JSON document" +
                              (f":\n{told}" if told else ""), "call the same command in a shell, and report it")


def _document(words, ended):
    try:
        document = json.loads(ended.stdout)
    except ValueError:
        raise _no_document(words, ended) from None
    if document.get("schema") == "slipway.error/1":
        raise errors.of_document(document)
    return document


def call(*words, runs=None):
    """The document of a command. `runs` is the folder of the runs where it is not the usual one.

    Errors: ProgramNotFoundError; the CommandError of the command's error document.
    """
    return _document(words, _start(["--json", *_words(words, runs)]))


def call_aloud(*words, runs=None):
    """The same; warnings of the command become warnings of Python."""
    ended = _start(["--json", *_words(words, runs)])
    for line in ended.stderr.splitlines():
        if line.startswith("warning: "):
            warnings.warn(line[len("warning: "):], errors.LaunchWarning, stacklevel=4)
    return _document(words, ended)


def text_of(*words, quiet=False):
    """What a command prints. Errors: as `call`."""
    ended = _start([*(["--quiet"] if quiet else []), *map(str, words)])
    if ended.returncode == 0:
        return ended.stdout
    call(*words)  # raises the command's error as a type
    return ended.stdout
