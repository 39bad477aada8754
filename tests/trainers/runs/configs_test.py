"""The experiments of configs/: valid, planned, and running on data that the command in their comment makes."""

import json
import pathlib
import re
import shlex

import pytest

from place import Run, slipway_command

ROOT = pathlib.Path(__file__).resolve().parents[3]
CONFIGS = ROOT / "configs"
MAKE = re.compile(r"^#\s+slipway (data make .*)$", re.MULTILINE)


@pytest.fixture(params=["hepcnn", "cosmoflow", "resnet50"])
def config(request, tmp_path, monkeypatch):
    """With its data: less of it, otherwise as its comment says."""
    monkeypatch.setenv("SLIPWAY_DATA_ROOT", str(tmp_path / "data"))
    file = CONFIGS / f"{request.param}.yaml"
    (command,) = MAKE.findall(file.read_text())
    command = command.replace("${SLIPWAY_DATA_ROOT:-data}", str(tmp_path / "data"))
    words = shlex.split(re.sub(r"--train \d+ --test \d+", "--train 80 --test 20", command))
    assert "80" in words, "the comment says how many records are made"
    slipway_command(*words)
    return file


def test_is_valid_and_planned(config, tmp_path):
    slipway_command("validate", config)
    plan = json.loads(slipway_command("plan", config, "--json", "--engine", "local", cwd=tmp_path))
    assert plan["name"] == config.stem
    assert "mpirun" in json.dumps(plan)


def test_runs(config, tmp_path):
    answer = slipway_command("run", config, "--json", "--engine", "local", "--set", "train.args.epochs=1", cwd=tmp_path)
    run = Run(json.loads(answer))
    assert run.phase == "succeeded", run.said
    assert run.last("replicas_match") == 1
    assert run.values("test_loss")


@pytest.mark.parametrize("file", [file for file in sorted(CONFIGS.glob("*.yaml")) if MAKE.search(file.read_text())],
                         ids=lambda file: file.stem)
def test_the_command_in_its_comment_makes_the_data_where_it_looks_for_them(file):
    """As it is copied into a shell at the root of the repository, without SLIPWAY_DATA_ROOT."""
    text = file.read_text()
    (command,) = MAKE.findall(text)
    made = ROOT / shlex.split(command.replace("${SLIPWAY_DATA_ROOT:-data}", "data"))[3]
    sources = re.findall(r'source: "\$\{SLIPWAY_DATA_ROOT:-(\S+?)\}(\S+)/\S+"', text)
    assert len(sources) == 2
    for root, folder in sources:
        assert (CONFIGS / root).resolve() / folder.strip("/") == made.resolve()
