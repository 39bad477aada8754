#!/usr/bin/python3
"""HDF5 files by other writers (h5py, h5jam), sound and damaged, through the real program."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import textwrap
import zlib

import h5py
import numpy as np
import pytest

PROGRAM = os.environ["SLIPWAY_PROGRAM"]


class Slipway:
    """Runs the program in a folder; HDF5 finds no plugins there."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = dict(os.environ, HDF5_PLUGIN_PATH=str(folder / "no-plugins"), SLIPWAY_TIER_RAM=str(folder / "ram"),
                                SLIPWAY_HDF5_SECONDS="1")

    def run(self, *words, status=0):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=120, errors="replace")
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        return done

    def json(self, *words, status=0):
        return json.loads(self.run(*words, "--json", status=status).stdout)

    def stage(self, *words, status=0):
        return self.run("stage", "in", "--tier", "ram", *words, status=status)

    def verdict(self, path, status=0):
        return self.json("data", "verify", path, status=status)["files"][0]

    def info(self, path):
        return self.json("data", "info", path)["files"][0]


@pytest.fixture
def slipway(tmp_path):
    return Slipway(tmp_path)


def flip(path, offset, bit=4):
    content = bytearray(path.read_bytes())
    content[offset] ^= bit
    path.write_bytes(content)


def make_summed(path):
    """Half of the values under Fletcher32. Returns where its fourth chunk lies."""
    with h5py.File(path, "w") as file:
        summed = file.create_dataset("summed", data=np.arange(2048.0).reshape(64, 32), chunks=(8, 32), fletcher32=True)
        file["plain"] = np.arange(64 * 32.0).reshape(64, 32)
        return summed.id.get_chunk_info(3).byte_offset


# ---- damage

def test_verify_full_finds_a_flipped_byte_under_fletcher32(slipway):
    path = slipway.folder / "a.h5"
    offset = make_summed(path)
    slipway.stage("--verify", "full", path)
    staged = sorted((slipway.folder / "ram").iterdir())
    flip(path, offset + 17)
    error = slipway.stage("--verify", "full", path, status=3).stderr
    assert "chunk at [24, 0] of the dataset 'summed'" in error and "Fletcher32" in error and str(path) in error
    assert [path for path in sorted((slipway.folder / "ram").iterdir()) if (path / "manifest.json").exists()] == [
        path for path in staged if (path / "manifest.json").exists()], "nothing new is published"


def test_verify_full_reads_files_in_place_too(slipway):
    path = slipway.folder / "a.h5"
    flip(path, make_summed(path) + 17)
    (slipway.folder / "exp.yaml").write_text(textwrap.dedent("""\
        name: damaged
        launch: {engine: local, ranks_per_node: 1}
        data: {train: {source: a.h5, format: hdf5, tier: none, verify: full}}
        train: {command: ['true']}
        """))
    assert "Fletcher32" in slipway.run("run", "exp.yaml", status=3).stderr


def test_staging_says_what_it_has_compared(slipway):
    path = slipway.folder / "a.h5"
    make_summed(path)
    assert "checksums inside the HDF5 files: compared, 16.4 kB of 32.8 kB" in slipway.stage("--verify", "full", path).stdout
    assert "not compared; --verify full compares them" in slipway.stage(path).stdout
    verdict = slipway.verdict(path)
    assert verdict["checksums"]["unsummed_bytes"] == 64 * 32 * 8
    assert verdict["checksums"]["summed_bytes"] > 64 * 32 * 8


def write_spec(slipway, more="tier: none", site=""):
    (slipway.folder / "exp.yaml").write_text(textwrap.dedent(f"""\
        name: full
        launch: {{engine: local, ranks_per_node: 1}}
        data: {{train: {{source: data, format: hdf5, verify: full, {more}}}}}
        train: {{command: ['true']}}
        {site}
        """))


