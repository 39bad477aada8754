#!/usr/bin/python3
"""No branch on the words of a message: what is decided by is a type, and texts are made of it where they are shown.

Looks for questions to a text whose name says that it is a message (reason, detail, message(), what(), ...): whether it
holds, begins or ends with words, or is equal to some. What other programs say is theirs to word: see FOREIGN.
"""

import re

import source_tree

PRODUCT = ("core/", "runtime/", "staging/", "ensemble/", "launcher/", "trainers/")

# Where the words of other programs are read -> why they have to be.
FOREIGN = {
    "staging/reader/jpeg.cpp": "libjpeg-turbo has one code for all of its warnings",
}

# The last part of a name, as in `attempt.reason`, `node_trouble_` or `error.message()`.
MESSAGE = r"\b(?:\w+_)?(?:reason|detail|message|trouble|remark|message\(\)|what\(\)|reason\(\)|detail\(\))_?"
ANSWER = rf"(?:{MESSAGE}|\b(?:\w+_)?(?:answer|said|words|why|why_not|sentence)_?)"
# The place of a single character, such as the end of a line, is no question to the words.
WORDS = r"(?!\s*'(?:\\.|[^\\'])'\s*[,)])"
CONSTANT = r"(?:[a-z]\w*::)*k[A-Z]\w*"  # not that of an enum class, which has its type before it

OF_C = re.compile(
    rf"{ANSWER}\s*(?:\.|->)\s*(?:find|rfind|starts_with|ends_with|compare)\({WORDS}"
    rf"|\bregex_(?:search|match)\(\s*[\w.>()-]*{ANSWER}\s*,"
    rf"|\b(?:sscanf|strstr|strncmp|strcmp)\(\s*[\w.>()-]*?{ANSWER}(?:\s*(?:\.|->)\s*(?:c_str|data)\(\))?\s*,"
    rf"|{MESSAGE}\s*[!=]=\s*(?:\"[^\"]|{CONSTANT})")
OF_PYTHON = re.compile(
    rf"{ANSWER}\.(?:find|rfind|index|startswith|endswith)\("
    rf"|\bre\.\w+\([^,()]*,\s*[\w.]*{ANSWER}\s*\)"
    rf"|['\"]\s+(?:not\s+)?in\s+(?:(?:\w+\.)*{MESSAGE}(?![\w(\[.])|str\(\w+\))"
    rf"|{MESSAGE}\s*[!=]=\s*['\"]\w")
QUESTIONS = {".py": OF_PYTHON, **dict.fromkeys((".c", ".cpp", ".h", ".hpp"), OF_C)}

COMMENT_OF_C = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
COMMENT_OF_PYTHON = re.compile(r"#[^\n]*")


def without_comments(text, suffix):
    """The same lines, with nothing in place of the comments."""
    comment = COMMENT_OF_PYTHON if suffix == ".py" else COMMENT_OF_C
    return comment.sub(lambda found: "\n" * found.group().count("\n"), text)


def questions_in(text, suffix):
    """The line of each question to a message, and how it begins."""
    code = without_comments(text, suffix)
    for found in QUESTIONS[suffix].finditer(code):
        yield code.count("\n", 0, found.start()) + 1, " ".join(found.group().split())


def check(root):
    problems = []
    for name in source_tree.files_of(root):
        if not str(name).startswith(PRODUCT) or name.suffix not in QUESTIONS:
            continue
        questions = list(questions_in(source_tree.text_of(root, name), name.suffix))
        if str(name) in FOREIGN:
            problems += [] if questions else [f"{name}: reads no message, so it need not stand in FOREIGN"]
            continue
        problems += [f"{name}:{line}: decides by the words of a message: {question} ..." for line, question in questions]
    return problems


if __name__ == "__main__":
    source_tree.run(check)
