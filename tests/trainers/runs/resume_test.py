"""A training that was killed, stopped or continued ends with the bits of one that never was."""

import os
import signal

import pytest

from ranks_test import small
from waiting import wait_for

LONG = {"epochs": 3, "batch_size": 8}


def processes_below(pid):
    """The numbers of all descendants."""
    children = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                children.setdefault(int(file.read().rpartition(")")[2].split()[1]), []).append(int(entry))
        except (FileNotFoundError, ProcessLookupError):
            pass
    found, open_ends = [], [pid]
    while open_ends:
        found += (more := children.get(open_ends.pop(), []))
        open_ends += more
    return found


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def kill_everything(process):
    """The manager and all below it, at once: nobody can tidy up. Returns when all have ended."""
    os.kill(process.pid, signal.SIGSTOP)  # it starts no more
    below = processes_below(process.pid)
    for pid in (process.pid, *below):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
    wait_for(lambda: all(has_ended(pid) for pid in below), what="the end of all ranks")


def killed_before(step, place, *spec, **sections):
    """A run that was killed after a checkpoint of an earlier step, and the step of its newest one."""
    for name in ("killed1", "killed2", "killed3"):  # on a busy machine a training may end before the kill
        process = place.start(place.write(*spec, name, **sections))
        killed = lambda: next((run for run in place.runs() if run.folder.name.startswith(name)), None)
        wait_for(lambda: killed() and killed().checkpoints(), 60, "a checkpoint")
        kill_everything(process)
        left_off = int(killed().checkpoints()[-1].name.split("-")[1])
        if left_off < step:
            return killed(), left_off
    pytest.fail("it has always ended before it could be killed")


@pytest.mark.parametrize(("trainer", "gradients", "further"), [
    ("hepcnn", {}, {}),
    ("hepcnn", {"mode": "delayed", "lag": 2}, {"ema": 0.9}),
    ("hepcnn", {"accumulate": 2}, {}),
    ("cosmoflow", {"compress": "bf16"}, {}),
    ("resnet50", {}, {"ema": 0.9}),
])
def test_a_killed_training_ends_with_the_same_weights(place, make_data, trainer, gradients, further):
    data, args = small(make_data, trainer)
    args |= further
    sections = {"gradients": gradients, "checkpoint": {"every": "1ms", "keep": 2}}
    whole = place.run(trainer, data, {**args, **LONG}, 2, gradients=gradients)
    assert whole.phase == "succeeded", whole.said
    killed, left_off = killed_before(54 / gradients.get("accumulate", 1), place, trainer, data, {**args, **LONG}, 2,
                                     **sections)
    resumed = place.resume(killed)
    assert resumed.phase == "succeeded", resumed.said
    assert f", step {left_off}\n" in resumed.log()
    for file in ("model.pt", *(["averaged.pt"] if further else [])):
        assert resumed.weights(file) == whole.weights(file), file
    assert resumed.last("test_loss") == whole.last("test_loss")


@pytest.mark.parametrize("trainer", ["hepcnn", "cosmoflow", "resnet50"])
def test_a_cancelled_training_stops_within_a_step_and_leaves_a_checkpoint(place, make_data, trainer):
    data, args = small(make_data, trainer)
    process = place.start(place.write(trainer, data, {**args, "epochs": 100_000, "batch_size": 8, "report_every": 1}, 2))
    wait_for(lambda: place.runs() and place.runs()[0].values("train_loss"), 60, "a first step")
    place.answer("cancel", place.runs()[0].folder)
    process.wait(60)
    (run,) = place.runs()
    assert run.phase == "cancelled"
    last_step = int(run.checkpoints()[-1].name.split("-")[1])
    assert f"stopping as asked, after step {last_step}\n" in run.log()
    assert max(step for step, name, _ in run.lines() if name == "train_loss") == last_step