def write_stream_spec(slipway):
    """All of `data` goes through a tier that is too small for it."""
    (slipway.folder / "small").mkdir()
    write_spec(slipway, "tier: [small], overlap: true",
               f"site: {{tiers: {{small: {{path: {slipway.folder}/small, capacity: 3MB}}}}}}")
    assert "streams" in slipway.run("plan", "exp.yaml").stdout


def fill(slipway, **options):
    """Eight files of 200 kB. Returns each one's path with the place of its fourth chunk."""
    (slipway.folder / "data").mkdir()
    made = []
    for number in range(8):
        path = slipway.folder / f"data/{number}.h5"
        with h5py.File(path, "w") as file:
            values = np.random.default_rng(number).random(25000)
            x = file.create_dataset("x", data=values, chunks=(2500,), **options)
            made.append((path, x.id.get_chunk_info(3).byte_offset))
    return made


def test_a_stream_with_verify_full_finds_a_flipped_byte(slipway):
    files = fill(slipway, fletcher32=True)
    write_stream_spec(slipway)
    assert "warning" not in slipway.run("run", "exp.yaml").stderr
    for path, offset in files:
        flip(path, offset + 17)
    error = slipway.run("run", "exp.yaml", status=3).stderr
    assert "chunk at [7500] of the dataset 'x'" in error and "Fletcher32" in error and str(slipway.folder / "data") in error


def test_a_run_warns_of_datasets_that_were_not_looked_at(slipway):
    fill(slipway, compression="lzf")
    write_spec(slipway)
    said = slipway.run("run", "exp.yaml").stderr
    for number in range(8):
        assert f"the checksums of '{number}.h5: x' were not compared: it needs the filter lzf (32000)" in said
    assert "hdf5-plugin-lzf" in said
    write_stream_spec(slipway)
    said = slipway.run("run", "exp.yaml").stderr
    assert ".h5: x' were not compared: it needs the filter lzf (32000)" in said and "hdf5-plugin-lzf" in said


@pytest.mark.parametrize("rows", [1 << 30, 1000])
def test_a_file_beyond_the_memory_limit_is_an_error_about_it(slipway, rows):
    """One chunk of 1 GiB: the helper needs memory for all rows that it reads, or only the library for the whole chunk."""
    slipway.environment.update(SLIPWAY_HDF5_MEMORY="600MB", SLIPWAY_HDF5_SECONDS="60")
    good, bad = slipway.folder / "good.h5", slipway.folder / "bad.h5"
    make_summed(good)
    pack = zlib.compressobj(1)
    chunk = b"".join(pack.compress(bytes(1 << 20)) for _ in range(1 << 10)) + pack.flush()
    with h5py.File(bad, "w") as file:
        x = file.create_dataset("x", shape=(rows,), maxshape=(None,), chunks=(1 << 30,), dtype="u1", compression="gzip")
        x.id.write_direct_chunk((0,), chunk)
    verdicts = slipway.json("data", "verify", good, bad, good, status=1)["files"]
    assert [verdict["ok"] for verdict in verdicts] == [True, False, True]
    for words in (("data", "verify", bad), ("stage", "in", "--tier", "ram", "--verify", "full", bad)):
        done = slipway.run(*words, status=1 if words[1] == "verify" else 3)
        said = done.stdout + done.stderr
        assert "bad.h5': the HDF5 library wants more memory than 600 MB" in said and "SLIPWAY_HDF5_MEMORY" in said
    slipway.environment["SLIPWAY_HDF5_MEMORY"] = "much"
    assert "SLIPWAY_HDF5_MEMORY='much' is not a size" in slipway.run("data", "info", good, status=1).stdout


# ---- sound files

