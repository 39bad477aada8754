#!/usr/bin/python3
"""Relative links in Markdown files lead to files that exist."""

import re

import source_tree

LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:|^#")


def check(root):
    problems = []
    for name in source_tree.files_of(root):
        if name.suffix != ".md":
            continue
        for target in LINK.findall(CODE.sub("", source_tree.text_of(root, name))):
            path = target.split("#")[0]
            if not ELSEWHERE.match(target) and not (root / name.parent / path).exists():
                problems.append(f"{name}: links to {target}, which is not there")
    return problems


if __name__ == "__main__":
    source_tree.run(check)
