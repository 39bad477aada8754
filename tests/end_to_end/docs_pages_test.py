#!/usr/bin/python3
"""The pages of docs/ do what they say: each page is one shell script, made of the commands and files that stand there.

tests/repo/documents.py says how a page marks what cannot run. `docs_pages_test.py --script PAGE` prints a script.
"""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETUPS = pathlib.Path(__file__).with_name("docs_setups")
sys.path.insert(0, str(ROOT / "tests/repo"))
import documents  # noqa: E402

LIMIT = 170  # seconds of a page; less than what ctest allows
SKIPPED = 77  # exit code of a setup that misses something; its last line says what
RUN = re.compile(r"\b([a-z][a-z-]*)-20\d{6}-\d{6}-[0-9a-f]{4}\b")  # ids of runs as pages show them
COPY = re.compile(r"\b([a-z]+)-0123456789abcdef\b")  # and of staged data
DIFFERS = re.compile(r"(\.\.\.|\d[\d.:T-]*Z?(?: \w*B\b| \w?s\b)?|<\w+>|\([^()]*\)|\s+)")
SITE = re.compile(r"(?<![\w.~}$/])/(project|scratch)(?![\w.-])")  # folders of a site are folders of the page here

PROLOGUE = r"""
set -e -o pipefail
run_of() { find . -maxdepth 5 -type d -regex ".*/$1-[0-9]+-[0-9]+-[0-9a-f]+" -printf '%f\n' | sort | tail -n 1; }
copy_of() { slipway stage ls --json | grep -o "$1-[0-9a-f]\{16\}" | head -n 1; }
put() { "$PYTHON" "$SETUPS/into.py" "$@"; }
at() { echo "== $1, after $SECONDS s" >&2; }
ends_with() { wanted=$1; shift; "$@" && status=0 || status=$?; [[ " $wanted " == *" $status "* ]] ||
              { echo "exit code $status, not $wanted" >&2; return 1; }; }
"""


def at_its_site(text, place):
    return SITE.sub(lambda found: f"{place}/{found[1]}", text)


def typed(command, place):
    """As a reader would type it: with the names that exist here."""
    command = RUN.sub(lambda found: f"$(run_of {found[1]})", at_its_site(command, place))
    return COPY.sub(lambda found: f"$(copy_of {found[1]})", command)


def file_lines(block, place):
    folder, _, name = block.marks["file"].rpartition("/")
    text = at_its_site(block.text, place)
    return [f"mkdir -p {place}/{folder} && cd {place}/{folder}" if folder else ":",
            f"cat >{shlex.quote(name)} <<'END_OF_THE_FILE'\n{text}END_OF_THE_FILE"]


def fragment_lines(block, place):
    spec, _, where = block.marks["into"].partition(" ")
    text = at_its_site(block.text, place)
    return [f"put {spec} {where or 'fields'} <<'END_OF_THE_FILE'\n{text}END_OF_THE_FILE", f"slipway validate {spec}"]


def command_lines(block, place):
    if not block.marks.keys() & {"needs", "exit", "interrupt"} and not block.is_session():
        return [typed(block.text, place)]
    commands = [typed(command, place) for _, command in block.commands() if block.can_run(command)]
    if "exit" in block.marks:
        commands = [f"ends_with '{block.marks['exit']}' {command}" for command in commands]
    if "interrupt" in block.marks:
        commands[-1] = f"ends_with '0 124' timeout -s INT {block.marks['interrupt']} {commands[-1]}"
    return commands


def script_of(page, place):
    """The page as a shell script. `place` is the folder that it works in."""
    lines = [PROLOGUE]
    for block in documents.blocks_of_page(ROOT, page):
        lines.append(f"at {page}:{block.line}")
        if "setup" in block.marks:
            name, _, words = block.marks["setup"].partition(" ")
            lines.append(f'. "$SETUPS/{name}.sh" {at_its_site(words, place)}')
        elif "file" in block.marks:
            lines += file_lines(block, place)
        elif "into" in block.marks:
            lines += fragment_lines(block, place)
        elif block.runs():
            lines += command_lines(block, place)
        else:
            lines.pop()
    return "\n".join(lines) + "\n"


