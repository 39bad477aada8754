"""Where two runs part that should have had the same bits: check sums of their gradients, from two ranks to `compare`.

The program is in plain numpy. A file outside of its repository, which no record of the code sees, makes rank 1 change
one number of a gradient at one step: as a node with a memory error would."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest
from slipway_here import Place

STEPS, STEP_OF_FAULT = 12, 6

TRAIN = """
import pathlib
import numpy, slipway

slipway.init()
names = {"conv.weight": 50, "conv.bias": 5, "fc.weight": 2000}
weights = {name: numpy.linspace(-1, 1, size, dtype=numpy.float32) for name, size in names.items()}
gradients = {name: numpy.zeros(size, numpy.float32) for name, size in names.items()}
team = slipway.Team("net", gradients)
generator = numpy.random.default_rng(slipway.rank())
for step in range(STEPS):
    for name, gradient in gradients.items():
        gradient[:] = weights[name] + generator.standard_normal(len(gradient), dtype=numpy.float32)
    if pathlib.Path("FAULT").exists() and slipway.rank() == 1 and step == STEP_OF_FAULT:
        gradients["conv.bias"][3] += 0.5
    team.gradients()
    for name, gradient in gradients.items():
        weights[name] -= numpy.float32(0.1) * gradient
    slipway.report(step, loss=float(sum(numpy.square(w).sum(dtype=numpy.float64) for w in weights.values())))
slipway.finalize()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sums")
    project = folder / "project"
    project.mkdir()
    here = Place(project)
    here.fault = folder / "fault"
    here.runs = folder / "runs"
    for name in ("GIT_DIR", "GIT_WORK_TREE", "OMP_NUM_THREADS"):
        here.environment.pop(name, None)
    here.environment |= {"SLIPWAY_RUNS": str(here.runs), "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1",
                         "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
                         "GIT_COMMITTER_EMAIL": "a@b"}
    text = TRAIN.replace("STEP_OF_FAULT", str(STEP_OF_FAULT)).replace("STEPS", str(STEPS))
    (project / "train.py").write_text(text.replace("FAULT", str(here.fault)))
    here.spec("launch: {engine: local, ranks_per_node: 2}", command=[sys.executable, "train.py"])
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", project, *words], check=True, env=here.environment)
    return here


@pytest.fixture(scope="module")
def equal(place):
    """Two runs with the same bits."""
    return run(place), run(place)


def run(place, every=2, is_faulty=False):
    """The folder of a run of two ranks."""
    place.fault.touch() if is_faulty else place.fault.unlink(missing_ok=True)
    return pathlib.Path(place.json("run", "spec.yaml", "--set", f"trace.sums={every}")["folder"])


def compared(place, *folders, status=0):
    return place.json("compare", *folders, status=status)["bits"][0], place.slipway("compare", *folders, status=status)


def test_two_equal_runs_have_the_same_sums(place, equal):
    first, second = equal
    bits, shown = compared(place, first, second)
    assert bits["expected"] and bits["parting"] is None, bits
    assert bits["sums"] == {"steps": STEPS // 2, "ranks": 2, "teams": 1, "parting": None, "remarks": []}
    assert f"the check sums of {STEPS // 2} steps are the same, ranks compared: 2" in shown
    header, *lines = map(json.loads, (first / "attempt-1" / "sums-00001.jsonl").read_text().splitlines())
    assert (header["schema"], header["rank"], header["ranks"], header["team"]) == ("slipway.sums/1", 1, 2, "net")
    assert [(tensor["name"], tensor["bytes"]) for tensor in header["tensors"]] == [
        ("conv.weight", 200), ("conv.bias", 20), ("fc.weight", 8000)]
    assert [line["step"] for line in lines] == list(range(0, STEPS, 2))
    other = [json.loads(line) for line in (first / "attempt-1" / "sums-00000.jsonl").read_text().splitlines()[1:]]
    assert [line["exchanged"] for line in lines] == [line["exchanged"] for line in other]
    assert all(mine["gradients"][i] != theirs["gradients"][i] for mine, theirs in zip(lines, other) for i in range(3))


def test_a_gradient_that_differs_on_one_rank_is_named(place, equal):
    first, second = equal[0], run(place, is_faulty=True)
    bits, shown = compared(place, first, second, status=1)
    assert bits["expected"], bits
    assert bits["sums"]["parting"] == {
        "step": STEP_OF_FAULT, "same_before": STEP_OF_FAULT - 2, "of": "gradient", "team": "net", "tensor": 1,
        "name": "conv.bias", "bytes": 20, "ranks": [1], "ranks_compared": 2, "ranks_of_job": 2}
    assert f"they part at step {STEP_OF_FAULT}: gradient of tensor 1 ('conv.bias') on rank 1\n" in shown
    assert f"the check sums up to step {STEP_OF_FAULT - 2} are the same" in shown


def test_between_two_sums_the_next_one_shows_what_the_update_spread(place):
    first, second = run(place, every=4), run(place, every=4, is_faulty=True)
    bits, _ = compared(place, first, second, status=1)
    parting = bits["sums"]["parting"]
    assert (parting["step"], parting["same_before"], parting["of"]) == (8, 4, "gradient")
    assert (parting["name"], parting["ranks"]) == ("conv.bias", [0, 1])


def test_a_wrong_exchange_is_told_from_a_wrong_gradient(place, equal, tmp_path):
    first = equal[0]
    second = shutil.copytree(equal[1], tmp_path / equal[1].name)
    for rank in (0, 1):
        file = second / "attempt-1" / f"sums-0000{rank}.jsonl"
        header, *lines = file.read_text().splitlines()
        for at in range(2, len(lines)):
            line = json.loads(lines[at])
            line["exchanged"][2] = "0123456789abcdef"
            lines[at] = json.dumps(line, separators=(",", ":"))
        file.write_text("\n".join([header, *lines]) + "\n")
    bits, shown = compared(place, first, second, status=1)
    assert (bits["sums"]["parting"]["of"], bits["sums"]["parting"]["step"]) == ("exchange", 4)
    assert "they part at step 4: exchange of tensor 2 ('fc.weight'), with equal gradients on every rank" in shown
    assert bits["parting"] is None


def test_without_sums_the_metrics_are_compared(place, equal):
    first, second = run(place, every=0), run(place, every=0, is_faulty=True)
    assert not list((first / "attempt-1").glob("sums-*"))
    bits, shown = compared(place, first, second, status=1)
    assert bits["sums"] is None and "check sums" not in shown
    assert f"they part at step {STEP_OF_FAULT}: loss" in shown
    bits, shown = compared(place, first, equal[0])
    assert bits["sums"]["remarks"] == [f"{first.name} has none: run it with trace.sums, too"]
    assert "has none: run it with trace.sums, too" in shown
