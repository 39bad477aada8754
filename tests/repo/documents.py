"""Reads the pages of the documentation: their fenced blocks, the command lines in them, and the marks before them.

A mark is an HTML comment on a line of its own, so that a browser of the repository and the site both hide it:

    <!-- file: NAME -->          the block is this file; with FOLDER/NAME, what follows happens in FOLDER
    <!-- setup: NAME -->         tests/end_to_end/docs_setups/NAME.sh makes what the page takes for granted
    <!-- into: FILE -->          fields of a section of that spec; FILE WHERE: see tests/end_to_end/docs_setups/into.py
    <!-- run -->                 commands that the page needs, without slipway among them
    <!-- needs: REASON -->       cannot run on one machine; the reason is one of REASONS. With REASON (submit, stage in)
                                 only these commands cannot
    <!-- exit: 1 -->             exit code of each command; several codes are alternatives
    <!-- interrupt: 3 -->        Ctrl-C after so many seconds, if the last command still runs
    <!-- output -->              what a program prints
    <!-- example -->             what its commands print is shown as on another machine

All marks but `setup` stand directly before their block.
"""

import dataclasses
import pathlib
import re
import shlex

REASONS = {
    "slurm": "a job, a queue or an allocation of a cluster",
    "nodes": "several machines",
    "container": "an image and a container runtime",
    "gpu": "a GPU",
    "root": "changes the system",
    "installation": "an installed Slipway, or a build of it",
    "benchmark": "all cores for minutes",
}
MARKS = {"file", "build", "setup", "into", "run", "needs", "exit", "interrupt", "output", "example"}
GENERATED = "docs/reference/cli.md"  # `slipway manual` writes it

MARK = re.compile(r"\s*<!-- (\w+)(?:: (.*?))? -->\s*")
FENCE = re.compile(r"(?P<indent>\s*)```(?P<language>[\w-]*)\s*")
NEED = re.compile(r"(\w+)(?: \((.*)\))?")
SHELL = {"", "sh", "bash", "console"}
SEPARATORS = {"|", "||", "&&", ";", "&", "(", ")"}
PREFIX = re.compile(r"exec|env|if|while|do|then|else|!|time|[A-Za-z_]+=.*")
LAUNCHERS = {"salloc", "srun"}  # their own options stand before the program
INNER = re.compile(r"[$<]\(([^()]*)\)")
SPAN = re.compile(r"(?<!`)`(slipway [^`]+)`(?!`)")


def calls_of(line):
    """The words of each call of slipway in a command line, without `slipway` itself."""
    for inner in INNER.findall(line):
        yield from calls_of(inner)
    lexer = shlex.shlex(INNER.sub("INNER", line), posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "", True
    call = []
    for word in [*lexer, ";"]:
        if word.startswith("#") or word in SEPARATORS:
            yield from call_of(call)
            call = []
            if word.startswith("#"):
                return
        else:
            call.append(word)


def call_of(words):
    """What follows `slipway` among the words of one command, if it calls it."""
    for index, word in enumerate(words):
        if word.rpartition("/")[2] == "slipway":
            yield without_redirections(words[index + 1:])
            return
        if not PREFIX.fullmatch(word) and words[0] not in LAUNCHERS:
            return


def without_redirections(words):
    kept = []
    for word in words:
        if kept and kept[-1] in ("<", ">", ">>", "2>", ">&"):
            kept.pop()
        else:
            kept.append(word)
    return kept


def has_call(line):
    try:
        return next(calls_of(line), None) is not None
    except ValueError:  # a quotation that ends on another line
        return line.startswith("slipway ")


@dataclasses.dataclass
class Block:
    """A fenced block, or the mark `setup` (then without text)."""

    line: int
    language: str = ""
    text: str = ""
    marks: dict = dataclasses.field(default_factory=dict)

    def is_shell(self):
        return self.language in SHELL and not self.marks.keys() & {"file", "into", "output"}

    def is_session(self):
        """Whether it shows output between what is typed."""
        return any(line.startswith("$ ") for line in self.text.splitlines())

    def commands(self):
        """(line, command line) of each command that is typed; continued lines are joined."""
        lines = self.text.replace("\\\n", "\\\0").split("\n")
        number = self.line
        for line in lines:
            number += 1
            words = line.replace("\\\0", " ").strip()
            if words and not words.startswith("#") and (not self.is_session() or words.startswith("$ ")):
                yield number, words.removeprefix("$ ")
            number += line.count("\0")

    def calls_slipway(self):
        return self.is_shell() and any(has_call(command) for _, command in self.commands())

    def is_typed(self):
        """Whether a reader types it, as far as a test is concerned."""
        return self.calls_slipway() or bool(self.marks.keys() & {"run", "build"})

    def reason(self):
        """Why some of its commands cannot run, and which ones; without a list none can."""
        need = NEED.fullmatch(self.marks.get("needs", ""))
        return (need[1], need[2].split(", ") if need[2] else []) if need else ("", [])

    def can_run(self, command):
        reason, commands = self.reason()
        return not reason or bool(commands) and not any(f"slipway {each}" in command for each in commands)

    def runs(self):
        return self.is_typed() and any(self.can_run(command) for _, command in self.commands())


def blocks_of(text):
    """All blocks of a page, in order."""
    blocks, marks, block, indent = [], {}, None, ""
    for number, line in enumerate(text.splitlines(), 1):
        fence, mark = FENCE.fullmatch(line), MARK.fullmatch(line)
        if block is not None and not (fence and not fence["language"] and fence["indent"] == indent):
            block.text += line.removeprefix(indent) + "\n"
        elif block is not None:
            blocks.append(block)
            block, marks = None, {}
        elif fence:
            block, indent = Block(number, fence["language"], marks=marks), fence["indent"]
        elif mark and mark[1] == "setup":
            blocks.append(Block(number, marks={"setup": mark[2]}))
        elif mark:
            marks[mark[1]] = mark[2] or ""
        else:
            marks = {}
    return blocks


def spans_of(text):
    """(line, command line) of each `slipway ...` within a sentence or a table."""
    prose = re.sub(r"^\s*```.*?^\s*```\s*$", lambda fence: "\n" * fence[0].count("\n"), text, flags=re.M | re.S)
    for span in SPAN.finditer(prose):
        yield prose.count("\n", 0, span.start()) + 1, " ".join(span[1].replace("\\|", "|").split())


def pages(root):
    """Names of all pages that people read, relative to `root`."""
    found = sorted((root / "docs").rglob("*.md"))
    first = [page for page in (root / "README.md", root / "CONTRIBUTING.md") if page.exists()]
    return [str(page.relative_to(root)) for page in first + found]


def blocks_of_page(root, page):
    return blocks_of((pathlib.Path(root) / page).read_text())
