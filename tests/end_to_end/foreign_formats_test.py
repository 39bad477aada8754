"""WebDataset shards, NumPy files and folders of images through the program: info, verify, convert, reshard, stage.

The files come from Python and its libraries, never from Slipway.
"""

import io
import json
import tarfile

import numpy
import pytest
from PIL import Image

pytest_plugins = ["foreign_data_test"]  # its fixture


def picture(label, kind):
    out = io.BytesIO()
    Image.new("RGB", (9, 7), (label, 0, 0)).save(out, kind)
    return out.getvalue()


def write_shard(path, members):
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def members_of(label):
    return [(f"{label:04d}.jpg", picture(label, "JPEG")), (f"{label:04d}.cls", str(label).encode())]


@pytest.fixture
def shards(tmp_path):
    for part, labels in enumerate((range(5), range(5, 12))):
        write_shard(tmp_path / f"shards/part-{part}.tar", sum((members_of(label) for label in labels), []))
    return tmp_path / "shards"


def all_members(folder):
    found = []
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as archive:
            found += [(member.name, archive.extractfile(member).read()) for member in archive]
    return found


def test_shards_are_shown_checked_cut_and_converted(slipway, shards, tmp_path):
    info = slipway.json("data", "info", shards)
    assert [(file["format"], file["records"]) for file in info["files"]] == [("webdataset", 5), ("webdataset", 7)]
    assert [field["name"] for field in info["files"][0]["fields"]] == ["__key__", "cls", "jpg"]
    assert [file["records"] for file in slipway.json("data", "verify", shards)["files"]] == [5, 7]
    slipway("data", "reshard", shards, "--shards", 3, tmp_path / "three/train")
    assert len(list((tmp_path / "three").iterdir())) == 3 and all_members(tmp_path / "three") == all_members(shards)
    assert slipway.json("data", "verify", tmp_path / "three")["ok"]
    slipway("data", "convert", "--from", shards, "--to", "tfrecord", "--shards", 2, tmp_path / "records/train")
    classes = {field["name"]: field for field in slipway.json("data", "stats", tmp_path / "records")["fields"]}["cls"]
    assert (classes["values"]["min"], classes["values"]["max"]) == (0, 11)
    assert slipway.json("data", "stats", shards)["records"] == 12


def test_keys_that_two_shards_have_are_not_put_into_one(slipway, tmp_path):
    for name in "ab":
        write_shard(tmp_path / f"shards/{name}.tar", members_of(1))
    done = slipway("data", "reshard", tmp_path / "shards", "--shards", 1, tmp_path / "one/train", code=3)
    assert "train-00000-of-00001.tar': byte" in done.stderr.decode()
    assert "the sample '0001' has two members 'jpg'" in done.stderr.decode()
    assert "two files of the source may have samples of one key" in done.stderr.decode()
    assert not list((tmp_path / "one").iterdir())
    write_shard(tmp_path / "halves/a.tar", members_of(1)[:1])
    write_shard(tmp_path / "halves/b.tar", members_of(1)[1:])
    done = slipway("data", "reshard", tmp_path / "halves", "--shards", 1, tmp_path / "one/train", code=3)
    assert "has 1 samples of 2: two files of the source have samples of one key" in done.stderr.decode()


def test_shards_are_staged_with_their_records(slipway, shards, tmp_path):
    staged = slipway.json("stage", "in", shards, "--name", "train", "--tier", "ram")
    manifest = json.loads(open(staged["manifest"]).read()) if "manifest" in staged else json.loads(
        next((tmp_path / "ram").rglob("manifest.json")).read_text())
    assert manifest["format"] == "webdataset" and [file["records"] for file in manifest["files"]] == [5, 7]
    torn = (shards / "part-1.tar").read_bytes()[:3000]
    (shards / "part-1.tar").write_bytes(torn)
    done = slipway("stage", "in", shards, "--name", "torn", "--tier", "ram", code=3)
    assert "is torn at byte 3000" in done.stderr.decode() and "copy it again" in done.stderr.decode()


def test_numpy_files(slipway, tmp_path):
    folder = tmp_path / "arrays"
    folder.mkdir()
    numpy.savez(folder / "a.npz", x=numpy.ones((3, 2), "f4"), y=numpy.arange(3))
    numpy.savez_compressed(folder / "b.npz", x=numpy.zeros((4, 2), "f4"), y=numpy.arange(4))
    assert [file["records"] for file in slipway.json("data", "info", folder)["files"]] == [3, 4]
    assert [file["format"] for file in slipway.json("data", "verify", folder)["files"]] == ["numpy", "numpy"]
    slipway("data", "convert", "--from", folder, "--to", "hdf5", tmp_path / "all.h5")
    assert slipway.json("data", "info", tmp_path / "all.h5")["records"] == 7
    assert "use 'slipway data convert" in slipway("data", "reshard", folder, "--shards", 2, tmp_path / "n/t",
                                                  code=2).stderr.decode()
    (folder / "b.npz").write_bytes((folder / "b.npz").read_bytes()[:-30])
    assert "b.npz' is a torn zip file" in slipway("stage", "in", folder, "--name", "x", "--tier", "ram",
                                                  code=3).stderr.decode()


def test_folders_of_images(slipway, tmp_path):
    for name, label in (("cat", 3), ("ant", 7)):
        folder = tmp_path / "photos" / name
        folder.mkdir(parents=True)
        (folder / "a.jpg").write_bytes(picture(label, "JPEG"))
        (folder / "b.png").write_bytes(picture(label, "PNG"))
    assert [file["format"] for file in slipway.json("data", "info", tmp_path / "photos")["files"]] == ["images"] * 4
    assert slipway.json("data", "verify", tmp_path / "photos")["ok"]
    slipway("stage", "in", tmp_path / "photos", "--name", "photos", "--tier", "ram")
    manifest = json.loads(next((tmp_path / "ram").rglob("manifest.json")).read_text())
    assert manifest["format"] == "images" and manifest["records"] == 4
    for name in ("cat/a.jpg", "cat/b.png"):
        path = tmp_path / "photos" / name
        path.write_bytes(path.read_bytes()[:-15])
        done = slipway("data", "verify", path, code=1)
        assert "is torn: " in done.stdout.decode() + done.stderr.decode()


def test_the_benchmark_compares_both_formats(slipway):
    result = slipway.json("bench", "data", "--records", 600, "--epochs", 1)
    assert (result["schema"], result["records"]) == ("slipway.bench.data/1", 600)
    assert [row["format"] for row in result["rows"]] == ["tfrecord", "webdataset"]
    assert all(row["ratio"] > 0 and row["first_batch_ms"] > 0 for row in result["rows"])
