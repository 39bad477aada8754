"""A twin that is started by a Python without torch says which Python that is, and what to do."""

import subprocess

import pytest

from place import program, twin
from ranks_test import small


@pytest.fixture(scope="module")
def empty_python(tmp_path_factory):
    """A real one that has its standard library and nothing else."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder], check=True)
    return str(folder / "bin/python3")


@pytest.mark.parametrize("trainer", ["cosmoflow", "fashion", "hepcnn", "resnet50"])
def test_a_sentence_names_the_python_and_the_next_step(place, make_data, empty_python, trainer):
    data, _ = small(make_data, "hepcnn")
    command = program(twin(trainer), empty_python)["command"]
    run = place.run(command, data, {}, 2, resilience={"max_restarts": 0})
    assert run.phase == "failed"
    assert f"slipway.trainers: {empty_python} has no module torch: install it there, or name a Python" in run.said
    assert "Traceback" not in run.log()
