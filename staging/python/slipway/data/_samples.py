"""Samples of a WebDataset from the bytes that the reader gives: a piece of a tar archive."""

import io
import tarfile

_BLOCK = 512
_PLAIN = (0x30, 0)  # the type of a plain file


def _field_of(path):
    """Key and field of `train/0001.seg.png`: `train/0001` and `seg.png`."""
    folder, slash, name = path.rpartition("/")
    base, _, field = name.partition(".")
    return folder + slash + base, field.lower()


def _text(field):
    return field.split(b"\0", 1)[0]


def _plain_members(record):
    """Path and content of each member; None when a header is more than one plain block."""
    members, at = [], 0
    while at < len(record):
        header = record[at:at + _BLOCK]
        if header[156] not in _PLAIN or header[124] & 0x80 or header[345]:
            return None
        size = int(_text(header[124:136]), 8)
        members.append((_text(header[:100]).decode(errors="surrogateescape"), record[at + _BLOCK:at + _BLOCK + size]))
        at += _BLOCK + -(-size // _BLOCK) * _BLOCK
    return members


def _members(record):
    """Long names, pax headers and large sizes are read by Python's library."""
    with tarfile.open(fileobj=io.BytesIO(record), mode="r:", errors="surrogateescape") as archive:
        return [(member.name, archive.extractfile(member).read()) for member in archive if member.isfile()]


def sample_of(record):
    """{"__key__": the key, field: bytes, ...} of a sample; {"record": bytes} of a record that is no piece of a tar."""
    if record[257:262] != b"ustar":
        return {"record": record}
    sample = {}
    for path, content in _plain_members(record) or _members(record):
        if path.rpartition("/")[2].startswith("__"):
            continue
        sample["__key__"], field = _field_of(path)
        sample[field] = content
    return sample
