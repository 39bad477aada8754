#!/usr/bin/python3
"""Each JSON document stands on exactly one reference page, with the members that the code writes.

The members are read from literals: those beside {"schema", "slipway.NAME/1"}, those that are assigned to the same
variable in its function, and the visit("name", ...) of a file whose schema is a constant. A page may have more: what
the code adds by other means is not seen. `json_documents.py ROOT --list` says what is checked. The exit codes of
core/error.h stand on docs/reference/exit-codes.md.
"""

import re

import messages
import source_tree

PARTS = ("core", "runtime", "staging", "ensemble", "launcher", "bench")
PAGES = "docs/reference/"
EXIT_CODES = PAGES + "exit-codes.md"
SCHEMA = re.compile(r"slipway\.[a-z][a-z._-]*/\d+")
LITERAL = re.compile(r'"(slipway\.[a-z][a-z._-]*/\d+)(?:\\n)?"')
SECTION = re.compile(r"^#+ .*$", re.MULTILINE)
SPAN = re.compile(r"`[^`\n]+`|\"\w+\"")
KIND = re.compile(r"^  k(\w+) = (\d+),?\s*///", re.MULTILINE)
PYTHON_KEY = re.compile(r'"(\w+)":')
PYTHON_WORD = re.compile(r'[(, ](\w+)=\w')  # f(key=value): a member by another way
ANY_KEY = re.compile(r'(?:\{|\[|visit\()"(\w+)"')


def text_in(token):
    return messages.content(token) if messages.is_literal(token) else None


def enclosing(words, place):
    """The bracket that holds `place`, which is inside of it."""
    depth = 0
    for at in range(place - 1, -1, -1):
        depth += (words[at] in messages.OPENED_BY) - (words[at] in messages.CLOSED_BY)
        if depth < 0:
            return at
    return None


def members_beside(source, words, schema_at):
    """Of {"schema", X}, whose first word stands at `schema_at`: the keys beside it, and those added later."""
    inner = enclosing(words, schema_at)
    outer = enclosing(words, inner)
    arguments, end = source.arguments(outer)
    keys = {text_in(part[1]) for part in arguments if part[:1] == ["{"] and len(part) > 2 and part[2] == ","}
    before = words[outer - 1]
    variable = before if messages.NAME.match(before) and before not in ("Json", "return") else words[outer - 2]
    return keys | added_to(words, variable, end)


def added_to(words, variable, begin):
    """The keys K of variable["K"] = ... from `begin` to the end of the function."""
    keys, depth = set(), 0
    for at in range(begin + 1, len(words) - 4):
        depth += (words[at] in "{") - (words[at] in "}")
        if depth < 0:
            break
        if words[at:at + 2] == [variable, "["] and words[at + 3:at + 5] == ["]", "="]:
            keys.add(text_in(words[at + 2]))
    return keys


def fields_visited(source, words, part_of_name):
    """The names in the functions Visit of the structs whose names have this part."""
    names = set()
    for at in range(len(words) - 6):
        if words[at:at + 2] == ["MaybeConst", "<"] and part_of_name in words[at + 2] and "Visit" in words[at:at + 9]:
            body = words.index("{", at)
            end = source.arguments(body)[1]
            names |= {text_in(words[i + 2]) for i in range(body, end) if words[i:i + 2] == ["visit", "("]}
    return names


def members_in_cpp(text):
    """Schema -> the members that are seen in the file."""
    source = messages.Source(text)
    words = [token.text for token in source.tokens]
    found, through = {}, set()
    for place, word in enumerate(words):
        if word == '"schema"' and words[place - 1] == "{" and words[place + 1] == ",":
            schema = LITERAL.fullmatch(words[place + 2])
            if schema:
                found.setdefault(schema[1], set()).update(members_beside(source, words, place))
            else:
                through |= members_beside(source, words, place)
        elif word == '"schema"' and words[place - 1] == "[" and words[place + 2] == "=":
            schema = LITERAL.fullmatch(words[place + 3])
            if schema:
                found.setdefault(schema[1], set()).update(added_to(words, words[place - 2], place))
    passed = {word: place for place, word in enumerate(words) if LITERAL.fullmatch(word)
              and LITERAL.fullmatch(word)[1] not in found}
    for word, place in passed.items():
        constant = re.fullmatch(r"k(\w*)Schema", words[place - 2]) if len(passed) > 1 else None
        fields = fields_visited(source, words, constant[1] if constant else "") if "WriteFields" in words else set()
        found[LITERAL.fullmatch(word)[1]] = through | fields
    return {schema: {key for key in keys if key} - {"schema"} for schema, keys in found.items()}


