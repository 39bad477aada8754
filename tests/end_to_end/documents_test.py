"""The programs that stand in docs/, taken from there and run on two ranks as their pages say.

`<!-- file: FOLDER/NAME -->` before a block names it; `<!-- build: FOLDER -->` stands before what is typed.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["SLIPWAY_BUILD"])
PAGES = ("tutorials/first-own-program.md", "how-to/train-your-own-program.md", "how-to/train-a-c-or-cpp-program.md",
         "how-to/checkpoint-and-resume-your-program.md", "how-to/train-in-mixed-precision.md",
         "how-to/average-the-weights.md", "how-to/use-ddp-unchanged.md",
         "coming-from/horovod.md", "coming-from/cray-plugin.md")
BLOCK = re.compile(r"(?:<!-- (?P<what>file|build): (?P<name>\S+) -->\n)?"
                   r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
                   re.MULTILINE | re.DOTALL)


def blocks(page):
    return list(BLOCK.finditer((ROOT / "docs" / page).read_text()))


def examples():
    """Page and folder of each experiment."""
    return [(page, block["name"].split("/")[0]) for page in PAGES for block in blocks(page)
            if (block["name"] or "").endswith("/experiment.yaml")]


def write(page, folder, place):
    """The files of a folder; returns the lines that build it."""
    lines = []
    for block in blocks(page):
        if block["what"] == "file" and block["name"].startswith(folder + "/"):
            (place / block["name"].split("/", 1)[1]).write_text(block["text"])
        elif block["what"] == "build" and block["name"] == folder:
            lines = [line for line in block["text"].splitlines() if not line.startswith("slipway run")]
            assert len(lines) < len(block["text"].splitlines()), "the page does not say how it is run"
    return lines


def needs_torch(place):
    return any("torch" in file.read_text() for file in place.glob("*.py"))


@pytest.mark.parametrize("page, folder", examples())
def test_it_runs_as_the_page_says(page, folder, tmp_path):
    environment = {**os.environ, "PYTHON": sys.executable, "SLIPWAY_RUNS": str(tmp_path / "runs"),
                   "PKG_CONFIG_PATH": str(BUILD / "lib/pkgconfig"), "CMAKE_PREFIX_PATH": str(BUILD)}
    build = write(page, folder, tmp_path)
    if needs_torch(tmp_path):
        pytest.importorskip("torch", reason="torch is not installed for this Python (Debian: python3-torch)")
    for line in build:
        subprocess.run(["sh", "-e", "-c", line], cwd=tmp_path, env=environment, check=True)
    done = subprocess.run([BUILD / "bin/slipway", "run", "experiment.yaml", "--json"], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["metrics"]["loss"] < 0.01
    run, = (tmp_path / "runs").iterdir()
    assert (run / "attempt-1/rank-00001.log").exists(), "two ranks"


@pytest.mark.parametrize("page, folder, end, later_end, steps_after", [
    ("how-to/checkpoint-and-resume-your-program.md", "stops", "step < 300", "step < 400", [400]),
    ("how-to/checkpoint-and-resume-your-program.md", "pytorch", "0, 200)", "0, 203)", [200, 201, 202]),
    ("how-to/use-ddp-unchanged.md", "ddp", "0, 200)", "0, 203)", [200, 201, 202])])
def test_one_that_is_resumed_goes_on_from_its_checkpoint(page, folder, end, later_end, steps_after, tmp_path):
    write(page, folder, tmp_path)
    if needs_torch(tmp_path):
        pytest.importorskip("torch", reason="torch is not installed for this Python (Debian: python3-torch)")
    environment = {**os.environ, "PYTHON": sys.executable, "SLIPWAY_RUNS": str(tmp_path / "runs")}
    def slipway(*words):
        return subprocess.run([BUILD / "bin/slipway", *words], cwd=tmp_path, env=environment, check=True,
                              capture_output=True, text=True, timeout=120)
    slipway("run", "experiment.yaml")
    program = tmp_path / "train.py"
    assert end in program.read_text()
    program.write_text(program.read_text().replace(end, later_end))
    slipway("resume", "last", "--set", "checkpoint.keep=3")
    run, = (tmp_path / "runs").iterdir()
    steps = [json.loads(line)["step"] for line in (run / "attempt-2/metrics.jsonl").read_text().splitlines()]
    assert steps == steps_after, "the steps of the first attempt are not done again"


@pytest.mark.parametrize("page", PAGES)
def test_no_program_stands_there_that_is_not_run(page):
    for block in blocks(page):
        if block["language"] in ("c", "cpp", "python", "yaml", "cmake"):
            assert block["what"] == "file" or "untested" in block["text"], block["text"]


def test_the_migration_from_ddp_ends_at_a_program_that_is_run():
    one_word, migration = (block["text"] for block in blocks("coming-from/pytorch-ddp.md") if block["language"] == "diff")
    assert one_word in [block["text"] for block in blocks("how-to/use-ddp-unchanged.md")]
    after = "".join(line[1:] or line for line in migration.splitlines(keepends=True) if not line.startswith("-"))
    program, = (block["text"] for block in blocks("how-to/train-your-own-program.md")
                if block["name"] == "pytorch/train.py")
    assert after == program


def test_every_call_of_the_tables_is_there():
    """The first words of each row of the call by call tables, of the modules that the pages import."""
    torch = pytest.importorskip("torch", reason="torch is not installed for this Python (Debian: python3-torch)")
    assert torch
    sys.path.insert(0, str(BUILD / "lib/slipway/python"))
    import slipway
    import slipway.compat.cray as cray
    import slipway.compat.horovod.torch as horovod
    import slipway.torch
    for page, module in (("coming-from/horovod.md", horovod), ("coming-from/cray-plugin.md", cray)):
        text = (ROOT / "docs" / page).read_text()
        table = text[text.index("## Call by call"):text.index("## Around")]
        for row in (line.split(" | ") for line in table.splitlines() if line.startswith("| `")):
            if "not supported" in row[1] or "the same" == row[1].strip(" |"):
                continue
            for name in re.findall(r"`(\w+)\(", row[0]):
                assert hasattr(module, name), f"{page}: {name}"
        for name in re.findall(r"\bslipway\.((?:torch\.)?\w+)\(", table):
            owner = slipway.torch if name.startswith("torch.") else slipway
            assert hasattr(owner, name.removeprefix("torch.")), f"{page}: slipway.{name}"
