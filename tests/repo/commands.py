#!/usr/bin/python3
"""Each `slipway ...` in a page exists: its command, its options, the fields that it sets. The keys of specs exist, too.

docs/reference/cli.md and docs/reference/slipway.schema.json say what there is: other tests compare both with what the
program prints. `commands.py ROOT --report` counts the command lines.
"""

import collections
import dataclasses
import json
import re

import documents
import source_tree
import yaml

HEADING = re.compile(r"^## slipway ?(.*)$")
USAGE = re.compile(r"^slipway .*$")
ITEM = re.compile(r"^- ((?:`[^`]+`(?:, )?)+): (.*)$")
MANY_WORDS = {"compare", "data info", "data verify", "report", "stage out", "tag", "trials retry"}
DASHED_WORDS = {"tag"}  # -TAG is a word there
BENCHMARKS = "bench"
BENCHMARK_OPTION = re.compile(r"""["'](?:-\w[,"' ]+)?(--[a-z-]+)""")
PLACEHOLDER = re.compile(r"[A-Z]+|\.\.\.|<.*>")


HIDDEN = {"manage": 1, "workflow step": 2}  # commands of batch scripts, and how many words they need


@dataclasses.dataclass
class Command:
    required: int = 0  # words that must follow
    words: int = None  # words that may follow
    options: dict = dataclasses.field(default_factory=dict)  # name -> None: a flag; else its choices, [] for any value


def options_of(names):
    """{name: None or choices} of the names of one item: `-n`, `--limit INT`."""
    names = re.findall(r"`([^`]+)`", names)
    value = names[-1].partition(" ")[2]
    choices = None if not value else value.strip("{}").split(",") if value.startswith("{") else []
    return {name.split()[0]: choices for name in names if name.startswith("-")}


def commands_of(manual):
    """Command of each name, "" for the program itself, as `slipway manual` writes them."""
    commands = {name: Command(words, words) for name, words in HIDDEN.items()}
    name = None
    for line in manual.splitlines():
        heading, item = HEADING.match(line), ITEM.match(line)
        if heading:
            name = heading[1]
            commands[name] = Command()
        elif name is not None and USAGE.match(line) and commands[name].words is None:
            words = [word for word in line.split()[1 + len(name.split()):] if word != "[OPTIONS]"]
            commands[name].words = len(words)
            commands[name].required = sum(not word.startswith("[") for word in words)
        elif name is not None and item:
            commands[name].options.update(options_of(item[1]))
    return commands


def options_in(folder):
    """The options of the programs in a folder of bench/."""
    sources = [*folder.glob("*.cpp"), *folder.glob("*.py")]
    return {option for source in sources for option in BENCHMARK_OPTION.findall(source.read_text())}


