#!/usr/bin/python3
"""GPUs of this machine, shared out to ranks and trials. There need be none: what says so is a variable, as on a machine
whose user has picked some."""

import collections
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import gpu_locks  # noqa: E402

PROGRAM = pathlib.Path(os.environ["SLIPWAY_PROGRAM"])
VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
             "ZE_AFFINITY_MASK")
ONLY_AMD = os.path.exists("/dev/kfd") and not any(pathlib.Path("/dev").glob("nvidia[0-9]*"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    monkeypatch.setenv("SLIPWAY_GPU_LOCKS", str(tmp_path / "locks"))
    return tmp_path


def write(place, script, ensemble=None, **launch):
    spec = {"name": "gpus", "launch": {"engine": "local", "workdir": "spec", "gpus_per_rank": 1, **launch},
            "train": {"command": ["sh", "-c", script],
                      "metrics": {"from": "stdout", "pattern": r"FoM: (?<objective>\S+)"}}}
    if ensemble is not None:
        spec["ensemble"] = {"objective": {"metric": "objective"}, "trials": 12, "sampler": "random",
                            "space": {"x": {"uniform": [0, 1]}}, **ensemble}
        spec["resilience"] = {"max_restarts": 1}
    (place / "exp.yaml").write_text(json.dumps(spec))


def slipway(*words, status=0):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=100)
    assert status in (None, done.returncode), done.stdout + done.stderr
    return done


def trials():
    return json.loads(slipway("trials", "ls", "--json").stdout)["trials"]


def seen(place):
    """(trial, attempt, list of devices) of every rank."""
    lines = [line.split() for line in (place / "seen").read_text().splitlines()]
    return [(trial, attempt, gpus) for trial, attempt, _, gpus in lines]


def test_trials_run_four_at_a_time_each_with_its_own(place):
    # The first four wait for each other: fewer at a time would never end, more would hold a GPU twice.
    write(place, gpu_locks.hold("while [ $(wc -l < seen) -lt 4 ]; do sleep 0.02; done; sleep 0.1; echo FoM: 1"),
          {"parallel": 8})
    slipway("run", "exp.yaml")
    assert {trial["state"] for trial in trials()} == {"complete"}
    assert {gpus for _, _, gpus in seen(place)[:4]} == {"4", "5", "6", "7"}
    assert {gpus for _, _, gpus in seen(place)} == {"4", "5", "6", "7"}
    (attempt,) = json.loads(slipway("trials", "show", "0", "--json").stdout)["attempts"]
    assert attempt["place"].endswith("/gpu:" + {trial: gpus for trial, _, gpus in seen(place)}["00000"])


def test_one_that_is_tried_again_has_them_for_itself_too(place):
    write(place, gpu_locks.hold('sleep 0.05; [ "$SLIPWAY_ATTEMPT" = 2 ] && echo FoM: 1'), {"parallel": 4}, gpus_per_rank=2)
    slipway("run", "exp.yaml")
    assert [(trial["state"], trial["attempts"]) for trial in trials()] == [("complete", 2)] * 12
    assert {gpus for _, _, gpus in seen(place)} == {"4,5", "6,7"}


def test_ranks_of_a_trial_share_out_its_own(place):
    write(place, gpu_locks.hold("sleep 0.3; echo FoM: 1"), {"parallel": 4, "trials": 4}, ranks_per_node=2)
    slipway("run", "exp.yaml")
    assert {trial["state"] for trial in trials()} == {"complete"}
    of_trial = collections.defaultdict(set)
    for trial, _, gpus in seen(place):
        of_trial[trial].add(gpus)
    assert sorted(of_trial) == ["00000", "00001", "00002", "00003"]
    assert all(gpus in ({"4", "5"}, {"6", "7"}) for gpus in of_trial.values()), of_trial


@pytest.mark.skipif(ONLY_AMD, reason="AMD's variables count inside of each other")
def test_all_variables_are_set(place, monkeypatch):
    for name, value in zip(VARIABLES, ("0,1", "8,9", "2,3", "4,5", "6,7")):
        monkeypatch.setenv(name, value)
    say = "echo " + "/".join(f"${name}" for name in VARIABLES)
    write(place, f"{say} > rank.$RANK", ranks_per_node=2)
    slipway("run", "exp.yaml")
    assert (place / "rank.0").read_text() == "0/8/2/4/6\n"
    assert (place / "rank.1").read_text() == "1/9/3/5/7\n"
    write(place, f"{say} > alone")
    slipway("run", "exp.yaml")
    assert (place / "alone").read_text() == "0/8/2/4/6\n"
    write(place, f"{say} > alone", gpus_per_rank=0)
    slipway("run", "exp.yaml")
    assert (place / "alone").read_text() == "0,1/8,9/2,3/4,5/6,7\n"


def test_a_list_with_blanks_is_read_as_cuda_reads_it(place, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 1")
    write(place, "echo $CUDA_VISIBLE_DEVICES > rank.$RANK", ranks_per_node=2)
    slipway("run", "exp.yaml")
    assert [(place / f"rank.{rank}").read_text() for rank in (0, 1)] == ["3\n", "1\n"]


def test_plan_says_how_many_fit_and_what_limits_it(place):
    cores = len(os.sched_getaffinity(0))
    write(place, "true", {"parallel": 8})
    shown = slipway("plan", "exp.yaml").stdout
    assert "4 at a time on this machine, each with 1 of its 4 GPUs (CUDA_VISIBLE_DEVICES=4,5,6,7) and " in shown
    assert "the GPUs are the limit, parallel: 8 is more" in shown
    assert json.loads(slipway("plan", "exp.yaml", "--json").stdout)["trials_at_a_time"] == 4
    write(place, "true", {"parallel": "auto"}, gpus_per_rank=4)
    assert f"1 at a time on this machine, each with 4 of its 4 GPUs (CUDA_VISIBLE_DEVICES=4,5,6,7) and 1 of its {cores} cores" \
        in slipway("plan", "exp.yaml").stdout
    write(place, "true", {"parallel": "auto"}, gpus_per_rank=0, cpus_per_rank=cores)
    assert f"1 at a time on this machine, each with {cores} of its {cores} cores; the cores are the limit" \
        in slipway("plan", "exp.yaml").stdout


def test_more_than_there_are_is_an_error_before_anything_starts(place, monkeypatch):
    write(place, "true", {}, gpus_per_rank=3, ranks_per_node=2)
    for command in ("validate", "plan", "run"):
        said = slipway(command, "exp.yaml", status=3)
        assert "the ranks of a trial need 6 GPUs, and this machine has 4 (CUDA_VISIBLE_DEVICES=4,5,6,7)" in \
            said.stdout + said.stderr
    assert not (place / "runs").exists()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert "and this machine has none" in slipway("run", "exp.yaml", status=3).stderr
    assert slipway("run", "exp.yaml", "--set", "launch.gpus_per_rank=0", "--set", "launch.ranks_per_node=1", status=1)


def test_what_a_spec_sets_for_all_ranks_cannot_be_each_ranks_own(place):
    for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        write(place, "true", env={name: "0"})
        assert f"{name} is set for each rank by launch.gpus_per_rank" in slipway("validate", "exp.yaml", status=2).stderr
    slipway("validate", "exp.yaml", "--set", "launch.gpus_per_rank=0")


@contextlib.contextmanager
def running(place, name, **launch):
    """A run that goes on until `name`.end exists, with the GPUs that it sees."""
    seen = place / f"{name}.gpus"
    write(place, f"echo $CUDA_VISIBLE_DEVICES > {seen}.new; mv {seen}.new {seen};"
                 f" while [ ! -e {place}/{name}.end ]; do sleep 0.02; done", **launch)
    run = subprocess.Popen([PROGRAM, "run", "exp.yaml", "--runs-dir", name], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not seen.exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert seen.exists(), run.communicate()
    try:
        yield run, seen.read_text().strip()
    finally:
        (place / f"{name}.end").touch()
        run.communicate(timeout=60)


def test_runs_at_the_same_time_have_gpus_of_their_own(place):
    with running(place, "one") as (_, first), running(place, "two", gpus_per_rank=2) as (_, second):
        assert (first, second) == ("4", "5,6")
        write(place, "true", gpus_per_rank=2)
        said = slipway("run", "exp.yaml", status=3).stderr
        assert "2 GPUs are needed, and 1 free: GPU 4 is held by run gpus-" in said and "GPU 6 is held by run gpus-" in said
        assert "wait until that run has ended, or name other GPUs in CUDA_VISIBLE_DEVICES" in said
        write(place, "true", gpus_per_rank=0)
        slipway("run", "exp.yaml")
    with running(place, "three", gpus_per_rank=4) as (_, third):
        assert third == "4,5,6,7"


def test_an_ensemble_goes_on_with_the_gpus_that_are_free(place):
    with running(place, "one", gpus_per_rank=2):
        write(place, gpu_locks.hold("sleep 0.1; echo FoM: 1"), {"parallel": 4})
        slipway("run", "exp.yaml")
        assert {gpus for _, _, gpus in seen(place)} == {"6", "7"}


def test_a_killed_manager_holds_no_gpu(place):
    with running(place, "one", gpus_per_rank=4) as (run, _):
        run.kill()
        run.wait()
        with running(place, "two") as (_, gpus):
            assert gpus == "4"


def test_a_run_inside_of_a_run_has_the_gpus_of_that_one(place):
    inner = {"name": "inner", "launch": {"engine": "local", "workdir": "spec", "gpus_per_rank": 1},
             "train": {"command": ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES > inner.gpus"]}}
    (place / "inner.yaml").write_text(json.dumps(inner))
    write(place, f"{PROGRAM} run inner.yaml")
    slipway("run", "exp.yaml")
    assert (place / "inner.gpus").read_text() == "4\n"


def test_doctor_says_what_was_found_and_where(place):
    checks = json.loads(slipway("doctor", "--json", status=None).stdout)["checks"]
    (gpus,) = [check["findings"] for check in checks if check["check"] == "gpus"]
    assert [(finding["grade"], finding["text"]) for finding in gpus] == [("ok", "4 (CUDA_VISIBLE_DEVICES=4,5,6,7)")]