@pytest.mark.parametrize("library", ["earliest", "latest"])
def test_values_of_any_length_in_one_piece_are_sound(slipway, library):
    path = slipway.folder / "a.h5"
    with h5py.File(path, "w", libver=library) as file:
        file.create_dataset("names", data=["a", "", "three"], dtype=h5py.string_dtype())
        file.create_dataset("lists", shape=(2,), dtype=h5py.vlen_dtype("i4"))[0] = [1, 2, 3]
        table = np.array([(1, "x", 0.5)] * 3, dtype=[("id", "i4"), ("name", h5py.string_dtype()), ("value", "f8")])
        file.create_dataset("table", data=table)
        file.create_dataset("links", data=[file["names"].ref, file["lists"].ref], dtype=h5py.ref_dtype)
    assert slipway.verdict(path)["ok"]
    slipway.stage("--verify", "full", path)


def test_strings_that_lead_nowhere_are_damage(slipway):
    path = slipway.folder / "a.h5"
    with h5py.File(path, "w") as file:
        names = file.create_dataset("names", data=["first", "second"], dtype=h5py.string_dtype())
        offset = names.id.get_offset()
    flip(path, offset + 4, 0xF0)  # the address of the heap
    assert "'names'" in slipway.verdict(path, status=1)["error"]["message"]


@pytest.mark.parametrize("block", [512, 4096, 65536])
@pytest.mark.parametrize("library", ["earliest", "latest"])
def test_a_user_block_is_sound(slipway, block, library):
    path = slipway.folder / "a.h5"
    with h5py.File(path, "w", userblock_size=block, libver=library) as file:
        file["x"] = np.arange(1000.0)
        file.create_dataset("y", data=np.arange(1000), chunks=(100,), compression="gzip")
    for verify in ("format", "full"):
        slipway.stage("--verify", verify, path)
    assert slipway.verdict(path)["records"] == slipway.info(path)["records"] == 1000
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert "truncated" in slipway.verdict(path, status=1)["error"]["message"]


def test_a_block_put_before_a_finished_file_is_sound(slipway):
    path, plain = slipway.folder / "a.h5", slipway.folder / "plain.h5"
    with h5py.File(plain, "w") as file:
        file["x"] = np.arange(1000.0)
    path.write_bytes(b"#" * 2048 + plain.read_bytes())  # as h5jam does
    slipway.stage("--verify", "full", path)
    assert slipway.verdict(path)["ok"]


def test_a_filter_that_is_not_installed_is_named_with_its_package(slipway):
    path = slipway.folder / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("packed", data=np.arange(1000).reshape(100, 10), chunks=(10, 10), compression="lzf")
    said = slipway.run("data", "verify", path).stdout
    assert "ok in part" in said and "needs the filter lzf (32000), which is not installed" in said and "hdf5-plugin-lzf" in said
    said = slipway.stage("--verify", "full", path).stdout
    assert "lzf (32000)" in said and "hdf5-plugin-lzf" in said
    for words in (("stats", path), ("convert", "--from", path, "--to", "tfrecord", slipway.folder / "out" / "t")):
        error = slipway.run("data", *words, status=3).stderr
        assert "the dataset 'packed' needs the filter lzf (32000)" in error and "hdf5-plugin-lzf" in error


def test_negative_int8_stays_negative_through_tfrecord(slipway):
    path = slipway.folder / "a.h5"
    values = np.array([[-1, 2], [-128, 127]], dtype="i1")
    with h5py.File(path, "w") as file:
        file["x"] = values
    slipway.run("data", "convert", "--from", path, "--to", "tfrecord", slipway.folder / "t")
    slipway.run("data", "convert", "--from", slipway.folder / "t-00000-of-00001.tfrecord", "--to", "hdf5", slipway.folder / "b.h5")
    with h5py.File(slipway.folder / "b.h5") as file:
        assert (file["x"][:] == values).all()


# ---- data info