class Rules:
    """What a call may look like."""

    def __init__(self, root):
        self.commands = commands_of((root / documents.GENERATED).read_text())
        self.schema = json.loads((root / "docs/reference/slipway.schema.json").read_text())
        self.workflow = workflow_schema((root / "docs/reference/workflow.md").read_text(), self.schema)
        self.benchmarks = {folder.name.replace("_", "-"): options_in(folder) for folder in (root / "bench").glob("*/")}

    def name_of(self, words):
        """The longest command that the words begin with, and the other words; options may stand before it."""
        name, rest, words = "", [], list(words)
        while words:
            word = words.pop(0)
            longer = f"{name} {word}".strip()
            if longer in self.commands:
                name = longer
            elif word.startswith("-"):
                rest.append(word)
                if self.option(name, word) is not None and words and "=" not in word:  # it has a value
                    rest.append(words.pop(0))
            else:
                return name, rest + [word] + words
        return name, rest

    def option(self, name, word):
        """None: a flag. Errors: KeyError."""
        word = word.partition("=")[0]
        if word == "--help":
            return None
        for part in (name, ""):
            if word in self.commands[part].options:
                return self.commands[part].options[word]
        raise KeyError(word)

    def fault_of(self, words, inline):
        """What is wrong with a call; "" if nothing is. An inline one may leave out words."""
        try:
            name, rest = self.name_of(words)
            if name == BENCHMARKS:
                return self.fault_of_benchmark(rest)
            return self.fault_of_words(name, rest, inline)
        except KeyError as error:
            return f"there is no option {error.args[0]}"

    def fault_of_benchmark(self, words):
        if not words or words[0].startswith("-") or PLACEHOLDER.fullmatch(words[0]):
            return ""
        if words[0] not in self.benchmarks:
            return f"there is no benchmark '{words[0]}'"
        options = {word.partition("=")[0] for word in words if word.startswith("--")} - {"--help"}
        unknown = [option for option in sorted(options) if option not in self.benchmarks[words[0]]]
        return f"the benchmark has no option {unknown[0]}" if unknown else ""

    def fault_of_words(self, name, rest, inline):
        given, words = 0, list(rest)
        while words:
            word = words.pop(0)
            if not word.startswith("-") or word == "-" or (name in DASHED_WORDS and word[1] != "-"):
                given += 1
                continue
            fault = self.fault_of_value(name, word, words, inline)
            if fault:
                return fault
        return self.fault_of_count(name, given, inline or "--help" in rest or "--version" in rest, rest)

    def fault_of_value(self, name, word, words, inline):
        choices = self.option(name, word)
        if choices is None:
            return ""
        if "=" not in word and not words:
            return "" if inline else f"{word} has no value"
        value = word.partition("=")[2] if "=" in word else words.pop(0)
        if word.startswith("--set"):
            return self.fault_of_field(value.partition("=")[0])
        is_known = not choices or value in choices or PLACEHOLDER.fullmatch(value)
        return "" if is_known else f"{word} does not take '{value}'"

    def fault_of_count(self, name, given, inline, rest):
        command = self.commands[name]
        has_commands = not name or any(other.startswith(name + " ") for other in self.commands)
        if has_commands:
            unknown = given and not PLACEHOLDER.fullmatch(rest[0])
            return f"there is no command '{name} {rest[0]}'" if unknown else "" if inline else "the command is missing"
        if given > command.words and name not in MANY_WORDS:
            return f"'{name}' takes {command.words} words, not {given}"
        return "" if inline or given >= command.required else f"'{name}' needs {command.required} words"

    def fault_of_field(self, path):
        if PLACEHOLDER.fullmatch(path) or "..." in path:
            return ""
        known = any(has_field(schema, path.split(".")) for schema in (self.schema, self.workflow))
        return "" if known else f"the spec has no field '{path}'"

    def faults_of_spec(self, tree):
        is_workflow = isinstance(tree, dict) and ("steps" in tree or "include" in tree)
        schema = self.workflow if is_workflow else self.schema
        missing = [path for path in paths_of(tree) if not has_field(schema, path)]
        return [f"the spec has no field '{'.'.join(path)}'" for path in missing]


def workflow_schema(page, spec):
    """The fields of a workflow, from the tables of its page. A step's experiment is a spec."""
    def fields(heading):
        section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
        return [name for line in section.splitlines() if line.startswith("| `")
                for name in re.findall(r"`([a-z_.]+)`", line.split("|")[1])]

    step = {"set": {}, "experiment": {"anyOf": [{}, spec]}, "slurm": slurm_section(spec)}
    for name in fields("A step"):
        first, _, inner = name.partition(".")
        if inner:
            step.setdefault(first, {"properties": {}, "additionalProperties": False})["properties"][inner] = {}
        else:
            step.setdefault(first, {})
    one = {"properties": step, "additionalProperties": False}
    top = {name: {} for name in fields("Top of the file")} | {"defaults": one, "steps": {"additionalProperties": one}}
    return {"properties": top, "additionalProperties": False}


