"""A checkpoint of another program is refused by name, and kept."""

import shutil

import pytest

from place import twin
from ranks_test import small

BOTH = [lambda trainer: trainer, twin]


def checkpoint_of(place, make_data, trainer, kind):
    """The newest one of a short training, and the run."""
    data, args = small(make_data, kind)
    run = place.run(trainer, data, {**args, "batch_size": 8, "epochs": 1})
    assert run.phase == "succeeded", run.said
    return run.checkpoints()[-1], run


def resume_from(place, run, checkpoint):
    """Goes on with `run` as if this had been its newest checkpoint."""
    given = run.folder / "checkpoints" / "step-000000009999"
    shutil.copytree(checkpoint, given)
    resumed = place.resume(run, "--set", "train.args.epochs=2")
    assert resumed.phase == "failed"
    assert (given / "manifest.json").exists(), "it is kept"
    return resumed.said


@pytest.mark.parametrize("ours", BOTH, ids=["c++", "python"])
@pytest.mark.parametrize("theirs", BOTH, ids=["of-c++", "of-python"])
def test_a_checkpoint_of_another_trainer_is_refused_by_name(place, make_data, ours, theirs):
    checkpoint, _ = checkpoint_of(place, make_data, theirs("cosmoflow"), "cosmoflow")
    _, run = checkpoint_of(place, make_data, ours("hepcnn"), "hepcnn")
    said = resume_from(place, run, checkpoint)
    assert (f"step-000000009999' is another program's: it was written by {theirs('cosmoflow')}, this is {ours('hepcnn')}: "
            "go on with the program that wrote it, or start afresh") in said


@pytest.mark.parametrize(("ours", "theirs"), [BOTH, BOTH[::-1]], ids=["c++", "python"])
def test_a_checkpoint_of_the_twin_is_refused_by_name(place, make_data, ours, theirs):
    checkpoint, _ = checkpoint_of(place, make_data, theirs("hepcnn"), "hepcnn")
    _, run = checkpoint_of(place, make_data, ours("hepcnn"), "hepcnn")
    said = resume_from(place, run, checkpoint)
    assert f"it was written by {theirs('hepcnn')}, this is {ours('hepcnn')}: go on with" in said


PROGRAM = """
import pathlib, slipway
slipway.init()
with slipway.checkpoint(3, 1) as folder:
    pathlib.Path(folder, "state.pt").write_text("mine")
    {more}
"""


@pytest.mark.parametrize("ours", BOTH, ids=["c++", "python"])
@pytest.mark.parametrize(("more", "files"), [
    ("", "state.pt"),
    ("pathlib.Path(folder, 'progress.json').write_text('[3]')", "progress.json, state.pt"),
], ids=["own-files", "a-name-of-ours"])
def test_a_checkpoint_of_an_unknown_program_is_told_by_its_files(place, make_data, tmp_path, ours, more, files):
    program = tmp_path / "mine.py"
    program.write_text(PROGRAM.format(more=more))
    data, _ = small(make_data, "hepcnn")
    theirs = place.run(["/usr/bin/python3", str(program)], data, {})
    assert theirs.phase == "succeeded", theirs.said
    _, run = checkpoint_of(place, make_data, ours("hepcnn"), "hepcnn")
    said = resume_from(place, run, theirs.checkpoints()[-1])
    assert f"is another program's: it was written by one that leaves {files}, this is {ours('hepcnn')}" in said