def test_info_shows_files_with_unequal_rows(slipway):
    path = slipway.folder / "a.h5"
    with h5py.File(path, "w") as file:
        file["grid/lat"] = np.arange(7.0)
        file["x"] = np.arange(12.0).reshape(4, 3)
        file["names"] = np.array([b"one", b"two"])
        file["scale"] = 3.5
        file.create_group("empty")
    info = slipway.info(path)
    assert info["records"] is None
    assert [(d["name"], d["type"], d["shape"]) for d in info["layout"]] == [("grid/lat", "float64", [7]), ("x", "float64", [4, 3])]
    assert [other["name"] for other in info["others"]] == ["names", "scale"]
    text = slipway.run("data", "info", path).stdout
    assert "differ" in text and "x: float64 (4x3)" in text and "names: strings (2)" in text
    assert slipway.verdict(path)["records"] is None


def test_stats_says_how_many_rows_each_dataset_has(slipway):
    path = slipway.folder / "a.h5"
    with h5py.File(path, "w") as file:
        file["lat"] = np.arange(7.0)
        file["x"] = np.arange(12.0).reshape(4, 3)
    stats = slipway.json("data", "stats", path)
    assert stats["records"] is None
    assert {field["name"]: field["records"] for field in stats["fields"]} == {"lat": 7, "x": 4}
    said = slipway.run("data", "stats", path).stdout
    assert "have different numbers of rows" in said and str(path) in said
    assert slipway.run("data", "stats", path, "--quiet").stdout.strip() == "differ"


def test_info_shows_files_without_numbers(slipway):
    path = slipway.folder / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("names", data=["a", "b"], dtype=h5py.string_dtype())
    assert slipway.info(path)["others"][0]["name"] == "names"
    with h5py.File(path, "w"):
        pass
    assert slipway.info(path)["layout"] == []


# ---- files that crash the library, or keep it busy for ever

PLUGIN = """\
#include <stdlib.h>
#include <string.h>
#include <H5PLextern.h>
/* What the first bytes of a chunk ask for. */
static size_t undo(unsigned flags, size_t n, const unsigned *values, size_t bytes, size_t *size, void **chunk) {
  if (!(flags & H5Z_FLAG_REVERSE)) return bytes;
  if (memcmp(*chunk, "crash", 5) == 0) *(volatile int *)8 = 1;
  if (memcmp(*chunk, "abort", 5) == 0) abort();
  for (volatile int on = memcmp(*chunk, "spins", 5) == 0; on;) { }
  return bytes;
}
static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, 300, 1, 1, "moody", NULL, NULL, undo};
H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &filter; }
"""


