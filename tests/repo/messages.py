#!/usr/bin/python3
"""The catalogue of messages: each error says what happened and what to do next.

Finds every construction of an error, and every call of a function of the same file that only passes a message on.
`messages.py ROOT --list` prints the catalogue as Markdown.
"""

import collections
import re

import prose
import source_tree

PARTS = ("core", "runtime", "staging", "ensemble", "launcher", "bench")

# A class or function: the places of kind, message and next step among its arguments, a kind that is always the same,
# and whether a next step has to be among the arguments.
Form = collections.namedtuple("Form", "at_kind at_message at_step kind needs_step")
# core/error.cpp has a next step for each errno. The C interface returns one text.
CLASSES = {
    **dict.fromkeys(("Error", "MemoryError", "DocumentError", "NodesMissing"), Form(0, 1, 2, None, True)),
    "BookError": Form(1, 2, 3, None, True),
    "ParameterError": Form(None, 1, 2, "kUsage", True),
    "SystemError": Form(None, 1, 2, "kEnvironment", False),
    "ThrowErrno": Form(None, 0, 1, "kEnvironment", False),
    **dict.fromkeys(("RuntimeError", "PartedError"), Form(None, 1, None, "status", False)),
}
WITHOUT_NEED = {"kInternal", "kInterrupted"}
ADDED = re.compile(r"//.*\bnext step: added by \w")
MOST_ADDED = 25
MOST_ELSEWHERE = 21
LINES, WIDTH, PLACEHOLDER = 3, 120, 20

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/'
    r'|(?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"'
    r'|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])+'"
    r"|\d(?:[\w.']|(?<=[eEpP])[+-])*"
    r"|[A-Za-z_]\w*|::|->|[=!<>]=|&&|\|\||\S", re.DOTALL)
CLOSED_BY = {"(": ")", "{": "}", "[": "]"}
OPENED_BY = {")": "(", "}": "{", "]": "["}
NAME = re.compile(r"[A-Za-z_]\w*$")
HOLE = re.compile(r"\{[^{}]*\}")

Token = collections.namedtuple("Token", "text line")
Entry = collections.namedtuple("Entry", "file line what kind message step")


class Text:
    """What is known of an argument: its words with {} for each value, or nothing; for how many values there is a
    place, how many are given, and whether the nearest valid word ends it."""

    def __init__(self, words, holes=None, given=None, suggests=False):
        self.words, self.holes, self.given, self.suggests = words, holes, given, suggests


class Source:
    """The tokens of a file, without its comments, and which lines have the mark of an added next step."""

    def __init__(self, text):
        self.tokens, self.marked = [], set()
        line, last = 1, 0
        for found in TOKEN.finditer(text):
            line += text.count("\n", last, found.start())
            last = found.start()
            if found.group().startswith(("//", "/*")):
                if ADDED.match(found.group()):
                    self.marked.add(line)
            elif not found.group().startswith("#") or text[last - 1:last] != "\n":
                self.tokens.append(Token(found.group(), line))

    def arguments(self, start):
        """Of the bracket at `start`: a list of tokens for each, and the place of the closing bracket."""
        parts, depth = [[]], 0
        for place in range(start, len(self.tokens)):
            token = self.tokens[place].text
            depth += (token in CLOSED_BY) - (token in OPENED_BY)
            if depth == 0:
                return ([] if parts == [[]] else parts), place
            if token == "," and depth == 1:
                parts.append([])
            elif place > start:
                parts[-1].append(token)
        return [], start

    def resolved(self, message, place):
        """The texts of a message; of a variable those of its definition, of a function of this file what it returns."""
        texts = texts_of(message)
        if any(text.words is not None for text in texts):
            return texts
        variable = passed_on(message)
        words = [token.text for token in self.tokens]
        for at in range(place if variable else 0, 0, -1):
            if words[at:at + 2] == [variable, "="]:
                return texts_of(words[at + 2:self.end_of_expression(at + 2)])
        if len(message) > 2 and NAME.match(message[0]) and message[1] == "(":
            return self.returned_by(message[0], words) or texts
        return texts

    def returned_by(self, function, words):
        for at in range(len(words) - 1):
            if words[at:at + 2] == [function, "("]:
                opened = self.arguments(at + 1)[1] + 1
                opened += words[opened] == "const"
                if words[opened] == "{":
                    body = words[opened:self.arguments(opened)[1]]
                    returned = [body[i + 1:] for i, word in enumerate(body) if word == "return"]
                    return [text for one in returned for text in texts_of(one[:one.index(";")])]
        return []

    def end_of_expression(self, start):
        depth = 0
        for place in range(start, len(self.tokens)):
            token = self.tokens[place].text
            depth += (token in CLOSED_BY) - (token in OPENED_BY)
            if depth < 0 or (depth == 0 and token == ";"):
                return place
        return start

    def opener(self, close):
        depth = 0
        for place in range(close, -1, -1):
            token = self.tokens[place].text
            depth += (token in OPENED_BY) - (token in CLOSED_BY)
            if depth == 0:
                return place
        return 0

    def functions_around(self, place):
        """The name and the parameters of each function or lambda that holds `place`, innermost first."""
        depth = 0
        for at in range(place, -1, -1):
            token = self.tokens[at].text
            depth += (token in OPENED_BY) - (token in CLOSED_BY)
            if token != "{" or depth >= 0:
                continue
            depth = 0
            head = at - 1
            while head > 0 and (NAME.match(self.tokens[head].text)
                                or self.tokens[head].text in ("->", "::", "&", "<", ">")):
                head -= 1
            if self.tokens[head].text != ")":
                continue
            opened = self.opener(head)
            name = self.tokens[opened - 1].text
            if name == "]":
                begins = self.opener(opened - 1)
                name = self.tokens[begins - 2].text if self.tokens[begins - 1].text == "=" else ""
            if name in ("if", "for", "while", "switch", "catch"):
                continue
            yield name, self.arguments(opened)[0]


