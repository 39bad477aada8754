"""Reads the tree of the repository: what the checks beside this file share."""

import pathlib
import subprocess
import sys

NOT_OURS = {"build", "runs", "data", ".git", "__pycache__", ".cache"}


def files_of(root):
    """All files that belong to the repository, as paths relative to `root`, sorted."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True)
    if listed.returncode == 0 and (root / ".git").exists():
        names = {pathlib.PurePosixPath(name) for name in listed.stdout.split("\0") if name}
    else:  # an unpacked archive
        names = {pathlib.PurePosixPath(path.relative_to(root)) for path in root.rglob("*")}
        names = {name for name in names if not NOT_OURS & set(name.parts)}
    return sorted(name for name in names if (root / name).is_file())


def text_of(root, name):
    """The text of a file; empty for one that is not text."""
    try:
        return (root / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def run(check, **shows):
    """Runs `check(root) -> problems` on the tree named on the command line; exit code 1 when there are problems.

    With --NAME on the command line `shows[NAME](root)` prints what it knows instead.
    """
    root = pathlib.Path(sys.argv[1]).resolve()
    for name, show in shows.items():
        if f"--{name}" in sys.argv:
            return show(root)
    problems = check(root)
    for problem in problems:
        print(problem)
    if not files_of(root):
        problems = [f"no files in {root}"]
    print(f"{len(problems)} problems in {len(files_of(root))} files")
    sys.exit(1 if problems else 0)
