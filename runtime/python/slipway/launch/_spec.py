"""The spec of a job: resources by the names of the spec's fields, written so that every text arrives as it is."""

import difflib
import json
import os
import re

from slipway.launch import errors

LAUNCH = ("engine", "mpi", "nodes", "ranks_per_node", "cpus_per_rank", "gpus_per_rank", "bind", "memory_per_rank",
          "time_limit", "modules", "env", "workdir", "files", "container", "slurm")
SECTIONS = ("name", "description", "tags", "tiers", "site", "data", "gradients", "checkpoint", "resilience", "trace",
            "report", "provenance", "notify")
ENSEMBLE = ("placement", "nodes_per_trial")

# Their relative paths start at the working directory, as those of --set do; those of the spec file at its folder.
_WITH_PATHS = ("data", "launch.files", "launch.container")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")


def name_of(text):
    """A name for the run: what the spec allows, at most 40 characters."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:40]
    return name or "call"


def literal_word(word):
    """A word of a command that reaches the program as it is: `{NAME}` stands for an argument there."""
    return _PLACEHOLDER.sub(r"{{\1}}", os.fspath(word))


def as_yaml(value):
    """A value as YAML of one line, without references to environment variables."""
    return json.dumps(_literal(value), ensure_ascii=False, default=os.fspath)


def _literal(value):
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, dict):
        return {str(key): _literal(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_literal(each) for each in value]
    return value


def _unknown(name, known):
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean '{near[0]}'?" if near else "docs/reference/spec.md lists the fields."
    return TypeError(f"unknown resource '{name}': {hint} For an argument of the function, send "
                     f"functools.partial(function, {name}=...).")


def fields_of(resources, *more):
    """The resources as sections of a spec. TypeError for an unknown one."""
    spec, known = {"launch": {}}, (*LAUNCH, *SECTIONS, *more)
    for name, value in resources.items():
        if name not in known:
            raise _unknown(name, known)
        if value is None:
            continue
        if name == "env":
            spec["launch"][name] = {key: str(each) for key, each in value.items()}
        elif name in LAUNCH:
            spec["launch"][name] = value
        elif name in ENSEMBLE:
            spec.setdefault("ensemble", {})[name] = value
        else:
            spec[name] = value
    # Where the caller works: what a function or a command reads by a relative path is there.
    workdir = spec["launch"].get("workdir", os.getcwd())
    spec["launch"]["workdir"] = workdir if workdir in ("own", "spec") else os.path.join(os.getcwd(), workdir)
    return spec


def overrides_of(changes, prefix=""):
    """`--set KEY=VALUE` for each change. A nested dict changes the single fields in it."""
    words = []
    for key, value in changes.items():
        if isinstance(value, dict) and value:
            words += overrides_of(value, f"{prefix}{key}.")
        else:
            words += ["--set", f"{prefix}{key}={as_yaml(value)}"]
    return words


def split(spec):
    """The text of the spec file, and the words of the command line for the fields that hold paths."""
    words, lines = [], []
    for section, value in spec.items():
        fields = dict(value) if isinstance(value, dict) else value
        for path in _WITH_PATHS:
            owner, _, field = path.partition(".")
            if owner != section:
                continue
            if not field:
                words += ["--set", f"{path}={as_yaml(value)}"]
                fields = None
            elif field in fields:
                words += ["--set", f"{path}={as_yaml(fields.pop(field))}"]
        if fields is not None:
            lines.append(f"{section}: {as_yaml(fields)}")
    return "\n".join(lines) + "\n", words


def write(folder, spec):
    """Writes spec.yaml, readable by its owner only; returns the words to give beside it."""
    text, words = split(spec)
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise errors.LaunchError(f"a word is no UTF-8 text: {error.object[error.start - 10:error.end + 10]!r}",
                                 "use UTF-8 in commands, environments and names") from None
    file = os.open(folder / "spec.yaml", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "wb") as out:
        out.write(content)
    return words