def members_in_python(text):
    found = {}
    for schema in re.finditer(r'\{"schema": "(slipway\.[^"]+)"', text):
        depth, keys, at = 0, set(), schema.start()
        while at < len(text):
            depth += (text[at] in "{[(") - (text[at] in "}])")
            if depth == 0:
                break
            key = PYTHON_KEY.match(text, at) if depth == 1 else None
            if key:
                keys.add(key[1])
                at = key.end()
            at += 1
        found[schema[1]] = keys - {"schema"}
    return found


def members_of_code(root):
    """Schema -> the members that are seen in all files together; and all keys of any document."""
    members, keys_of_all = {}, set()
    for name in source_tree.files_of(root):
        if name.parts[0] not in PARTS or name.suffix not in (".cpp", ".h", ".py"):
            continue
        text = source_tree.text_of(root, name)
        for key in (PYTHON_KEY, PYTHON_WORD) if name.suffix == ".py" else (ANY_KEY,):
            keys_of_all.update(key.findall(text))
        if '"slipway.' not in text:
            continue
        read = members_in_python if name.suffix == ".py" else members_in_cpp
        for schema, keys in read(text).items():
            members.setdefault(schema, set()).update(keys)
    return members, keys_of_all


def sections_of(text):
    """The parts of a page, each with its heading."""
    starts = [0] + [heading.start() for heading in SECTION.finditer(text)] + [len(text)]
    return [text[begin:end] for begin, end in zip(starts, starts[1:])]


def described_in(text, schema):
    """The words in code of the sections that name the schema."""
    spans = [span for section in sections_of(text) if f"`{schema}`" in section or f'"{schema}"' in section
             for span in SPAN.findall(section)]
    return {word for span in spans for word in re.findall(r"\w+", span)}


def members_on(text, schema):
    """What stands in the first cells of the tables below the heading of a schema."""
    tables = [section for section in sections_of(text) if re.match(rf"#+ `{re.escape(schema)}`", section)]
    cells = [line.split("|")[1] for section in tables for line in section.splitlines() if line.startswith("| ")]
    return {re.match(r"\w+", span)[0] for cell in cells for span in re.findall(r"`(\w[^`]*)`", cell)}


def pages_of(root):
    return {str(name): source_tree.text_of(root, name) for name in source_tree.files_of(root)
            if str(name).startswith("docs/") and name.suffix == ".md"}


def check_exit_codes(root):
    if not (root / EXIT_CODES).exists():
        return []
    page = (root / EXIT_CODES).read_text()
    words = dict(re.findall(r'case ErrorKind::k(\w+): return "(\w+)"', (root / "core/error.cpp").read_text()))
    return [f"{EXIT_CODES}: has no row for {code}, {words.get(kind)}"
            for kind, code in KIND.findall((root / "core/error.h").read_text())
            if f"| {code} | `{words.get(kind)}` |" not in page]


def check(root):
    (members, keys_of_all), pages = members_of_code(root), pages_of(root)
    problems = check_exit_codes(root)
    for schema, keys in sorted(members.items()):
        named = re.compile(rf"(?<![\w.]){re.escape(schema)}(?!\d)")
        on = [name for name, text in pages.items() if name.startswith(PAGES) and named.search(text)]
        if len(on) != 1:
            problems.append(f"{schema}: stands on {' and '.join(on) if on else 'no reference page'}, not on one")
            continue
        missing = keys - described_in(pages[on[0]], schema)
        if missing:
            problems.append(f"{on[0]}: {schema} lacks {', '.join(sorted(missing))}")
    for name, text in pages.items():
        problems += [f"{name}: names {schema}, which the code lacks"
                     for schema in sorted(set(SCHEMA.findall(text)) - members.keys())]
        for schema in members:
            more = members_on(text, schema) - members[schema] - keys_of_all
            if more:
                problems.append(f"{name}: {schema} has {', '.join(sorted(more))}, which the code does not write")
    return problems


def print_list(root):
    for schema, keys in sorted(members_of_code(root)[0].items()):
        print(f"{schema}: {', '.join(sorted(keys)) or 'members are not seen'}")


if __name__ == "__main__":
    source_tree.run(check, list=print_list)
