"""The reader from Python: arrays, epochs, positions, damage, and the examples of its page in docs/."""

import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

import slipway
import slipway.data

PAGE = "docs/how-to/read-records-from-python-or-c.md"


def crc32c(data):
    table = crc32c.__dict__.get("table")
    if table is None:
        table = []
        for value in range(256):
            for _ in range(8):
                value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
            table.append(value)
        crc32c.table = table
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def varint(number):
    out = b""
    while number >= 128:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def message(tag, content):
    return bytes([tag << 3 | 2]) + varint(len(content)) + content


def example(image, label):
    features = {"image": message(1, message(1, image)), "label": message(3, message(1, varint(label)))}
    entries = b"".join(message(1, message(1, name.encode()) + message(2, value)) for name, value in features.items())
    return message(1, entries)


def frame(record):
    length = struct.pack("<Q", len(record))
    return length + masked(length) + record + masked(record)


@pytest.fixture
def dataset(tmp_path):
    """Ten pictures of 2 x 3 bytes (label + place) in two files."""
    for part in range(2):
        records = [example(bytes(range(label, label + 6)), label) for label in range(part * 5, part * 5 + 5)]
        (tmp_path / f"part-{part}.tfrecord").write_bytes(b"".join(map(frame, records)))
    return tmp_path


FIELDS = [{"name": "image", "shape": [2, 3]}, "label"]


def labels_of(reader):
    return [int(label) for batch in reader for label in batch["label"][batch.valid]]


def test_batches_are_arrays_without_a_copy(dataset):
    with slipway.data.open(dataset, fields=FIELDS, batch=5, order="in_order", prefetch=1) as reader:
        assert reader.fields == {"image": (np.dtype("uint8"), (5, 2, 3)), "label": (np.dtype("int64"), (5,))}
        assert (reader.steps, reader.count) == (2, 10)
        assert reader.describe(3).endswith("': record 3")
        batch = reader.next()
        assert batch["label"].tolist() == [0, 1, 2, 3, 4] and batch.records.tolist() == [0, 1, 2, 3, 4]
        assert batch["image"][4].tolist() == [[4, 5, 6], [7, 8, 9]]
        assert batch["image"].base is not None and batch["image"].flags.writeable
        assert (batch.epoch, batch.step, batch.size, batch.valid_count) == (0, 0, 5, 5)
        assert "torch" not in sys.modules  # it is imported when it is asked for


def test_an_epoch_is_one_iteration_and_the_next_has_another_order(dataset):
    reader = slipway.data.open(str(dataset), fields=["label"], batch=2, seed=3)
    first, second = labels_of(reader), labels_of(reader)
    assert sorted(first) == sorted(second) == list(range(10)) and first != second
    again = slipway.data.open(dataset, fields=["label"], batch=2, seed=3, threads=1)
    assert labels_of(again) == first
    again.position = {"epoch": 1, "records_done": 4}
    assert labels_of(again) == second[4:]
    assert again.position == {"epoch": 2, "records_done": 0}


def test_ranks_share_the_records_and_padding_is_marked(dataset):
    seen = []
    for rank in range(3):
        reader = slipway.data.open(dataset, fields=FIELDS, batch=2, rank=rank, world=3, remainder="pad", epochs=1)
        batches = [(batch.size, batch.records.tolist(), batch.valid.tolist()) for batch in reader]
        assert len(batches) == 2
        seen += [record for _, records, valid in batches for record, good in zip(records, valid) if good]
        assert all((record == slipway.data.PADDING) != good
                   for _, records, valid in batches for record, good in zip(records, valid))
        assert reader.next() is None
    assert sorted(seen) == list(range(10))


