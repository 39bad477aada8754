"""GPUs of this machine, shared out to the steps of a workflow. There need be none: what names them is a variable."""

import contextlib
import fcntl
import json
import os
import signal

import pytest

from gpus_test import VARIABLES
from waiting import wait_for
from workflow_test import Flow

SEARCH = {"objective": {"metric": "objective"}, "trials": 4, "sampler": "random", "space": {"x": {"uniform": [0, 1]}}}


class GpuFlow(Flow):
    def gpus(self, names):
        self.environment["CUDA_VISIBLE_DEVICES"] = names

    def step_of(self, script, ensemble=None, gpus_per_rank=1):
        """An experiment whose trials, or whose only rank, run `script`."""
        spec = {"launch": {"workdir": "spec", "gpus_per_rank": gpus_per_rank},
                "train": {"command": ["sh", "-c", f"{script}; echo FoM: 1"],
                          "metrics": {"from": "stdout", "pattern": r"FoM: (?<objective>\S+)"}}}
        if ensemble is not None:
            spec["ensemble"] = {**SEARCH, **ensemble}
        return {"experiment": spec}

    def write_steps(self, **steps):
        self.write(json.dumps({"name": "flow", "steps": steps}))

    def seen(self, name="seen"):
        return (self.folder / name).read_text().split()

    def lock_of(self, gpu):
        """As launcher/run/context/gpu_hold.cpp names it."""
        number = 0xcbf29ce484222325
        for byte in gpu.encode():
            number = (number ^ byte) * 0x100000001b3 % 2**64
        folder = self.folder / "gpu-locks"
        folder.mkdir(exist_ok=True)
        return open(folder / f"gpu-{number:016x}", "a+")

    @contextlib.contextmanager
    def held(self, gpu):
        """As another run holds it, until what this yields is called, and at most until the end."""
        with self.lock_of(gpu) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.truncate(0)
            lock.write("run other-1")
            lock.flush()
            yield lock.close

    def is_free(self, gpu):
        with self.lock_of(gpu) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    def waits(self, step, words):
        """Whether the journal says that the step waits so."""
        return any((entry.get("step"), entry.get("state"), entry.get("reason")) == (step, "ready", words)
                   for entry in self.entries())


@pytest.fixture
def flow(tmp_path):
    flow = GpuFlow(tmp_path)
    for name in VARIABLES:
        flow.environment.pop(name, None)
    flow.gpus("0")
    return flow


SEE = 'echo "$CUDA_VISIBLE_DEVICES" >> seen'


def test_an_ensemble_runs_one_trial_at_a_time_unless_it_says_otherwise(flow):
    flow.write_steps(search=flow.step_of(SEE, {}))
    document = flow.json("run", "flow.yaml")
    assert flow.states(document) == {"search": "done"} and flow.seen() == ["0"] * 4


def test_an_ensemble_takes_no_more_gpus_than_there_are(flow):
    flow.gpus("0,1")
    meets = f"{SEE}; n=0; while [ $(wc -l < seen) -lt 2 ] && [ $n -lt 3000 ]; do sleep 0.02; n=$((n+1)); done"
    flow.write_steps(search=flow.step_of(meets, {"parallel": 4}))
    document = flow.json("run", "flow.yaml")
    assert flow.states(document) == {"search": "done"} and set(flow.seen()) == {"0", "1"}
    flow.write_steps(search=flow.step_of(SEE, {"parallel": "auto"}, gpus_per_rank=2))
    assert flow.states(flow.json("run", "flow.yaml")) == {"search": "done"} and flow.seen()[-1] == "0,1"


def test_an_ensemble_without_gpus_for_one_trial_fails(flow):
    flow.write_steps(search=flow.step_of("true", {"parallel": 2}, gpus_per_rank=2))
    step, = flow.json("run", "flow.yaml", status=1)["steps"]
    assert "it needs 2 GPUs, and this machine has 1 (CUDA_VISIBLE_DEVICES=0)" in step["reason"]


def test_two_ensembles_of_one_trial_at_a_time_run_side_by_side(flow):
    flow.gpus("0,1")
    both = "touch {}; n=0; while [ ! -e {} ] && [ $n -lt 3000 ]; do sleep 0.02; n=$((n+1)); done; [ -e {} ]"
    flow.write_steps(one=flow.step_of(both.format("one", "two", "two"), {}),
                     two=flow.step_of(both.format("two", "one", "one"), {}))
    assert flow.states(flow.json("run", "flow.yaml")) == {"one": "done", "two": "done"}


