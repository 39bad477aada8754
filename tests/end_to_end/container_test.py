#!/usr/bin/python3
"""Ranks and trials in a container, with the real ch-run and the real podman."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import container_image  # noqa: E402
import podman_here  # noqa: E402
from command_lines import command_lines  # noqa: E402
from waiting import wait_for  # noqa: E402

PROGRAM = pathlib.Path(os.environ["SLIPWAY_PROGRAM"])
PREFIX = PROGRAM.parent.parent
BIND = "launch.container.binds=[/usr/share:/inside]"
MARK = "$(cat /etc/inside)"

@pytest.fixture
def place(tmp_path, monkeypatch):
    """Of a user of ch-run, who has a directory as an image."""
    if not shutil.which("ch-run"):
        pytest.skip("the Debian package charliecloud is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("USER", raising=False)  # as in a job of a bare environment
    container_image.make(tmp_path / "image", [PREFIX])
    return tmp_path


@pytest.fixture(scope="session")
def podman(tmp_path_factory):
    """Settings under which podman runs here, with an image in its own storage."""
    folder = tmp_path_factory.mktemp("podman")
    try:
        settings = podman_here.settle(folder, container_image.make(folder / "image"))
    except podman_here.CannotRun as error:
        pytest.skip(str(error))
    yield settings
    podman_here.leave(settings)


@pytest.fixture(params=["charliecloud", "podman"])
def everyone(request, tmp_path, monkeypatch):
    """Of a user of either."""
    if request.param == "charliecloud":
        return request.getfixturevalue("place")
    for name, value in request.getfixturevalue("podman").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(place, command, launch=None, **sections):
    own = {"image": "image", "runtime": "charliecloud"}
    container = {**(own if (place / "image").exists() else podman_here.CONTAINER), "binds": container_image.BINDS}
    spec = {"name": "boxed", "launch": {"engine": "local", "workdir": "spec", "container": container, **(launch or {})},
            "train": {"command": command, "metrics": {"from": "stdout", "pattern": r"FoM: (?<objective>\S+)"}}, **sections}
    (place / "exp.yaml").write_text(json.dumps(spec))


def slipway(*words, status=0):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=100)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def shell(script):
    return ["sh", "-c", script]


def test_ranks_run_in_it_and_see_what_is_theirs(everyone):
    write(everyone, shell(f"echo {MARK}: $RANK of $WORLD_SIZE at $PWD; touch $SLIPWAY_OUTPUT_DIR/result.$RANK"), {"ranks_per_node": 2})
    said = slipway("run", "exp.yaml").stdout
    for rank in (0, 1):
        assert f"in the container: {rank} of 2 at {everyone}" in said
    (outputs,) = everyone.glob("runs/*/outputs")
    assert sorted(os.listdir(outputs)) == ["result.0", "result.1"]


def test_ranks_of_mpi_meet_in_it(everyone):
    write(everyone, [os.environ["SLIPWAY_TEST_WORLD"]], {"ranks_per_node": 2})
    said = slipway("run", "exp.yaml").stdout
    assert "0 2 " in said and "1 2 " in said


def test_trials_run_in_it(everyone):
    write(everyone, shell(f"[ \"{MARK}\" = 'in the container' ] && echo FoM: 1"),
          ensemble={"objective": {"metric": "objective", "goal": "minimize"}, "trials": 4, "sampler": "random",
                    "space": {"x": {"uniform": [0, 1]}}})
    slipway("run", "exp.yaml")
    best = json.loads(slipway("trials", "ls", "last", "--json").stdout)
    assert [trial["state"] for trial in best["trials"]] == ["complete"] * 4


def test_what_the_program_says_and_how_it_ends_is_known(everyone):
    write(everyone, shell("echo out of luck; exit 7"))
    done = slipway("run", "exp.yaml", status=1)
    assert "exit status 7" in done.stdout and "out of luck" in done.stdout


def processes_with(words):
    """Command lines that hold these words, alone or in those of a shell or a container."""
    all_lines = (line.decode(errors="replace").replace("\0", " ") for line in command_lines().values())
    return [line for line in all_lines if re.search(rf"\b{words}\b", line)]


def test_cancel_leaves_nothing_behind(everyone):
    sleeps = f"sleep 4{os.getpid():05}"  # for days
    write(everyone, shell(f"touch $SLIPWAY_SPEC_DIR/up; exec {sleeps}"))
    run = subprocess.Popen([PROGRAM, "run", "exp.yaml"], stdin=subprocess.DEVNULL)
    wait_for(lambda: (everyone / "up").exists() or run.poll() is not None)
    assert run.poll() is None
    run.terminate()
    assert run.wait(60) == 130
    wait_for(lambda: not processes_with(sleeps), what=lambda: f"the end of {processes_with(sleeps)}")


def test_plan_shows_the_words(place):
    write(place, shell("true"))
    (place / "image/inside").mkdir()
    shown = slipway("plan", "exp.yaml", "--set", BIND).stdout
    assert f"container  {place}/image, by charliecloud" in shown
    assert "ch-run " in shown and " --bind /usr/share:/inside " in shown
    planned = json.loads(slipway("plan", "exp.yaml", "--json").stdout)["container"]
    assert (planned["runtime"], planned["image"]) == ("charliecloud", f"{place}/image")


def refused(place, *words, status=3):
    done = slipway("run", "exp.yaml", *words, status=status)
    assert not (place / "runs").exists()
    return done.stderr


def test_what_is_not_there_is_said_before_anything_starts(place):
    write(place, shell("true"))
    assert f"there is no image '{place}/other'" in refused(place, "--set", "launch.container.image=./other")
    if not shutil.which("apptainer"):
        assert "apptainer is not on the PATH" in refused(place, "--set", "launch.container.runtime=apptainer")
    lacking = refused(place, "--set", BIND)
    assert "ch-run cannot bind into directories that the image lacks" in lacking
    assert f"mkdir -p {place}/image/inside" in lacking


def test_doctor_names_those_that_are_here(place):
    assert "charliecloud (" in slipway("doctor", status=0).stdout
