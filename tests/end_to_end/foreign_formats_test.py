"""WebDataset shards, NumPy files and folders of images through the program: info, verify, convert, reshard, stage.

The files come from Python and its libraries, never from Slipway.
"""

import io
import json
import tarfile

import numpy
import pytest
from PIL import Image

import slipway.data as slipway_data

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


def labels_in(folder, **options):
    reader = slipway_data.open(folder, fields=["cls"], batch=4, seed=3, rank=0, world=1, **options)
    return [batch["cls"].tolist() for batch in reader]


def test_an_index_changes_nothing_but_the_start(slipway, shards, tmp_path):
    slipway("stage", "in", shards, "--name", "train", "--tier", "ram")
    staged = next((tmp_path / "ram").rglob("manifest.json")).parent
    manifest = json.loads((staged / "manifest.json").read_text())
    assert manifest["index"]["path"] == "records.index" and (staged / "records.index").is_file()
    assert labels_in(staged) == labels_in(shards) and len(labels_in(staged)) == 3
    samples = slipway_data.open(staged, payloads=True, order="in_order", rank=0, world=1, batch=12)
    cut = b"".join(payload.tobytes() for payload in next(iter(samples)).payloads)
    with tarfile.open(fileobj=io.BytesIO(cut + bytes(1024))) as archive:
        assert [(member.name, archive.extractfile(member).read()) for member in archive] == all_members(shards)
    shown = slipway.json("data", "index", staged)
    assert shown["records"] == 12 and shown["stored"] == "same"
    for path in (staged, staged / "manifest.json", staged / "records.index"):  # as an older Slipway has staged it
        path.chmod(0o700)
    (staged / "records.index").unlink()
    (staged / "manifest.json").write_text(json.dumps({**manifest, "index": None}))
    assert labels_in(staged) == labels_in(shards)


def test_a_dataset_becomes_shards_that_python_reads(slipway, tmp_path):
    pixels = numpy.arange(7 * 6, dtype="f4").reshape(7, 2, 3)
    numpy.savez(tmp_path / "a.npz", image=pixels, label=numpy.arange(7, dtype="u1"))
    command = ["data", "convert", "--from", tmp_path / "a.npz", "--to", "webdataset", "--shards", 2, tmp_path / "s/train"]
    assert slipway.json(*command)["format"] == "webdataset"
    members = all_members(tmp_path / "s")
    assert [name for name, _ in members[:3]] == ["00000000.cls", "00000000.image.npy", "00000001.cls"]
    arrays = numpy.stack([numpy.load(io.BytesIO(content)) for name, content in members if name.endswith("npy")])
    assert (arrays == pixels).all() and arrays.dtype == numpy.float32
    assert [int(content) for name, content in members if name.endswith("cls")] == list(range(7))
    before = {path: path.read_bytes() for path in (tmp_path / "s").iterdir()}
    slipway(*command)
    assert {path: path.read_bytes() for path in (tmp_path / "s").iterdir()} == before
    assert slipway.json("data", "verify", tmp_path / "s")["ok"]


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
    assert slipway.json("data", "reshard", folder, "--shards", 2, tmp_path / "n/t")["format"] == "numpy"
    with numpy.load(tmp_path / "n/t-00001-of-00002.npz") as half:
        assert half["y"].tolist() == [0, 1, 2, 3] and half["x"].dtype == numpy.float32 and half["x"].shape == (4, 2)
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
    slipway("data", "reshard", tmp_path / "photos", "--shards", 2, tmp_path / "packed/train")
    packed = all_members(tmp_path / "packed")
    assert [name for name, _ in packed[:3]] == ["00000000.class.bin", "00000000.cls", "00000000.jpg"]
    assert [content for name, content in packed if name.endswith("cls")] == [b"0", b"0", b"1", b"1"]
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
