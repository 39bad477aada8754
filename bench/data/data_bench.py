#!/usr/bin/python3
"""slipway bench data: batches for PyTorch by slipway.data.torch and by torch's DataLoader with parsing in Python.

Records of 3 x 32 x 32 bytes and a label, as TFRecord and as a WebDataset. Both sides take turns epoch by epoch, so that
what disturbs the machine disturbs both; medians over all epochs. The Python side checks no CRC, and reads its samples
in the order of the files. The side of Slipway checks every record and shuffles. The first batch counts from the opening
of a dataset that is staged already.
"""

import argparse
import io
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).absolute().parent
TREE = HERE.parents[1]
if (TREE / "lib/slipway/python").is_dir():
    sys.path.insert(0, str(TREE / "lib/slipway/python"))

IMAGE = (3, 32, 32)
FILES = 4


def arguments_of(line):
    parser = argparse.ArgumentParser(prog="slipway bench data", description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=20000, metavar="N", help="records of the dataset (20000)")
    parser.add_argument("--batch", type=int, default=64, metavar="N", help="records of a batch (64)")
    parser.add_argument("--epochs", type=int, default=7, metavar="N", help="measured epochs of each side (7)")
    parser.add_argument("--workers", type=int, default=0, metavar="N",
                        help="num_workers of torch's DataLoader with parsing in Python (0)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    arguments = parser.parse_args(line)
    too_few = arguments.records < FILES * arguments.batch
    if min(arguments.batch, arguments.epochs) < 1 or arguments.workers < 0 or too_few:
        parser.error(f"--batch and --epochs count from 1, --workers from 0; --records is at least {FILES} batches")
    return arguments


# ---- the data, made once


def npy_of(image):
    import numpy

    out = io.BytesIO()
    numpy.save(out, image)
    return out.getvalue()


def make_shards(folder, records):
    """FILES shards with the members npy and cls."""
    import numpy

    images = numpy.random.default_rng(1).integers(0, 256, (256, *IMAGE), dtype=numpy.uint8)
    arrays = [npy_of(image) for image in images]
    for part in range(FILES):
        with tarfile.open(folder / f"train-{part}.tar", "w") as archive:
            for number in range(part * records // FILES, (part + 1) * records // FILES):
                for field, content in (("npy", arrays[number % 256]), ("cls", str(number % 10).encode())):
                    member = tarfile.TarInfo(f"{number:08d}.{field}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))


def varint(number):
    text = b""
    while number > 127:
        text += bytes([number & 127 | 128])
        number >>= 7
    return text + bytes([number])


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def example(image, label):
    features = {b"image": message(1, message(1, image)), b"label": message(3, message(1, varint(label)))}
    return message(1, b"".join(message(1, message(1, name) + message(2, value)) for name, value in features.items()))


def make_records(folder, records):
    import numpy
    from slipway._crc32c import crc32c

    def masked(data):
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    images = numpy.random.default_rng(1).integers(0, 256, (256, *IMAGE), dtype=numpy.uint8)
    frames = []
    for number in range(2560):
        payload = example(images[number % 256].tobytes(), number % 10)
        length = struct.pack("<Q", len(payload))
        frames.append(length + masked(length) + payload + masked(payload))
    for part in range(FILES):
        with open(folder / f"train-{part}.tfrecord", "wb") as file:
            for number in range(part * records // FILES, (part + 1) * records // FILES):
                file.write(frames[number % 2560])


# ---- the side of Python


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7


def fields_of(data):
    """(number, content) of each field of a protobuf message: bytes, or a number."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        value, at = read_varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def parse_example(data):
    values = {}
    for _, features in fields_of(data):
        for _, entry in fields_of(features):
            (_, name), (_, feature) = fields_of(entry)
            (kind, values_of), = fields_of(feature)
            (_, value), = fields_of(values_of)
            packed = kind != 1 and isinstance(value, bytes)
            values[bytes(name)] = read_varint(value, 0)[0] if packed else value
    return values


def records_in(path):
    import torch

    with open(path, "rb") as file:
        while header := file.read(12):
            payload = file.read(struct.unpack("<Q", header[:8])[0])
            file.read(4)
            values = parse_example(payload)
            yield torch.frombuffer(bytearray(values[b"image"]), dtype=torch.uint8).reshape(IMAGE), values[b"label"]


def samples_in(path):
    import numpy
    import torch

    sample = {}
    with tarfile.open(path, "r|") as archive:
        for member in archive:
            key, _, field = member.name.partition(".")
            if sample.get("key", key) != key:
                yield torch.from_numpy(sample["npy"]), sample["cls"]
                sample = {}
            content = archive.extractfile(member).read()
            sample["key"] = key
            sample[field] = numpy.load(io.BytesIO(content)) if field == "npy" else int(content)
    yield torch.from_numpy(sample["npy"]), sample["cls"]


def python_loader(paths, read, batch, workers):
    import torch.utils.data

    class Parsed(torch.utils.data.IterableDataset):
        def __iter__(self):
            worker = torch.utils.data.get_worker_info()
            for path in paths if worker is None else paths[worker.id::worker.num_workers]:
                yield from read(path)

    return torch.utils.data.DataLoader(Parsed(), batch_size=batch, num_workers=workers, drop_last=True)


# ---- the measurement


def epoch_of(loader):
    """Seconds, and records that came."""
    begin, records = time.perf_counter(), 0
    for batch in loader:
        labels = (batch["label"] if "label" in batch else batch["cls"]) if isinstance(batch, dict) else batch[1]
        records += len(labels)
    return time.perf_counter() - begin, records


def rates_of(sides, epochs):
    """Side -> records a second in each epoch."""
    rates = {side: [] for side in sides}
    for epoch in range(-1, epochs):  # the first one warms up
        for side in sorted(sides, reverse=epoch % 2 == 1):
            seconds, records = epoch_of(sides[side])
            if epoch >= 0:
                rates[side].append(records / seconds)
    return rates


def first_batches(path, fields, batch, count):
    """Milliseconds from the opening of a dataset to its first batch."""
    import slipway.data.torch

    times = []
    for seed in range(count):
        begin = time.perf_counter()
        batches = slipway.data.torch.Batches(path, fields=fields, batch=batch, seed=seed)
        next(iter(slipway.data.torch.DataLoader(batches)))
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def stage(source, tier):
    """The folder of the staged copy."""
    program = TREE / "bin/slipway"
    environment = {**os.environ, "SLIPWAY_TIER_RAM": str(tier)}
    done = subprocess.run([program, "stage", "in", source, "--name", source.name, "--tier", "ram"], env=environment,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return next(path for path in tier.rglob("manifest.json") if source.name in str(path)).parent


def measure(name, folder, fields, read, arguments):
    import slipway.data.torch

    paths = sorted(path for path in folder.iterdir() if path.name.startswith("train-"))
    batches = slipway.data.torch.Batches(folder, fields=fields, batch=arguments.batch, seed=1)
    sides = {"python": python_loader(paths, read, arguments.batch, arguments.workers),
             "slipway": slipway.data.torch.DataLoader(batches)}
    rates = {side: statistics.median(values) for side, values in rates_of(sides, arguments.epochs).items()}
    first = statistics.median(first_batches(folder, fields, arguments.batch, 3 * arguments.epochs))
    return {"format": name, "python_records_per_s": round(rates["python"]), "first_batch_ms": round(first, 2),
            "slipway_records_per_s": round(rates["slipway"]), "ratio": round(rates["slipway"] / rates["python"], 2)}


def rows_of(arguments, folder):
    image = {"name": "image", "type": "uint8", "shape": list(IMAGE)}
    for name, make, fields, read in (("tfrecord", make_records, [image, "label"], records_in),
                                     ("webdataset", make_shards, ["npy", "cls"], samples_in)):
        source = folder / name
        source.mkdir()
        make(source, arguments.records)
        yield measure(name, stage(source, folder / "ram"), fields, read, arguments)


def print_table(result):
    print(f"{result['records']} records of {result['bytes']} bytes, batches of {result['batch']}, medians of "
          f"{result['epochs']} epochs in turns\n")
    print(f"{'FORMAT':<11} {'PYTHON':>10} {'SLIPWAY':>10} {'RATIO':>7} {'FIRST BATCH':>12}")
    for row in result["rows"]:
        print(f"{row['format']:<11} {row['python_records_per_s']:>8}/s {row['slipway_records_per_s']:>8}/s "
              f"{row['ratio']:>7.1f} {row['first_batch_ms']:>9.1f} ms")


def main():
    arguments = arguments_of(sys.argv[1:])
    try:
        import torch
    except ImportError:
        sys.exit("error: PyTorch is not installed for this Python\n  next: install python3-torch")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="slipway-bench-data-") as folder:
        rows = list(rows_of(arguments, pathlib.Path(folder)))
    result = {"schema": "slipway.bench.data/1", "records": arguments.records, "bytes": IMAGE[0] * IMAGE[1] * IMAGE[2],
              "batch": arguments.batch, "epochs": arguments.epochs, "workers": arguments.workers, "rows": rows}
    print(json.dumps(result)) if arguments.json else print_table(result)


if __name__ == "__main__":
    main()