def shown_by(block):
    """Patterns of the lines that a session shows. Numbers and what stands in brackets may differ; `...` is any text."""
    lines = block.text.splitlines() if block.is_session() and "example" not in block.marks else []
    for line in lines:
        if line.strip(" .") and not line.startswith("$ "):
            parts = DIFFERS.split(RUN.sub("...", line.strip()))
            yield "".join(re.escape(part) if index % 2 == 0 else r"\s+" if part.isspace() else ".*?"
                          for index, part in enumerate(parts))


def missing_lines(page, output):
    """Lines that the page shows and that its commands did not print."""
    printed = {int(part.split(",")[0]): part for part in output.split(f"== {page}:")[1:]}
    return [f"{page}:{block.line}: {pattern}" for block in documents.blocks_of_page(ROOT, page) if block.line in printed
            for pattern in shown_by(block) if not re.search(pattern, printed[block.line])]


def environment_of(place, program):
    build = program.parent.parent
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLIPWAY_", "SLURM_"))}
    places = {"HOME": f"{place}/home", "XDG_CONFIG_HOME": f"{place}/home/.config", "TMPDIR": f"{place}/tmp",
              "SLIPWAY_TIER_RAM": f"{place}/ram", "SLIPWAY_TIER_NODE": f"{place}/node", "PAGE": f"{place}/work"}
    found = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHON": sys.executable,
             "PYTHONPATH": str(build / "lib/slipway/python"), "PKG_CONFIG_PATH": str(build / "lib/pkgconfig"),
             "CMAKE_PREFIX_PATH": str(build)}
    return {**kept, **places, **found, "USER": "me", "SLIPWAY_ENGINE": "local", "PYTHONDONTWRITEBYTECODE": "1",
            "DOCS_ROOT": str(ROOT), "SETUPS": str(SETUPS)}


def processes_of(place):
    """Those that work in a page's folder, or were started there."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            is_ours = any(str(place).encode() in (entry / file).read_bytes() for file in ("environ", "cmdline"))
            if is_ours and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except OSError:  # it has ended, or belongs to another user
            pass
    return found


def processes_left(place):
    """After a moment for those that are just ending; they are ended."""
    deadline = time.monotonic() + 30
    while (left := processes_of(place)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return left


def run_page(page, place, program):
    """(exit code, output) of a page; the code is None after its time limit."""
    for folder in ("home", "tmp", "ram", "node", "work/project", "work/scratch/me"):
        (place / folder).mkdir(parents=True)
    output = place / "output"
    with output.open("wb") as stream:
        process = subprocess.Popen(["bash", "-c", script_of(page, place / "work")], cwd=place / "work",
                                   env=environment_of(place, program), stdin=subprocess.DEVNULL, stdout=stream,
                                   stderr=subprocess.STDOUT, start_new_session=True)
    try:
        code = process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        code = None
    return code, output.read_text(errors="replace")


class Page(unittest.TestCase):
    program = pathlib.Path(os.environ.get("SLIPWAY_PROGRAM", "slipway")).absolute()

    def check(self, page):
        place = pathlib.Path(tempfile.mkdtemp(prefix="docs-"))
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        code, output = run_page(page, place, self.program)
        left = processes_left(place)
        if code == SKIPPED:
            self.skipTest(output.splitlines()[-1])
        self.assertEqual(code, 0, f"{page}\n{output[-6000:]}")
        self.assertEqual(missing_lines(page, output), [], output[-6000:])
        self.assertEqual(left, [], f"{page}: processes still run\n{output[-3000:]}")


def group_of(page):
    """The name of the test class of a page; ctest starts one for each class."""
    if page == "docs/tutorials/first-run.md":
        return "FirstRun"
    return {"README.md": "Readme", "docs/tutorials": "Tutorials", "docs/how-to": "HowTo"}.get(
        page if "/" not in page else page.rpartition("/")[0], "Others")


def pages_that_run():
    return [page for page in documents.pages(ROOT) if page != documents.GENERATED and
            any(block.runs() for block in documents.blocks_of_page(ROOT, page))]


def add_tests():
    for page in pages_that_run():
        group = globals().setdefault(group_of(page), type(group_of(page), (Page,), {}))
        name = "test_" + re.sub(r"\W+", "_", page.removesuffix(".md"))
        setattr(group, name, lambda self, page=page: self.check(page))


add_tests()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--script"]:
        print(script_of(sys.argv[2], pathlib.Path("/tmp/page")))
    else:
        unittest.main()