def test_steps_see_all_gpus_where_no_step_asks_for_one(flow):
    flow.gpus("0,1")
    flow.write_steps(run=flow.step_of(SEE, gpus_per_rank=0), command={"command": ["sh", "-c", SEE]})
    flow.slipway("run", "flow.yaml")
    assert flow.seen() == ["0,1", "0,1"] and "GPU" not in flow.said


def test_a_run_without_gpus_beside_steps_with_some_is_warned_of(flow):
    see = 'echo "[$CUDA_VISIBLE_DEVICES]" >> seen'
    trainer = flow.step_of(see)
    del trainer["experiment"]["launch"]["gpus_per_rank"]
    other = {"command": ["true"], "resources": {"gpus": 1}}
    flow.write_steps(trainer=trainer, other=other)
    warning = "'trainer' sees no GPU: other steps ask for GPUs, and it does not; set launch.gpus_per_rank there"
    for command in ("plan", "run"):
        flow.slipway(command, "flow.yaml")
        assert flow.said.count(warning) == 1, flow.said
    assert flow.seen() == ["[]"]
    flow.environment["CUDA_VISIBLE_DEVICES"] = ""
    flow.slipway("plan", "flow.yaml")
    assert "sees no GPU" not in flow.said


def test_steps_are_given_the_gpus_that_other_runs_leave(flow):
    flow.gpus("0,1")
    hold = f"{SEE}; while [ ! -e end ]; do sleep 0.02; done"
    other = GpuFlow(flow.folder)
    other.environment = flow.environment
    other.write(json.dumps({"name": "other", "steps": {
        "step": {"command": ["sh", "-c", hold], "resources": {"gpus": 1}}}}), name="other.yaml")
    holder = other.start("run", "other.yaml")
    wait_for(lambda: (flow.folder / "seen").exists() and flow.seen())
    flow.write_steps(command={"command": ["sh", "-c", SEE], "resources": {"gpus": 1}},
                     run={**flow.step_of(SEE), "after": ["command"]})
    flow.slipway("run", "flow.yaml")
    (flow.folder / "end").touch()
    assert holder.wait(timeout=60) == 0
    assert flow.seen() == ["0", "1", "1"]


def test_a_run_waits_for_a_gpu_of_its_workflow_while_another_run_holds_the_rest(flow):
    flow.gpus("0,1")
    flow.write_steps(a=flow.step_of(SEE), b=flow.step_of(SEE))
    with flow.held("0"):
        assert flow.states(flow.json("run", "flow.yaml")) == {"a": "done", "b": "done"}
    assert flow.seen() == ["1", "1"]
    assert "b  ready: waits for 1 GPU: GPU 0 is held by run other-1" in flow.said


def test_a_step_waits_until_another_run_frees_a_gpu(flow):
    flow.write_steps(command={"command": ["sh", "-c", SEE], "resources": {"gpus": 1}}, run=flow.step_of(SEE))
    with flow.held("0") as free:
        run = flow.start("run", "flow.yaml", "--json")
        for step in ("command", "run"):
            wait_for(lambda: flow.waits(step, "waits for 1 GPU: GPU 0 is held by run other-1"))
        rows = {row["name"]: row for row in flow.json("status", "last")["steps"]}
        assert rows["run"]["state"] == "ready" and "GPU 0 is held by run other-1" in rows["run"]["reason"]
        free()
        out, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert flow.states(json.loads(out)) == {"command": "done", "run": "done"} and flow.seen() == ["0", "0"]


def test_ctrl_c_ends_a_workflow_that_waits_for_a_gpu(flow):
    flow.write_steps(run=flow.step_of(SEE))
    with flow.held("0"):
        run = flow.start("run", "flow.yaml")
        wait_for(lambda: flow.waits("run", "waits for 1 GPU: GPU 0 is held by run other-1"))
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        assert run.returncode == 130
    assert flow.states(flow.json("status", "last", status=130)) == {"run": "cancelled"}


def test_steps_that_wait_are_announced_once_whoever_holds_the_gpus(flow):
    """`two` starts in a look that comes after the change of the holder, and after the looks of the steps before it."""
    needs_gpu = {"command": ["true"], "resources": {"gpus": 1}}
    one = {"command": ["sh", "-c", "while [ ! -e go ]; do sleep 0.02; done"]}
    two = {"command": ["sh", "-c", "touch two"], "after": ["one"]}
    flow.write_steps(a=needs_gpu, b=needs_gpu, c=needs_gpu, one=one, two=two)
    with flow.held("0") as free:
        run = flow.start("run", "flow.yaml")
        for step in "abc":
            wait_for(lambda: flow.waits(step, "waits for 1 GPU: GPU 0 is held by run other-1"))
        with flow.lock_of("0") as lock:
            lock.truncate(0)
            lock.write("run other-2")
        (flow.folder / "go").touch()
        wait_for((flow.folder / "two").exists)
        free()
        _, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert [entry["step"] for entry in flow.entries() if entry.get("state") == "ready"] == ["a", "b", "c"]
    lines = [line.strip() for line in said.splitlines() if "GPU" in line]
    assert lines == ["3 steps wait for GPUs: GPU 0 is held by run other-1"]


