"""Reads event files of TensorBoard by hand: framing with CRC32C, protobuf by varints. No code of the writer."""

import math
import pathlib
import struct

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked_crc(data[at:at + 8]), f"the length at byte {at}"
        body = data[at + 12:at + 12 + length]
        footer, = struct.unpack_from("<I", data, at + 12 + length)
        assert footer == masked_crc(body), f"the record at byte {at}"
        yield body
        at += 16 + length


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number, at


def fields(data):
    """{field number: [values]}: integers, 4 or 8 raw bytes, or the bytes of a text or message."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                assert key & 7 == 2, f"wire type {key & 7}"
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        found.setdefault(key >> 3, []).append(value)
    return found


def double(raw):
    return struct.unpack("<d", raw)[0]


def value_of(message):
    """google.protobuf.Value."""
    found = fields(message)
    if 2 in found:
        return double(found[2][0])
    return found[3][0].decode() if 3 in found else bool(found[4][0])


class Session:
    """A folder of event files: scalars {tag: [(step, value, time)]}, hyperparameters, status."""

    def __init__(self, folder):
        self.scalars, self.hparams, self.group, self.status, self.columns = {}, None, None, None, None
        for file in sorted(folder.glob("*tfevents*")):
            events = [fields(record) for record in records(file.read_bytes())]
            assert events[0][3] == [b"brain.Event:2"], "the first record says the version"
            for event in events[1:]:
                self.take(event)

    def take(self, event):
        time = double(event[1][0])
        step = event.get(2, [0])[0]
        for value in map(fields, fields(event[5][0])[1]):
            tag = value[1][0].decode()
            if tag.startswith("_hparams_/"):
                self.take_hparams(tag, value)
            else:
                number = struct.unpack("<f", value[2][0])[0]
                self.scalars.setdefault(tag, []).append((step, number, time))

    def take_hparams(self, tag, value):
        tensor = fields(value[8][0])
        assert tensor[1] == [1] and struct.unpack("<f", tensor[5][0]) == (0.0,), "a tensor of one float"
        plugin = fields(fields(value[9][0])[1][0])
        assert plugin[1] == [b"hparams"]
        data = fields(plugin[2][0])
        assert 1 not in data, "version 0"
        if tag.endswith("session_start_info"):
            start = fields(data[3][0])
            entries = [fields(entry) for entry in start.get(1, [])]
            self.hparams = {entry[1][0].decode(): value_of(entry[2][0]) for entry in entries}
            self.group = start[4][0].decode()
        elif tag.endswith("session_end_info"):
            self.status = fields(data[4][0])[1][0]
        else:
            experiment = fields(data[2][0])
            parameters = [fields(column) for column in experiment.get(4, [])]
            self.columns = {
                "parameters": {column[1][0].decode(): column[4][0] for column in parameters},
                "metrics": [fields(fields(metric)[1][0])[2][0].decode() for metric in experiment.get(5, [])]}


def sessions(folder):
    """Every folder with event files, by its path below `folder`."""
    folders = {file.parent for file in pathlib.Path(folder).rglob("*tfevents*")}
    return {str(each.relative_to(folder)): Session(each) for each in sorted(folders)}


def steps(session, tag):
    return [step for step, _, _ in session.scalars.get(tag, [])]


def same(left, right):
    """Also of NaN; values are stored with 32 bits."""
    return left == right or (math.isnan(left) and math.isnan(right)) or math.isclose(left, right, rel_tol=1e-6)