def test_shares_of_the_run_are_read_by_the_ranks_of_their_node(dataset, tmp_path, monkeypatch):
    nodes = [{"name": f"n{node}", "directory": str(tmp_path / f"part-{node}.tfrecord"), "records": 5, "ranks": 2}
             for node in range(2)]
    shares = tmp_path / "train.shares.json"
    shares.write_text(json.dumps({"schema": "slipway.shares/1", "nodes": nodes}))
    monkeypatch.setenv("SLIPWAY_SHARES_TRAIN", str(shares))
    monkeypatch.setenv("WORLD_SIZE", "4")
    seen = []
    for rank in range(4):
        monkeypatch.setenv("SLIPWAY_DATA_TRAIN", nodes[rank // 2]["directory"])
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("LOCAL_RANK", str(rank % 2))
        reader = slipway.data.open("train", fields=["label"], remainder="pad", epochs=1, rank=rank, world=4)
        assert (reader.steps, reader.count) == (3, 10)
        for batch in reader:
            seen += batch.records[batch.valid].tolist()
            assert batch["label"][batch.valid].tolist() == batch.records[batch.valid].tolist()
        reader.position = {"epoch": 0, "records_done": 4}
        reader.next()
        position = reader.position
        assert position["records_done"] == 8 and len(position["shares"]) == 8
    assert sorted(seen) == list(range(10))
    with pytest.raises(slipway.errors.ArgumentError, match="nodes held other shares"):
        slipway.data.open(tmp_path / "part-0.tfrecord", fields=["label"]).position = position


def test_transforms_and_tensors(dataset):
    torch = pytest.importorskip("torch")
    transforms = [{"op": "normalise", "mean": [1], "std": [2]}, {"op": "flip", "probability": 1}]
    fields = [{"name": "image", "shape": [2, 3], "transforms": transforms}, "label"]
    with slipway.data.open(dataset, fields=fields, batch=2, order="in_order") as reader:
        tensors = reader.next().torch()
        assert tensors["image"].dtype == torch.float32
        assert tensors["image"][1, 0].tolist() == [1.0, 0.5, 0.0]
        assert tensors["label"].tolist() == [0, 1]


def test_whole_records_and_memory_of_the_caller(dataset):
    with slipway.data.open(dataset, payloads=True, batch=3, order="in_order") as reader:
        assert reader.next().payloads[2].tobytes() == example(bytes(range(2, 8)), 2)
    memory = [[np.zeros(5, "int64")] for _ in range(2)]
    with slipway.data.open(dataset, memory=memory, fields=["label"], batch=5, prefetch=1, order="in_order") as reader:
        batch = reader.next()
        assert memory[batch.slot][0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("array, words", [
    (np.zeros(4, "int64"), "has 32 bytes, a batch takes 40"), (np.zeros(10, "int64")[::2], "contiguous"),
    (np.zeros(5, "float64"), "has the type float64"), ([0] * 5, "NumPy arrays"),
    (np.frombuffer(bytes(40), "int64"), "may be written")])
def test_memory_that_batches_do_not_fit_into_is_refused(dataset, array, words):
    options = {"fields": ["label"], "batch": 5, "prefetch": 1, "order": "in_order"}
    with pytest.raises(slipway.ArgumentError, match=words):
        slipway.data.open(dataset, memory=[[np.zeros(5, "int64")], [array]], **options)
    with pytest.raises(slipway.ArgumentError, match="every slot"):
        slipway.data.open(dataset, memory=[[np.zeros(5, "int64")], []], **options)


def test_a_forked_child_does_not_wait_for_threads_it_does_not_have(dataset):
    reader = slipway.data.open(dataset, fields=["label"], batch=5)
    assert reader.next() is not None
    child = os.fork()
    if child == 0:
        status = 1
        try:
            reader.next()
        except slipway.ArgumentError as error:
            status = 0 if "after the fork" in str(error) else 2
        del reader
        os._exit(status)
    for _ in range(4000):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
    assert reader.next() is not None


def test_an_array_keeps_its_reader(dataset):
    values = slipway.data.open(dataset, fields=["label"], batch=10, order="in_order").next()["label"]
    assert values.tolist() == list(range(10))


def test_damage_is_an_error_or_counted(dataset):
    path = dataset / "part-0.tfrecord"
    data = bytearray(path.read_bytes())
    data[30] ^= 4
    path.write_bytes(data)
    with slipway.data.open(dataset, fields=["label"], batch=5, order="in_order") as reader:
        with pytest.raises(slipway.FileError, match="part-0.tfrecord': record 0"):
            reader.next()
    with slipway.data.open(dataset, fields=["label"], batch=5, order="in_order", on_corrupt="skip") as reader:
        assert labels_of(reader)[:3] == [1, 1, 2]
        assert (reader.stats.corrupt_records, reader.stats.replaced) == (1, 1)
        assert reader.stats.wait_s >= reader.stats.longest_wait_s >= 0
        assert reader.corrupt[0]["record"] == 0 and "CRC32C" in reader.corrupt[0]["reason"]


def test_options_and_positions_may_be_numbers_of_numpy(dataset):
    scaled = [{"op": "normalise", "mean": np.zeros(1), "std": np.full(1, 2.0)}]
    fields = [{"name": "image", "shape": np.array([2, 3]), "transforms": scaled}, "label"]
    reader = slipway.data.open(dataset, fields=fields, batch=np.int64(5), order="in_order")
    assert reader.next()["image"][4].tolist() == [[2, 2.5, 3], [3.5, 4, 4.5]]
    reader.position = {"epoch": np.int32(0), "records_done": np.uint64(5)}
    assert reader.next()["label"].tolist() == [5, 6, 7, 8, 9]


def test_what_is_wrong_is_said(dataset, monkeypatch):
    for options, words in [({"fields": ["x"]}, "it has: image, label"), ({"fields": ["label"], "bach": 1}, "'bach'"),
                           ({"fields": ["label"], "batch": 11}, "fewer than one batch")]:
        with pytest.raises(slipway.ArgumentError, match=words):
            slipway.data.open(dataset, **options)
    with pytest.raises(slipway.ArgumentError, match="is no number, text, list or dict"):
        slipway.data.open(dataset, fields=["label"], seed=object())
    with pytest.raises(slipway.FileError):
        slipway.data.open(dataset / "nowhere", fields=["x"])
    reader = slipway.data.open(dataset, fields=["label"])
    reader.close()
    reader.close()
    with pytest.raises(slipway.ArgumentError, match="closed"):
        reader.next()
    monkeypatch.setattr(slipway.data, "_library", None)
    monkeypatch.setenv("SLIPWAY_READER_LIBRARY", "/not/there.so")
    with pytest.raises(slipway.LibraryError, match="/not/there.so"):
        slipway.data.open(dataset, fields=["label"])


def test_the_launchers_name_rank_and_policy(dataset, monkeypatch):
    monkeypatch.setenv("SLIPWAY_DATA_TRAIN", str(dataset))
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("SLIPWAY_CONFIG", '{"data": {"train": {"remainder": "pad"}}}')
    with slipway.data.open("train", fields=["label"], batch=2, order="in_order") as reader:
        assert reader.steps == 3
        assert labels_of(reader) == [1, 3, 5, 7, 9]


def test_reading_needs_no_mpi(dataset):
    labels_of(slipway.data.open(dataset, fields=["label"]))
    assert "libmpi" not in pathlib.Path("/proc/self/maps").read_text()


def examples(language):
    text = pathlib.Path(os.environ["SLIPWAY_SOURCE"], PAGE).read_text()
    found = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found
    return found


def test_every_python_example_of_the_page_runs(dataset, monkeypatch, tmp_path):
    monkeypatch.setenv("SLIPWAY_DATA_TRAIN", str(dataset))
    monkeypatch.chdir(tmp_path)
    seen = []
    for text in examples("python"):
        exec(compile(text, PAGE, "exec"), {"train_step": lambda images, labels: seen.append(images.shape)})
    assert seen == [(2, 2, 3)] * 10


@pytest.mark.parametrize("language, compiler, standard", [("c", "cc", "c11"), ("cpp", "c++", "c++20")])
def test_every_compiled_example_of_the_page_compiles(language, compiler, standard):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    source = os.environ["SLIPWAY_SOURCE"]
    for text in examples(language):
        subprocess.run([compiler, f"-std={standard}", "-Wall", "-Werror", "-fsyntax-only", f"-I{source}",
                        f"-I{source}/staging/reader", "-x", "c++" if language == "cpp" else "c", "-"],
                       input=text, text=True, check=True)
