"""slipway.data.torch over WebDataset shards, NumPy files and folders of images, as Python's own libraries write them."""

import io
import tarfile

import numpy
import pytest
import torch
from PIL import Image

import slipway.data
import slipway.data.torch
from slipway.errors import ArgumentError, FileError

LABELS = list(range(23))


@pytest.fixture(autouse=True)
def one_rank(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "SLIPWAY_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def png(label):
    picture = io.BytesIO()
    Image.new("RGB", (8, 6), (label, 0, 0)).save(picture, "PNG")
    return picture.getvalue()


def write_shard(path, samples, kind=tarfile.PAX_FORMAT, compressed=""):
    """`samples`: (key, {field: bytes})."""
    with tarfile.open(path, "w" + compressed, format=kind) as archive:
        for key, members in samples:
            for field, content in members.items():
                member = tarfile.TarInfo(f"{key}.{field}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def sample(label, key="{:04d}"):
    array = io.BytesIO()
    numpy.save(array, numpy.arange(label, label + 6, dtype="f4").reshape(2, 3))
    return key.format(label), {"png": png(label), "cls": str(label).encode(), "npy": array.getvalue()}


@pytest.fixture
def shards(tmp_path):
    for part, labels in enumerate((LABELS[:11], LABELS[11:])):
        write_shard(tmp_path / f"part-{part}.tar", [sample(label, f"part{part}/" + "{:04d}") for label in labels])
    return tmp_path


def label_of(sample):
    with Image.open(io.BytesIO(sample["png"])) as picture:
        assert picture.getpixel((0, 0)) == (int(sample["cls"]), 0, 0)
    return int(sample["cls"])


def test_fields_are_numbers_arrays_and_bytes(shards):
    reader = slipway.data.open(shards, batch=4, fields=["cls", "npy"], order="in_order")
    batch = next(iter(reader))
    assert batch["cls"].tolist() == [0, 1, 2, 3]
    assert batch["npy"].shape == (4, 2, 3) and batch["npy"][2, 0, 0] == 2
    assert reader.count == 23 and reader.describe(12).endswith("part-1.tar': record 1")


@pytest.mark.parametrize("workers", [0, 2])
def test_samples_come_as_bytes_in_the_order_of_the_reader(shards, workers):
    reader = slipway.data.open(shards, batch=4, seed=3, fields=["cls"])
    expected = [[batch["cls"].tolist() for batch in reader] for _ in range(2)]
    batches = slipway.data.torch.Batches(shards, batch=4, seed=3, payloads=True,
                                         transform=lambda values: [label_of(one) for one in values["samples"]])
    loader = slipway.data.torch.DataLoader(batches, num_workers=workers)
    assert [list(loader) for _ in range(2)] == expected
    assert sorted(sum(expected[0], [])) != sum(expected[0], []) != sum(expected[1], [])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_position_goes_on_with_another_number_of_ranks(shards, workers):
    def labels(values):
        return [label_of(one) for one in values["samples"]]

    batches = slipway.data.torch.Batches(shards, batch=4, seed=3, payloads=True, transform=labels)
    whole = sum(slipway.data.torch.DataLoader(batches, num_workers=workers), [])
    batches.position = {"epoch": 0, "records_done": 8}
    seen = []
    for rank in range(2):
        other = slipway.data.torch.Batches(shards, batch=2, seed=3, payloads=True, rank=rank, world=2, transform=labels)
        other.position = batches.position
        seen.append(list(slipway.data.torch.DataLoader(other, num_workers=workers)))
    assert [sorted(one + two) for one, two in zip(*seen)] == [sorted(whole[at:at + 4]) for at in (8, 12, 16)]


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_records_by_number_with_long_and_foreign_names(tmp_path, kind):
    keys = ["x" * 120 + "/" + "y" * 90, "plain"] + (["größe/ñ"] if kind != tarfile.USTAR_FORMAT else [])
    write_shard(tmp_path / "a.tar", [(key, {"cls": str(i).encode(), "seg.PNG": png(i)}) for i, key in enumerate(keys)], kind)
    records = slipway.data.torch.Records(tmp_path, payloads=True, order="in_order")
    for i, key in enumerate(keys):
        assert records[i] == {"cls": str(i).encode(), "__key__": key, "seg.png": png(i)}


def test_a_sample_of_another_form_is_named(tmp_path):
    write_shard(tmp_path / "a.tar", [sample(1), ("0002", {"png": png(2), "cls": b"2"})])
    with pytest.raises(FileError, match=r"a.tar': byte \d+: the sample '0002' has no member 'npy'"):
        slipway.data.open(tmp_path, fields=["cls"])
    write_shard(tmp_path / "a.tar", [sample(1)], compressed=":gz")
    with pytest.raises(FileError, match="compressed archive.*\n.*decompress it"):
        slipway.data.open(tmp_path / "a.tar", fields=["cls"])


def write_numpy(folder):
    for part, labels in enumerate((LABELS[:11], LABELS[11:])):
        numpy.savez(folder / f"part-{part}.npz", label=numpy.array(labels), image=numpy.ones((len(labels), 3), "f4"))


def write_webdataset(folder):
    for part, labels in enumerate((LABELS[:11], LABELS[11:])):
        write_shard(folder / f"part-{part}.tar", [sample(label) for label in labels])


def write_images(folder):
    """A class for each image, so that its label is its number."""
    for label in LABELS:
        (folder / f"{label:04d}").mkdir()
        (folder / f"{label:04d}/picture.png").write_bytes(png(label))


FORMATS = {"webdataset": (write_webdataset, "cls"), "numpy": (write_numpy, "label"), "images": (write_images, "label")}


class Labelled:
    """A dataset of one format, of which only the label is read."""

    def __init__(self, name, folder):
        write, self.field = FORMATS[name]
        self.folder = folder / name
        self.folder.mkdir()
        write(self.folder)

    def loader(self, workers=0, position=None, **options):
        batches = slipway.data.torch.Batches(self.folder, fields=[self.field], seed=3, **options)
        if position is not None:
            batches.position = position
        return slipway.data.torch.DataLoader(batches, num_workers=workers)

    def labels(self, loader):
        return [batch[self.field].tolist() for batch in loader]

    def order(self, epochs, **options):
        """What the reader gives to one rank."""
        reader = slipway.data.open(self.folder, fields=[self.field], seed=3, batch=1, **options)
        return [sum((batch[self.field].tolist() for batch in reader), []) for _ in range(epochs)]


@pytest.fixture(params=sorted(FORMATS))
def labelled(request, tmp_path):
    return Labelled(request.param, tmp_path)


@pytest.mark.parametrize("workers", [0, 2])
def test_every_format_is_shuffled_anew_in_each_epoch_and_the_same_with_workers(labelled, workers):
    expected = labelled.order(2)
    assert sorted(expected[0]) == sorted(expected[1]) == LABELS
    assert LABELS != expected[0] != expected[1]
    loader = labelled.loader(workers, batch=4, remainder="pad")
    assert [sum(labelled.labels(loader), [])[:23] for _ in range(2)] == expected
    in_order = slipway.data.open(labelled.folder, fields=[labelled.field], batch=23, order="in_order")
    assert next(iter(in_order))[labelled.field].tolist() == LABELS


def test_every_format_goes_on_behind_the_last_batch_and_on_other_ranks(labelled):
    whole = labelled.order(1)[0]
    loader = labelled.loader(2, batch=4)
    first = next(iter(loader))[labelled.field].tolist()
    position = loader.dataset.position
    assert first == whole[:4] and position == {"epoch": 0, "records_done": 4}
    for world, batch, workers in ((1, 4, 1), (2, 2, 0), (4, 1, 0)):
        ranks = [labelled.labels(labelled.loader(workers, position, batch=batch, rank=rank, world=world))
                 for rank in range(world)]
        steps = [sorted(sum(step, [])) for step in zip(*ranks)]
        assert steps == [sorted(whole[at:at + 4]) for at in (4, 8, 12, 16)]


def test_every_format_has_records_by_number(labelled):
    expected = labelled.order(2, rank=1, world=2)
    records = slipway.data.torch.Records(labelled.folder, fields=[labelled.field], seed=3, rank=1, world=2)
    for epoch in (1, 0):
        records.set_epoch(epoch)
        assert [int(records[at][labelled.field]) for at in range(len(records))] == expected[epoch]


def test_arrays_of_numpy_in_several_files(tmp_path):
    for part, labels in enumerate((LABELS[:11], LABELS[11:])):
        save = numpy.savez if part else numpy.savez_compressed
        save(tmp_path / f"part-{part}.npz", label=numpy.array(labels), image=numpy.outer(labels, numpy.ones(6)).astype(">f4"))
    batches = slipway.data.torch.Batches(tmp_path, batch=5, seed=3, fields=["label", {"name": "image", "shape": [2, 3]}])
    seen = []
    for batch in slipway.data.torch.DataLoader(batches):
        assert torch.equal(batch["image"][:, 1, 2], batch["label"].float())
        seen += batch["label"].tolist()
    assert len(seen) == 20 and set(seen) < set(LABELS)
    with pytest.raises(ArgumentError, match="is numpy: its records are read field by field"):
        slipway.data.open(tmp_path, payloads=True)


def test_numpy_files_are_shards_and_objects_are_refused(tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.arange(6).reshape(3, 2))
    numpy.save(tmp_path / "b.npy", numpy.arange(6, 14).reshape(4, 2))
    reader = slipway.data.open(tmp_path, batch=7, fields=["values"], order="in_order")
    assert next(iter(reader))["values"].tolist() == numpy.arange(14).reshape(7, 2).tolist()
    numpy.save(tmp_path / "b.npy", numpy.arange(4))
    with pytest.raises(FileError, match=r"b.npy' has the fields 'values' int64 \[\]; the files before it have 'values' int64 \[2\]"):
        slipway.data.open(tmp_path, fields=["values"])
    numpy.save(tmp_path / "b.npy", numpy.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match=r"b.npy' has the NumPy type '\|O'"):
        slipway.data.open(tmp_path, fields=["values"])
    numpy.save(tmp_path / "b.npy", numpy.asfortranarray(numpy.ones((4, 2))))
    with pytest.raises(FileError, match="b.npy' is in Fortran order"):
        slipway.data.open(tmp_path, fields=["values"])


def test_folders_of_images_are_classes(tmp_path):
    for name, label in (("cat", 3), ("ant", 7), ("bee", 9)):
        (tmp_path / name).mkdir()
        for i in range(2):
            (tmp_path / name / f"{i}.png").write_bytes(png(label + i))
    records = slipway.data.torch.Records(tmp_path, fields=["label"], payloads=True, order="in_order")
    assert [(int(one["label"]), one["record"]) for one in (records[i] for i in range(6))] == [
        (0, png(7)), (0, png(8)), (1, png(9)), (1, png(10)), (2, png(3)), (2, png(4))]
    (tmp_path / "cat" / "more").mkdir()
    (tmp_path / "cat" / "more" / "x.png").write_bytes(png(1))
    with pytest.raises(FileError, match="the folder of an image is its class"):
        slipway.data.open(tmp_path, fields=["label"])