@pytest.fixture(scope="module")
def moody(tmp_path_factory):
    """A folder with a filter that makes HDF5 crash where a damaged file says so."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "moody.c").write_text(PLUGIN)
    flags = subprocess.run(["pkg-config", "--cflags", "hdf5"], capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", *flags, "-o", folder / "libmoody.so", folder / "moody.c"], check=True)
    return folder


def make_moody(path, word):
    with h5py.File(path, "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((8,))
        properties.set_filter(300, h5py.h5z.FLAG_OPTIONAL)
        space = h5py.h5s.create_simple((16,))
        values = h5py.h5d.create(file.id, b"x", h5py.h5t.STD_U8LE, space, properties)
        values.write_direct_chunk((0,), b"content.", 0)
        values.write_direct_chunk((8,), word.ljust(8, b"."), 0)


ENDINGS = {b"crash": "crashed: signal 11 (SIGSEGV)", b"abort": "crashed: signal 6 (SIGABRT)",
           b"spins": "used 1 s of processor time without an end"}


@pytest.mark.parametrize("word", ENDINGS)
def test_a_crash_of_the_library_is_an_error_about_the_file(slipway, moody, word):
    slipway.environment["HDF5_PLUGIN_PATH"] = str(moody)
    good, bad = slipway.folder / "good.h5", slipway.folder / "bad.h5"
    make_moody(good, b"content")
    make_moody(bad, word)
    verdicts = slipway.json("data", "verify", good, bad, good, status=1)["files"]
    assert [verdict["ok"] for verdict in verdicts] == [True, False, True]
    for words in (("data", "stats", bad), ("data", "convert", "--from", bad, "--to", "tfrecord", slipway.folder / "out" / "t"),
                  ("stage", "in", "--tier", "ram", "--verify", "full", good, bad)):
        error = slipway.run(*words, status=3).stderr
        assert f"bad.h5': the HDF5 library {ENDINGS[word]} while it read" in error, error
        assert "probably damaged" in error


def make_base(path, library):
    """Chunks, heaps, B-trees, fractal heaps: what a writer makes of ordinary things."""
    numbers = np.random.default_rng(1)
    with h5py.File(path, "w", libver=library) as file:
        file.create_dataset("chunked", data=numbers.random((64, 32)), chunks=(8, 8), compression="gzip", shuffle=True)
        file.create_dataset("names", data=["a", "bb", "ccc"] * 10, dtype=h5py.string_dtype(), chunks=(5,))
        file.create_dataset("lists", data=["a", "bb", "ccc"] * 10, dtype=h5py.string_dtype())
        group = file.create_group("group")
        for i in range(30):
            group.create_dataset(f"d{i}", data=np.arange(i + 1))
        file["table"] = np.zeros(5, dtype=[("a", "i4"), ("b", "f8"), ("s", "S3")])
        file["x"] = np.arange(12.0).reshape(4, 3)
        file["x"].attrs["unit"] = "m"
        file.create_dataset("growing", data=np.arange(4), maxshape=(None,), chunks=(2,))
    return path.read_bytes()


def mutations(content, seed, count):
    """Cut in many places, and damaged in one to eight: most of them in what describes the file."""
    chance = random.Random(seed)
    for cut in range(1, 33):
        yield content[:len(content) * cut // 33]
    for _ in range(count):
        damaged = bytearray(content)
        for _ in range(chance.choice([1, 1, 2, 8])):
            at = chance.randrange(len(content) if chance.random() < 0.5 else min(4000, len(content)))
            damaged[at] = chance.choice([0, 255, 127, damaged[at] ^ 1 << chance.randrange(8), chance.randrange(256)])
        yield bytes(damaged)


@pytest.mark.parametrize("library", ["earliest", "latest"])
def test_every_damaged_file_gets_a_verdict(slipway, library):
    """Of such files about one in 500 crashes HDF5 1.10."""
    count = int(os.environ.get("SLIPWAY_HDF5_MUTATIONS", "300"))
    content = make_base(slipway.folder / "base.h5", library)
    assert slipway.verdict("base.h5")["ok"]
    folder = slipway.folder / "damaged"
    folder.mkdir()
    for number, damaged in enumerate(mutations(content, 1, count)):
        (folder / f"{number:05}.h5").write_bytes(damaged)
    files = sorted(folder.iterdir())
    verdicts = slipway.json("data", "verify", *files, status=1)["files"]
    assert [pathlib.Path(verdict["path"]) for verdict in verdicts] == files
    assert not any(verdict["ok"] for verdict in verdicts[:32]), "cut files"
    assert any(verdict["ok"] for verdict in verdicts), "damage where no checksum is"
    ended = [v["path"] for v in verdicts if not v["ok"] and ": the HDF5 library " in v["error"]["message"]]
    print(f"{library}: of {len(files)} files {len(ended)} ended the helper: {ended[:20]}")
    for path in ended[:3]:
        for words in (("data", "info", path), ("data", "stats", path), ("data", "convert", "--from", path, "--to", "tfrecord", "out/t"),
                      ("stage", "in", "--tier", "ram", "--verify", "full", path)):
            done = subprocess.run([PROGRAM, *words], cwd=slipway.folder, env=slipway.environment, capture_output=True, timeout=120)
            assert done.returncode in (0, 1, 2, 3), (words, done)
        shutil.rmtree(slipway.folder / "out", ignore_errors=True)
