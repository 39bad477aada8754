"""Names that the other library has and this one does not: asking for one says what to use instead."""

from slipway.errors import NotSupportedError


def names_not_there(module, instead):
    """The `__getattr__` of a module. `instead`: what to say, by name. Other names are unknown as in any module."""
    def get(name):
        if name in instead:
            raise NotSupportedError(instead[name])
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return get