def test_ctrl_c_ends_a_run_whose_waiting_process_was_killed(flow):
    """The run itself holds the GPU that its step needs."""
    step = flow.step_of("touch seen; while [ ! -e end ]; do sleep 0.02; done")
    flow.write_steps(run={**step, "retries": 2})
    manager = flow.start("run", "flow.yaml")
    wait_for((flow.folder / "seen").exists)
    manager.kill()
    manager.communicate(timeout=60)
    try:
        resumed = flow.start("resume", "last")
        wait_for(lambda: len(flow.processes("run")) == 2)
        os.kill(flow.processes("run")[1], signal.SIGKILL)
        wait_for(lambda: len(flow.processes("run")) == 3)
        resumed.send_signal(signal.SIGINT)
        _, said = resumed.communicate(timeout=60)
        assert resumed.returncode == 130 and "waits for" not in said, said
        wait_for(lambda: flow.is_free("0"))
    finally:
        (flow.folder / "end").touch()


def test_a_step_keeps_no_gpu_while_its_run_goes_on_elsewhere(flow):
    flow.write_steps(run=flow.step_of(f"[ -e go ] || exit 1; {SEE}; while [ ! -e end ]; do sleep 0.02; done"))
    flow.slipway("run", "flow.yaml", status=1)
    (flow.folder / "go").touch()
    run_of_step, = (file.parent for file in flow.run_of_flow().glob("steps/run/*/state.json"))
    try:
        with flow.held("0") as free:
            workflow = flow.start("resume", "last")
            wait_for(lambda: flow.waits("run", "waits for 1 GPU: GPU 0 is held by run other-1"))
            flow.gpus("1")
            by_hand = flow.start("resume", str(run_of_step))
            wait_for((flow.folder / "seen").exists)
            free()
        wait_for(lambda: len(flow.processes("run")) == 2)
        wait_for(lambda: flow.is_free("0"))
    finally:
        (flow.folder / "end").touch()
    _, said = workflow.communicate(timeout=60)
    assert workflow.returncode == 0 and "run  goes on in run" in said, said
    by_hand.communicate(timeout=60)
    assert by_hand.returncode == 0 and flow.seen() == ["1"]


def test_an_ensemble_starts_with_the_gpus_that_other_runs_leave(flow):
    flow.gpus("0,1")
    flow.write_steps(search=flow.step_of(SEE, {"parallel": 2}))
    with flow.held("0"):
        assert flow.states(flow.json("run", "flow.yaml")) == {"search": "done"}
    assert flow.seen() == ["1"] * 4


def test_two_workflows_at_the_same_time_have_gpus_of_their_own(flow):
    """Each has to see the other one at work."""
    flow.gpus("0,1")
    meet = "touch {0}; n=0; while [ ! -e {1} ] && [ $n -lt 3000 ]; do sleep 0.02; n=$((n+1)); done; [ -e {1} ]"
    runs = []
    for own, other in (("x", "y"), ("y", "x")):
        step = flow.step_of(f"{SEE}; {meet.format(own, other)}")
        flow.write(json.dumps({"name": own, "steps": {"step": step}}), name=f"{own}.yaml")
        runs.append(flow.start("run", f"{own}.yaml", "--runs-dir", f"runs-{own}"))
    for run in runs:
        said = run.communicate(timeout=150)
        assert run.returncode == 0, said
    assert sorted(flow.seen()) == ["0", "1"]


def test_a_run_keeps_its_gpu_when_its_workflow_is_killed_and_its_ranks_do_not(flow):
    flow.write_steps(run=flow.step_of("(ls -l /proc/self/fd; env) | grep -e gpu-locks/ -e GPU_LOCK_FDS > inherited;"
                                      " touch seen; while [ ! -e end ]; do sleep 0.02; done; touch ended"))
    run = flow.start("run", "flow.yaml")
    wait_for((flow.folder / "seen").exists)
    run.kill()
    run.communicate(timeout=60)
    was_free, inherited = flow.is_free("0"), (flow.folder / "inherited").read_text()
    (flow.folder / "end").touch()
    assert not was_free and inherited == ""
    wait_for(lambda: (flow.folder / "ended").exists() and flow.is_free("0"))