def name_of(parameter):
    if "=" in parameter:
        parameter = parameter[:parameter.index("=")]
    return parameter[-1] if parameter else ""


def default_of(parameter):
    return parameter[parameter.index("=") + 1:] if "=" in parameter else []


def is_literal(token):
    return token.endswith('"')


def content(token):
    raw = re.match(r'(?:u8|[uUL])?R"([^(\s]*)\((.*)\)\1"$', token, re.DOTALL)
    if raw:
        return raw[2]
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]),
                  token[token.index('"') + 1:-1])


def split(tokens, at):
    """The parts between the tokens `at`, outside of brackets."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in CLOSED_BY) - (token in OPENED_BY)
        if token == at and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def inside(tokens, name):
    """The arguments, when `tokens` is as a whole a call of `name`."""
    words = name.split()
    if tokens[:len(words)] != words or tokens[len(words):len(words) + 1] not in (["("], ["{"]):
        return None
    source = Source("")
    source.tokens = [Token(token, 0) for token in tokens]
    arguments, end = source.arguments(len(words))
    return arguments if end == len(tokens) - 1 else None


def texts_of(tokens):
    """The texts that an argument can have: two for `condition ? one : other`."""
    if tokens[:1] == ["("] and tokens[-1:] == [")"] and inside(["f"] + tokens, "f"):
        return texts_of(tokens[1:-1])
    question = split(tokens, "?")
    if len(question) > 1:
        rest = tokens[len(question[0]) + 1:]
        answers = split(rest, ":")
        if len(answers) > 1:
            return texts_of(answers[0]) + texts_of(rest[len(answers[0]) + 1:])
    return [text_of(tokens)]


def is_suggestion(tokens):
    """SuggestWord(word, words) and its like, whose answers begin with "; did you mean"."""
    return len(tokens) > 1 and tokens[0].startswith("Suggest") and tokens[1] == "("


def text_of(tokens):
    for wrapper in ("std :: string", "std :: string_view", "std :: move"):
        arguments = inside(tokens, wrapper)
        if arguments and len(arguments) == 1:
            return text_of(arguments[0])
    if tokens and all(map(is_literal, tokens)):
        return Text("".join(map(content, tokens)))
    arguments = inside(tokens, "fmt :: format")
    if arguments:
        if not all(map(is_literal, arguments[0])):
            return Text(None)
        escaped = "".join(map(content, arguments[0])).replace("{{", "").replace("}}", "")
        numbered = {int(found) for found in re.findall(r"\{(\d+)", escaped)}
        count = max(numbered) + 1 if numbered else escaped.count("{")
        last = arguments[-1] if len(arguments) > 1 else []
        return Text(HOLE.sub("{}", escaped), count, len(arguments) - 1, is_suggestion(last) and escaped.endswith("{}"))
    parts = split(tokens, "+")
    if len(parts) > 1:
        texts = [text_of(part) for part in parts]
        words = "".join("{}" if text.words is None else text.words for text in texts)
        wrong = [text for text in texts if text.holes != text.given]
        return Text(words, *((wrong[0].holes, wrong[0].given) if wrong else (None, None)),
                    suggests=is_suggestion(parts[-1]))
    return Text(None)


def passed_on(tokens):
    """The plain name that an argument is, as in `why` and `std::move(why)`."""
    arguments = inside(tokens, "std :: move")
    tokens = arguments[0] if arguments else tokens
    return tokens[0] if len(tokens) == 1 and NAME.match(tokens[0]) else None


def is_declaration(arguments):
    """`Error(ErrorKind kind, std::string message)`: a type and a name stand side by side."""
    def declares(tokens):
        tokens = tokens[:tokens.index("=")] if "=" in tokens else tokens
        return len(tokens) > 1 and bool(NAME.match(tokens[-1])) and (bool(NAME.match(tokens[-2]))
                                                                     or tokens[-2] in "&*>")
    return any(map(declares, arguments))


class Catalogue:
    def __init__(self, root):
        self.entries, self.problems, self.added, self.elsewhere = [], [], 0, []
        for name in source_tree.files_of(root):
            if name.parts[0] in PARTS and name.suffix in (".cpp", ".h"):
                self.read(name, Source(source_tree.text_of(root, name)))
        if len(self.elsewhere) > MOST_ELSEWHERE:
            self.problems.append(f"{len(self.elsewhere)} messages are made elsewhere, more than {MOST_ELSEWHERE}: "
                                 + ", ".join(self.elsewhere))
        if self.added > MOST_ADDED:
            self.problems.append(f"{self.added} next steps are added by callers, more than {MOST_ADDED}")

    def read(self, name, source):
        """Functions that pass a parameter on as the message or the next step count like classes."""
        known, fresh = {}, dict(CLASSES)
        while fresh:
            known.update(fresh)
            helpers = {}
            for place, token in enumerate(source.tokens):
                if token.text in fresh:
                    self.construction(name, source, place, fresh[token.text], helpers)
            fresh = {what: form for what, form in helpers.items() if what not in known}

    def construction(self, name, source, place, form, helpers):
        what, line = source.tokens[place]
        following = [token.text for token in source.tokens[place + 1:place + 3]] + ["", ""]
        opened = place + 1 + (what in CLASSES and bool(NAME.match(following[0])))
        before = source.tokens[place - 1].text if place else ""
        if following[opened - place - 1] not in ("(", "{") or before in ("class", "struct", "explicit", "public", "."):
            return
        two_before = source.tokens[place - 2].text if place > 1 else ""
        if (two_before, before) in ((")", ":"), ("cause", "::")):  # the base of a class; a struct of the same name
            return
        arguments, end = source.arguments(opened)
        if not arguments or is_declaration(arguments) or len(arguments) <= max(form.at_message or 0, form.at_kind or 0):
            return
        kind = form.kind
        if form.at_kind is not None:
            words = arguments[form.at_kind]
            kind = words[2] if words[:2] == ["ErrorKind", "::"] and len(words) == 3 else "as its cause"
        message = arguments[form.at_message] if form.at_message is not None else None
        step = arguments[form.at_step] if form.at_step is not None and form.at_step < len(arguments) else []
        parameters = {}
        for function, declared in source.functions_around(place):
            for index, parameter in enumerate(declared):
                parameters.setdefault(name_of(parameter), (function, index, default_of(parameter)))
        owner, at_message, _ = parameters.get(passed_on(message or []), (None, None, []))
        owner_of_step, at_step, default = parameters.get(passed_on(step), (None, None, []))
        if "" in (owner, owner_of_step) or {owner, owner_of_step} & CLASSES.keys():
            return
        if owner_of_step:
            at_message = at_message if owner == owner_of_step else None
            helpers[owner_of_step] = Form(None, at_message, at_step, kind, is_empty(default))
        elif owner:
            helpers.setdefault(owner, Form(None, at_message, None, kind, False))
        if message:
            texts = [] if owner else source.resolved(message, place)
        else:  # a function with a template of its own, which the arguments fill
            filling = [argument for index, argument in enumerate(arguments) if index != form.at_step]
            texts = [text for argument in filling for text in texts_of(argument) if text.words is not None]
        entry = Entry(name, line, what, kind, texts, source.resolved(step, place) if step else [])
        self.entries.append(entry)
        self.check(entry, form.needs_step and not owner_of_step and is_empty(step), {line, line - 1} & source.marked)

    def check(self, entry, lacks_step, is_marked):
        def report(problem):
            self.problems.append(f"{entry.file}:{entry.line}: {problem}")

        if any(text.words is None for text in entry.message):
            self.elsewhere.append(f"{entry.file}:{entry.line}")
        for text in entry.message + entry.step:
            for problem in faults_of(text):
                report(problem)
        if is_marked:
            self.added += 1
        elif lacks_step and entry.kind not in WITHOUT_NEED and not any(text.suggests for text in entry.message):
            report("has no next step")


def is_empty(step):
    return not step or any(text.words == "" for text in texts_of(step)) or step == ["{", "}"]


def faults_of(text):
    if text.words is None:
        return
    if text.holes != text.given:
        yield f"{text.holes} places for {text.given} values: {text.words}"
    shown = text.words.replace("{}", "x" * PLACEHOLDER)
    if re.search(r"[a-z)']\.$", shown):
        yield f"ends with a full stop: {text.words}"
    lines = sum(-(-len(line) // WIDTH) for line in shown.split("\n"))
    if lines > LINES:
        yield f"takes {lines} lines, more than {LINES}: {text.words[:60]} ..."
    for word in prose.PRIVATE.findall(text.words):
        yield f"'{word}' is no word of the field: {text.words[:60]}"


def check(root):
    return Catalogue(root).problems


def shown(texts):
    words = " / ".join("(in the code)" if text.words is None else text.words for text in texts)
    return words.replace("|", "\\|").replace("\n", " ")


def print_list(root):
    print("| kind | message | next step | file |\n|---|---|---|---|")
    for entry in sorted(Catalogue(root).entries, key=lambda entry: (entry.kind, entry.file, entry.line)):
        print(f"| {entry.kind.removeprefix('k')} | {shown(entry.message) or '(of the caller)'} | {shown(entry.step)} | "
              f"{entry.file}:{entry.line} |")


if __name__ == "__main__":
    source_tree.run(check, list=print_list)
