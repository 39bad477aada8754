#!/usr/bin/python3
"""into.py FILE WHERE: puts the YAML on standard input into a spec.

WHERE is `section` (its sections replace those of the file), `fields` (its fields replace those of the same section) or
the path of a mapping, such as `ensemble.space`, that gets more keys.
"""

import pathlib
import sys

import yaml


def put(tree, fragment, where):
    if where == "section":
        return {**tree, **fragment}
    if where == "fields":
        for section, fields in fragment.items():
            old = tree.get(section)
            tree[section] = {**old, **fields} if isinstance(old, dict) and isinstance(fields, dict) else fields
        return tree
    place = tree
    for part in where.split("."):
        place = place.setdefault(part, {})
    place.update(fragment)
    return tree


if __name__ == "__main__":
    spec, changed = pathlib.Path(sys.argv[1]), yaml.safe_load(sys.stdin)
    spec.write_text(yaml.safe_dump(put(yaml.safe_load(spec.read_text()), changed, sys.argv[2]), sort_keys=False))
