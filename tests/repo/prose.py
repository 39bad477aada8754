#!/usr/bin/python3
"""How docs and the comments of headers read: length of sentences, of table cells and of lines of the changelog, and
words that are ours alone.

A sentence ends at a full stop, a question or an exclamation mark. Code in a line counts as one word. `prose.py ROOT
--report` prints the figures of each page, with the Flesch reading ease of tutorials and how-to pages.
"""

import re
import statistics

import source_tree

MEDIAN, PERCENTILE_95, LONGEST = 14, 28, 40  # words of a sentence
CELL = 15  # words of a table cell
CHANGELOG_LINE = 100  # characters
EASE = 55  # Flesch reading ease of tutorials and how-to pages, all together

# Words of our own and figures of speech. docs/reference/glossary.md has the words of the field.
PRIVATE = re.compile(
    r"\b(nobody|somebody|anybody|everybody|whoever|dear|anew|keepers?|doors?|boards?|sight|houses?|rooms?|wish(?:es)?|"
    r"come to the exchange|asked of|told)\b", re.IGNORECASE)

PARTS = ("core", "runtime", "staging", "ensemble", "launcher", "trainers", "bench")
CONTRACT = re.compile(r"\s*///<?\s?(.*)")
BEHIND_CODE = re.compile(r"///< ?(.*)")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
SPAN = re.compile(r"`[^`]*`")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
ENDS = re.compile(r"(?<=[.!?])[)\"*]*\s+")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|Fig|et al)\.\s")


class Page:
    """The prose of a Markdown text, taken apart."""

    def __init__(self, text):
        text = COMMENT.sub("", FENCE.sub("\n\n", text))
        self.cells, paragraphs = [], [[]]
        for line in text.splitlines():
            if line.lstrip().startswith("|"):
                self.cells += [plain(cell) for cell in line.strip().strip("|").replace("\\|", "/").split("|")]
                line = ""
            if not line.strip() or line.startswith("#") or line.startswith("---"):
                paragraphs.append([])
            elif ITEM.match(line):
                paragraphs.append([ITEM.sub("", line)])
            else:
                paragraphs[-1].append(line.strip())
        self.sentences = [sentence for lines in paragraphs for sentence in sentences_of(" ".join(lines))]

    def words(self):
        return [len(sentence.split()) for sentence in self.sentences]


def plain(text):
    """Without marks; code is one word."""
    return LINK.sub(r"\1", SPAN.sub("code", text)).replace("**", "").strip()


def sentences_of(paragraph):
    text = ABBREVIATION.sub(r"\1 ", plain(paragraph))
    return [part.strip() for part in ENDS.split(text) if re.search(r"\w", part)]


def percentile_95(values):
    return sorted(values)[int(0.95 * (len(values) - 1))]


def syllables(word):
    word = re.sub(r"[^a-z]", "", word.lower())
    groups = len(re.findall(r"[aeiouy]+", word))
    silent = word.endswith("e") and not word.endswith("le") and groups > 1
    return max(1, groups - silent)


def ease(pages):
    """Flesch: 206.8 - 1.015 words a sentence - 84.6 syllables a word."""
    sentences = [sentence.split() for page in pages for sentence in page.sentences]
    words = [word for sentence in sentences for word in sentence]
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * sum(map(syllables, words)) / len(words)


def pages_of(root):
    for name in source_tree.files_of(root):
        is_ours = str(name).startswith("docs/") or str(name) in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
        if name.suffix == ".md" and is_ours:
            yield name, Page(source_tree.text_of(root, name))


def contract_of(text):
    """The comments of a header, as Markdown."""
    lines = []
    for line in text.splitlines():
        whole, behind = CONTRACT.match(line), BEHIND_CODE.search(line)
        lines += [whole[1]] if whole else ["", behind[1], ""] if behind else [""]
    return "\n".join(lines)


def headers_of(root):
    for name in source_tree.files_of(root):
        if name.suffix == ".h" and name.parts[0] in PARTS:
            yield name, Page(contract_of(source_tree.text_of(root, name)))


def is_guide(name):
    return name.parts[:2] in (("docs", "tutorials"), ("docs", "how-to"))


def faults_of(name, page):
    for sentence in page.sentences:
        if len(sentence.split()) > LONGEST:
            yield f"{name}: a sentence of {len(sentence.split())} words: {sentence[:60]} ..."
    for cell in page.cells:
        if name.suffix == ".md" and len(cell.split()) > CELL:
            yield f"{name}: a table cell of {len(cell.split())} words: {cell[:60]} ..."
    if "decisions" in name.parts:
        return
    for text in page.sentences + page.cells:
        for word in PRIVATE.findall(text):
            yield f"{name}: '{word}' is no word of the field: {text[:60]} ..."


def check(root):
    pages = {**dict(pages_of(root)), **dict(headers_of(root))}
    problems = [fault for name, page in pages.items() for fault in faults_of(name, page)]
    changelog = root / "CHANGELOG.md"
    for number, line in enumerate(changelog.read_text().splitlines() if changelog.exists() else [], start=1):
        if len(line) > CHANGELOG_LINE:
            problems.append(f"CHANGELOG.md:{number}: {len(line)} characters")
    lengths = [length for page in pages.values() for length in page.words()]
    if not lengths:
        return problems
    for what, measured, most in (("median", statistics.median(lengths), MEDIAN),
                                 ("95th percentile", percentile_95(lengths), PERCENTILE_95)):
        if measured > most:
            problems.append(f"the {what} of a sentence is {measured} words, more than {most}")
    guides = [page for name, page in pages.items() if is_guide(name)]
    if guides and ease(guides) < EASE:
        problems.append(f"tutorials and how-to pages have a Flesch reading ease of {ease(guides):.0f}, below {EASE}")
    return problems


def report(root):
    pages = dict(pages_of(root))
    headers = [length for _, page in headers_of(root) for length in page.words()]
    for name, page in pages.items():
        lengths = page.words()
        if lengths:
            flesch = f"  Flesch {ease([page]):.0f}" if is_guide(name) else ""
            print(f"{statistics.median(lengths):3.0f} {percentile_95(lengths):3} {max(lengths):3}  {name}{flesch}")
    lengths = [length for page in pages.values() for length in page.words()]
    guides = [page for name, page in pages.items() if is_guide(name)]
    print(f"median {statistics.median(lengths)}, 95th percentile {percentile_95(lengths)}, longest {max(lengths)}, "
          f"Flesch of tutorials and how-to {ease(guides):.0f}, {len(pages)} pages")
    print(f"comments of headers: median {statistics.median(headers)}, 95th percentile {percentile_95(headers)}, longest "
          f"{max(headers)}")


if __name__ == "__main__":
    source_tree.run(check, report=report)
