#!/usr/bin/python3
"""Reads TFRecords of pictures and labels as one writes it without a library: what the batch reader is compared with.

plain_reader.py DIRECTORY: prints records per second of one pass over all files, in order, without checksums.
"""

import pathlib
import struct
import sys
import time

import numpy as np


def records(path):
    with open(path, "rb") as file:
        while header := file.read(12):
            length, _ = struct.unpack("<QI", header)
            yield file.read(length)
            file.read(4)


def varint(data, at):
    number, shift = 0, 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def fields(data):
    """(number, value) of each field of a message; all of ours have a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        length, at = varint(data, at)
        yield tag >> 3, data[at:at + length]
        at += length


def example(data):
    values = {}
    for _, features in fields(data):
        for _, entry in fields(features):
            name, feature = (value for _, value in fields(entry))
            for kind, content in fields(feature):
                _, value = next(fields(content))
                values[name.decode()] = value if kind == 1 else varint(value, 0)[0]
    return values


def batches(directory, size):
    images, labels = [], []
    for path in sorted(pathlib.Path(directory).glob("*.tfrecord")):
        for record in records(path):
            values = example(record)
            images.append(np.frombuffer(values["image"], np.uint8).reshape(28, 28).astype(np.float32) / 255)
            labels.append(values["label"])
            if len(images) == size:
                yield np.stack(images), np.array(labels, np.int64)
                images, labels = [], []


start = time.perf_counter()
count = sum(len(labels) for _, labels in batches(sys.argv[1], 64))
print(count / (time.perf_counter() - start))