def slurm_section(spec):
    """What a step and `launch` of a spec have in common."""
    launch = spec["properties"].get("launch", {})
    return launch.get("properties", {}).get("slurm", {})


def has_field(schema, path):
    """Whether the schema has a field of that path, as far as it says."""
    for part in path:
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        alternatives = [each for each in schema.get("anyOf", [])
                        if "properties" in each or each.get("type") == "object"]
        if part in properties:
            schema = properties[part]
        elif alternatives:
            return any(has_field(each, path[path.index(part):]) for each in alternatives)
        elif isinstance(others, dict):
            schema = others
        else:
            return bool(others)
    return True


def paths_of(tree, path=()):
    """The path of each leaf of nested mappings."""
    if not isinstance(tree, dict) or not tree:
        return [path] if path else []
    return [leaf for key, value in tree.items() for leaf in paths_of(value, (*path, str(key)))]


def specs_of(blocks, fields):
    """(line, tree) of each block that is a spec or a workflow, or sections of one; `fields` are those at their top."""
    for block in blocks:
        if block.language not in ("yaml", "") or "slipway" in block.text.split(" ")[0]:
            continue
        try:
            tree = yaml.safe_load(block.text)
        except yaml.YAMLError:
            continue
        if isinstance(tree, dict) and tree.keys() & fields and (
                block.language == "yaml" or tree.keys() <= fields):
            yield block.line, tree


def lines_of(root, page):
    """(line, command line, inline) of each command line of a page."""
    for block in documents.blocks_of_page(root, page):
        if block.calls_slipway() and block.marks.get("exit") != "2":  # a mistake on purpose
            for line, command in block.commands():
                if not (page == documents.GENERATED and USAGE.match(command) and is_usage(command)):
                    yield line, command, False
    for line, command in documents.spans_of((root / page).read_text()):
        yield line, command, True


def is_usage(command):
    """`slipway run [OPTIONS] spec`, as the generated page has it above the options of each command."""
    return "[" in command or re.fullmatch(r"slipway( [a-z-]+)* COMMAND", command) or not re.search(r"[/.\d-]", command)


def faults_of_marks(blocks):
    for block in blocks:
        for mark in block.marks.keys() - documents.MARKS:
            yield block.line, f"'{mark}' is no mark; tests/repo/documents.py lists them"
        if "needs" in block.marks and block.reason()[0] not in documents.REASONS:
            yield block.line, f"'{block.marks['needs']}' is no reason; there are {', '.join(documents.REASONS)}"


def faults_of_page(rules, root, page):
    for line, command, inline in lines_of(root, page):
        try:
            calls = list(documents.calls_of(command))
        except ValueError as error:
            yield line, f"{command}: {error}"
            continue
        yield from ((line, f"{command}: {fault}") for call in calls if (fault := rules.fault_of(call, inline)))
    blocks = documents.blocks_of_page(root, page)
    yield from faults_of_marks(blocks)
    for line, tree in specs_of(blocks, rules.schema["properties"].keys() | rules.workflow["properties"].keys()):
        yield from ((line, fault) for fault in rules.faults_of_spec(tree))


def check(root):
    if not (root / documents.GENERATED).exists():
        return []
    rules = Rules(root)
    return [f"{page}:{line}: {fault}" for page in documents.pages(root)
            for line, fault in faults_of_page(rules, root, page)]


def report(root):
    counts = collections.Counter()
    for page in documents.pages(root):
        counts["within text"] += sum(inline for _, _, inline in lines_of(root, page))
        for block in documents.blocks_of_page(root, page):
            if block.calls_slipway():
                for _, command in block.commands():
                    what = "run" if block.can_run(command) else f"needs {block.reason()[0]}"
                    what = "generated" if page == documents.GENERATED else what
                    counts[what] += len(list(documents.calls_of(command)))
    for what, count in sorted(counts.items()):
        print(f"{count:5} {what}")


if __name__ == "__main__":
    source_tree.run(check, report=report)
