"""The burst-buffer directives of a job script: what it asks for, checked. Pure.

Source: Slurm 22.05, burst_buffer.html; Cray's DataWarp User Guide S-2558, "job script commands"."""

import dataclasses
import re
import shlex

DW, BB_LUA = "DW", "BB_LUA"
JOB_VARIABLE = {DW: "DW_JOB_STRIPED", BB_LUA: "BB_JOB_STRIPED"}
PERSISTENT_VARIABLE = "DW_PERSISTENT_STRIPED_"
KNOWN = {"jobdw": {"capacity", "access_mode", "type", "pool"},
         "persistentdw": {"name"},
         "stage_in": {"type", "source", "destination"},
         "stage_out": {"type", "source", "destination"}}
KINDS = ("file", "directory", "list")


class DirectiveError(Exception):
    """A directive that the job's author must change; the message quotes it."""


@dataclasses.dataclass(frozen=True)
class Transfer:
    """One stage_in or stage_out. The side that lies in a buffer is `variable` and the path below it."""
    kind: str | None      # file, directory, list; None in the dialect that has no types: look
    outside: str          # on the shared file system
    variable: str
    inside: str


@dataclasses.dataclass
class Request:
    """What a job script asks for."""
    job_buffer: bool = False
    persistent: list = dataclasses.field(default_factory=list)
    stage_in: list = dataclasses.field(default_factory=list)
    stage_out: list = dataclasses.field(default_factory=list)


def read(script, dialect):
    """The request of a job script, given as bytes: Slurm ends it with a NUL."""
    request = Request()
    for line in _lines(script.split(b"\0")[0].decode(errors="replace"), f"#{dialect}"):
        try:
            _add(request, line, dialect)
        except DirectiveError as error:
            raise DirectiveError(f"#{dialect} {line}: {error}") from None
    _check_variables(request, dialect)
    return request


def _lines(text, mark):
    """The directives, without their mark, continued ones joined. As in Slurm, blank lines do not end the comment block
    at the top."""
    joined, open_line = [], False
    for line in filter(None, text.split("\n")):
        if not line.startswith("#"):
            break
        if not re.match(re.escape(mark) + r"\s", line):
            open_line = False
            continue
        words = line[len(mark):].strip()
        continued = words.endswith("\\")
        words = words.removesuffix("\\").strip()
        if open_line:
            joined[-1] += " " + words
        else:
            joined.append(words)
        open_line = continued
    return joined


def _add(request, line, dialect):
    words = shlex.split(line)
    if dialect == BB_LUA and "=" in words[0]:  # `#BB_LUA pool=P capacity=N`, which Slurm itself reads
        words.insert(0, "jobdw")
    command, fields = words[0], dict(word.partition("=")[::2] for word in words[1:])
    if command not in KNOWN:
        raise DirectiveError(f"unknown command {command}; known: {', '.join(KNOWN)}")
    unknown = fields.keys() - KNOWN[command]
    if unknown:
        raise DirectiveError(f"{command} knows no {', '.join(sorted(unknown))}")
    if command == "jobdw":
        _check_job_buffer(fields, dialect)
        request.job_buffer = True
    elif command == "persistentdw":
        request.persistent.append(_needed(fields, "name"))
    else:
        getattr(request, command).append(_transfer(command, fields, dialect))


def _check_job_buffer(fields, dialect):
    _needed(fields, "capacity")
    if dialect == DW and (fields.get("type"), fields.get("access_mode")) != ("scratch", "striped"):
        raise DirectiveError("this stand-in has type=scratch access_mode=striped only")


def _transfer(command, fields, dialect):
    kind = _needed(fields, "type") if dialect == DW else fields.get("type")
    if kind is not None and kind not in KINDS:
        raise DirectiveError(f"type={kind} is none of {', '.join(KINDS)}")
    source, destination = _needed(fields, "source"), _needed(fields, "destination")
    buffered, outside = (destination, source) if command == "stage_in" else (source, destination)
    inside = re.fullmatch(r"\$\{?(\w+)\}?(?:/(.*))?", buffered)
    if inside is None:
        raise DirectiveError(f"{buffered} is in no buffer: it must begin with ${JOB_VARIABLE[dialect]}")
    path = inside.group(2) or ""
    if ".." in path.split("/") or not outside.startswith("/"):
        raise DirectiveError("paths must be absolute, without ..")
    return Transfer(kind, outside, inside.group(1), path)


def _needed(fields, name):
    if not fields.get(name):
        raise DirectiveError(f"{name}= is missing")
    return fields[name]


def _check_variables(request, dialect):
    known = {PERSISTENT_VARIABLE + name for name in request.persistent}
    known |= {JOB_VARIABLE[dialect]} if request.job_buffer else set()
    for transfer in request.stage_in + request.stage_out:
        if transfer.variable not in known:
            raise DirectiveError(f"${transfer.variable} is no buffer of this job")
