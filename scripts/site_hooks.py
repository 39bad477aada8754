"""Hooks of mkdocs: what repository browsers show, and the site alone would not: links to sources, sequence diagrams,
screenshots in both colour schemes."""

import posixpath
import re

LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
SEQUENCE = "```mermaid\nsequenceDiagram\n"
PARTICIPANT = re.compile(r"^ *participant (\w+) as (.+)$", re.MULTILINE)
MESSAGE = re.compile(r"^ *(\w+)--?>>(\w+): (.+)$", re.MULTILINE)


def without_sources(text, page):
    """Links to files outside of docs/ become their path: `trainers/fashion/fashion.cpp`."""

    def shown(match):
        target = match[3]
        if "://" in target or target.startswith(("mailto:", "/")):
            return match[0]
        place = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
        if place.startswith("docs/"):
            return match[0]
        name = match[2].strip("`")
        return f"`{place}`" if name in (place, target, posixpath.basename(place)) else f"{match[2]} (`{place}`)"

    return LINK.sub(shown, text)


def in_both_schemes(text):
    """A screenshot NAME-light becomes two pictures, of which the theme shows one."""

    def both(match):
        if not match[1] or "-light." not in match[3]:
            return match[0]
        dark = match[3].replace("-light.", "-dark.")
        return f"![{match[2]}]({match[3]}#only-light) ![{match[2]}]({dark}#only-dark)"

    return LINK.sub(both, text)


def as_steps(diagram):
    """A sequence diagram as a numbered list: the drawing program would have to come from the network."""
    names = dict(PARTICIPANT.findall(diagram))

    def step(sender, receiver, words):
        places = [f"`{names[place]}`" for place in dict.fromkeys((sender, receiver))]
        return f"1. {' → '.join(places)}: {words}"

    return "\n".join(step(*message) for message in MESSAGE.findall(diagram))


def shown_block(block):
    return as_steps(block) if block.startswith(SEQUENCE) else block


def on_files(files, config):
    """Programs and the sources of pictures are no files of the site."""
    for file in list(files):
        is_source = file.src_uri.startswith("pictures/") and not file.src_uri.endswith((".svg", ".png"))
        if is_source or file.src_uri == "build":
            files.remove(file)
    return files


def on_page_markdown(markdown, page, config, files):
    parts = FENCE.split(markdown)

    def shown(part):
        if part.startswith("```"):
            return shown_block(part)
        return in_both_schemes(without_sources(part, page.file.src_uri))

    return "".join(map(shown, parts))
