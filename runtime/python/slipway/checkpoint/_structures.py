"""Several models or optimizers in one checkpoint, as of a GAN: a list, a tuple or a dict of them in place of one."""


def is_several(part):
    """Not a module or a sampler that is a list or a dict by itself, nor an empty one."""
    has_state = any(hasattr(part, name) for name in ("state_dict", "position", "epoch"))
    return isinstance(part, (list, tuple, dict)) and len(part) > 0 and not has_state


def of(part):
    """None: a single one. The number of a list; the keys of a dict."""
    if not is_several(part):
        return None
    return list(part) if isinstance(part, dict) else len(part)


def text_of(structure):
    """As a message has it."""
    if structure is None:
        return "a single one"
    return f"a list of {structure}" if isinstance(structure, int) else f"a dict of {', '.join(map(repr, structure))}"


def same(one, other):
    """Whether two answers of of() are alike; a dict may have its keys in another order."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(key in other for key in one)
    return one == other


def mapped(function, part):
    """What `function` makes of each, as a list or a dict; of a single one its result."""
    if not is_several(part):
        return function(part)
    if isinstance(part, dict):
        return {key: function(each) for key, each in part.items()}
    return [function(each) for each in part]


def each_of(name, part):
    """Each with its name for messages, and its key: "model", None; "model 0", 0; "model 'g'", 'g'."""
    if not is_several(part):
        return [(name, None, part)]
    items = part.items() if isinstance(part, dict) else enumerate(part)
    return [(f"{name} {key!r}", key, each) for key, each in items]


def at(values, key):
    """That of mapped() for a key of each_of()."""
    return values if key is None else values[key]
