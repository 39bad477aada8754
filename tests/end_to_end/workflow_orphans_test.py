"""Experiments that go on when the manager of their workflow is killed, and what `resume` does with them."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from waiting import wait_for
from workflow_test import Flow
from workflow_trouble_test import wait_until_said

pytest_plugins = ["workflow_test"]  # its fixtures

# It has an output, which it writes at once and no second time.
MODEL = {"lines": ["outputs: {model: m.pt}"], "args": "{model: '${outputs.model}'}"}


class Trained(Flow):
    """A workflow whose experiment trains until there is a file `go`, or it is told to stop."""

    def __init__(self, folder):
        super().__init__(folder)
        self.step("")
        self.program("if '--model' in sys.argv: open(sys.argv[sys.argv.index('--model') + 1], 'x').write('weights')\n"
                     "open('began', 'a').write(f\"{os.environ.get('CUDA_VISIBLE_DEVICES')} {os.getpid()}\\n\")\n"
                     "while not os.path.exists('go'):\n"
                     "    if os.path.exists(os.environ['SLIPWAY_STOP_FILE']): sys.exit(75)\n"
                     "    time.sleep(0.05)\n"
                     "if os.path.exists('fail'): sys.exit(os.remove('fail') or 3)\n"
                     "report(1, loss=1.0)\n")

    def experiment(self, lines=(), launch="workdir: spec", args="{}", others=""):
        more = "".join(f"    {line}\n" for line in lines)
        self.write(f"name: flow\nsteps:\n{others}  train:\n{more}    experiment:\n"
                   f"      train: {{command: {json.dumps([sys.executable, 'train.py'])}, args: {args}}}\n"
                   f"      launch: {{{launch}}}\n")

    def began(self):
        """How often the training has begun: its GPUs and its process."""
        file = self.folder / "began"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def is_training(self):
        return os.path.exists(f"/proc/{self.began()[-1][1]}/cwd")

    def of_train(self):
        """The folder of the experiment's run."""
        folder, = (entry.parent for entry in self.run_of_flow().glob("steps/train/*/state.json"))
        return folder

    def state(self, folder=None):
        return json.loads(((folder or self.of_train()) / "state.json").read_text())

    def begin_and_kill(self, condition=None):
        """Starts the workflow and kills its manager once the training has begun."""
        manager = self.start("run", "flow.yaml")
        wait_for(lambda: self.began() and (condition is None or condition()))
        wait_for(lambda: self.state()["phase"] == "running")
        manager.kill()
        manager.communicate()
        assert self.json("status", status=1)["phase"] == "lost" and self.is_training()
        return self.state()["manager"]

    def wait_until_resumed(self):
        wait_for(lambda: self.state(self.run_of_flow())["attempt"] == 2)
        wait_for(lambda: self.states(self.json("status", "last"))["train"] == "running")

    def kill_waits(self, count):
        """Kills the processes that wait for the run, one after the other. Its manager was the first of the step."""
        for killed in range(count):
            wait_for(lambda: len(self.processes("train")) == killed + 2)
            os.kill(self.processes("train")[-1], signal.SIGKILL)

    def model(self):
        """What the step has published as its output."""
        return (self.run_of_flow() / "steps/train/result/outputs/m.pt").read_text()

    @contextlib.contextmanager
    def no_wait_starts(self, disk):
        """The log of the step lies on a disk without room for a file, so no process of it can start."""
        log = self.run_of_flow() / "steps/train/log"
        log.unlink()
        log.symlink_to(disk / "log")
        subprocess.run(["mount", "-o", "remount,nr_inodes=1", disk], check=True)
        yield
        subprocess.run(["mount", "-o", "remount,nr_inodes=100", disk], check=True)

    def starts(self, attempt):
        """How often a start of this attempt was recorded."""
        return sum(entry.get("state") == "running" and entry["attempt"] == attempt for entry in self.entries())

    def go(self):
        (self.folder / "go").touch()

    def end(self):
        """Whatever a failed test has left."""
        self.go()
        for file in self.folder.glob("runs/*/steps/*/*/state.json"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(json.loads(file.read_text())["manager"]["pid"], signal.SIGKILL)


@pytest.fixture
def flow(tmp_path):
    flow = Trained(tmp_path)
    yield flow
    flow.end()


def test_resume_waits_for_an_experiment_that_goes_on(flow):
    flow.experiment(**MODEL)
    manager = flow.begin_and_kill()
    resumed = flow.start("resume", "last", "--json")
    flow.wait_until_resumed()
    assert flow.is_training() and flow.state()["manager"] == manager
    flow.go()
    out, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0 and "train  goes on in run" in err, err
    assert flow.states(json.loads(out)) == {"train": "done"}
    assert flow.state()["manager"] == manager and flow.state()["attempt"] == 1 and len(flow.began()) == 1
    assert flow.model() == "weights"


def test_status_of_a_lost_workflow_says_what_became_of_its_steps(flow):
    flow.experiment(**MODEL, others=f"  last: {{command: [{sys.executable}, step.py], after: [train]}}\n"
                    "  loop: {command: [sh, -c, 'while ! test -e go; do sleep 0.05; done']}\n")
    flow.begin_and_kill(lambda: flow.processes("loop"))
    run = flow.of_train().name

    def look():
        return {step["name"]: (step["state"], step["reason"]) for step in flow.json("status", status=1)["steps"]}

    steps = look()
    assert steps["train"] == ("running", f"its run {run} goes on under its own manager")
    assert steps["last"] == ("waiting", "")
    assert steps["loop"] == ("running", "its program still runs; resume ends it and starts the step again")
    flow.go()
    wait_for(lambda: flow.state()["phase"] == "succeeded")
    wait_for(lambda: look()["loop"] == ("waiting", "its program is gone; resume starts the step again"))
    assert look()["train"] == ("waiting", f"its run {run} is succeeded; resume takes it up")


def test_outputs_of_an_experiment_that_succeeded_without_its_workflow_are_kept(flow):
    flow.experiment(**MODEL)
    flow.begin_and_kill()
    flow.go()
    wait_for(lambda: flow.state()["phase"] == "succeeded")
    assert flow.states(flow.json("resume", "last")) == {"train": "done"}
    assert flow.model() == "weights" and len(flow.began()) == 1


def test_a_step_has_not_failed_when_the_wait_for_its_experiment_is_killed(flow):
    flow.experiment(**MODEL)
    manager = flow.begin_and_kill()
    resumed = flow.start("resume", "last", "--json")
    flow.kill_waits(2)
    wait_for(lambda: len(flow.processes("train")) == 4)
    flow.go()
    out, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, err
    said = f"train  waits again for run {flow.of_train().name}: 'slipway wait' was killed by signal 9 (SIGKILL)"
    assert err.count(said) == 2 and err.count("goes on in run") == 1, err
    assert flow.states(json.loads(out)) == {"train": "done"}
    assert flow.state()["manager"] == manager and len(flow.began()) == 1
    assert flow.model() == "weights"


@pytest.mark.parametrize("retries", [0, 1])
def test_a_run_that_fails_before_the_next_wait_is_no_further_attempt(flow, small_disk, retries):
    flow.experiment([f"retries: {retries}"])
    flow.begin_and_kill()
    resumed = flow.start("resume", "last", "--json")
    wait_for(lambda: len(flow.processes("train")) == 2)
    with flow.no_wait_starts(small_disk):
        flow.kill_waits(1)
        wait_for(lambda: flow.json("status", "last")["paused"])
        (flow.folder / "fail").touch()
        flow.go()
        wait_for(lambda: flow.state()["phase"] == "failed")
        wait_for(lambda: flow.starts(2) >= 3 * retries)  # a start that is tried again is one attempt
    out, err = resumed.communicate(timeout=60)
    step, = json.loads(out)["steps"]
    assert step["state"] == ("done" if retries else "failed"), err
    assert step["attempt"] == 1 + retries and len(flow.began()) == 1 + retries, err
    assert err.count("waits again for run") == 1 and err.count("failed and starts again") == retries, err


def test_a_run_that_stands_still_is_announced(flow):
    flow.experiment()
    run = flow.start("run", "flow.yaml")
    wait_for(lambda: flow.began() and flow.state()["phase"] == "running")
    note = flow.of_train() / ".pause"
    blank = note.read_text()
    full = {"cause": "disk_full", "reason": "no space left", "since": "2026-01-01T00:00:00Z"}
    note.write_text(json.dumps(full).ljust(len(blank) - 1) + "\n")  # as its manager writes it
    wait_until_said(run, "step 'train': paused since 2026-01-01T00:00:00Z: no space left; ")
    note.write_text(blank)
    wait_until_said(run, "train  goes on")
    flow.go()
    _, err = run.communicate(timeout=60)
    assert run.returncode == 0, err


def test_waits_that_are_killed_at_once_come_to_an_end(flow):
    flow.experiment()
    flow.begin_and_kill()
    resumed = flow.start("resume", "last", "--json")
    flow.kill_waits(11)
    out, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 1 and err.count("waits again for run") == 10, err
    assert flow.states(json.loads(out)) == {"train": "failed"} and flow.is_training()


def test_a_change_of_an_input_is_seen_although_the_wait_was_killed_after_it(flow):
    (flow.folder / "in.txt").write_text("x")
    flow.experiment(["inputs: {i: in.txt}"])
    flow.begin_and_kill()
    resumed = flow.start("resume", "last", "--json")
    wait_for(lambda: len(flow.processes("train")) == 2)
    (flow.folder / "in.txt").write_text("changed")
    flow.kill_waits(1)
    wait_for(lambda: len(flow.processes("train")) == 3)
    flow.go()
    out, err = resumed.communicate(timeout=60)
    step, = json.loads(out)["steps"]
    assert resumed.returncode == 1 and "input 'i' changed while it ran" in step["reason"], err


def test_a_run_that_ended_well_before_its_wait_was_killed_is_no_failure(flow):
    flow.experiment()
    flow.begin_and_kill()
    resumed = flow.start("resume", "last", "--json")
    wait_for(lambda: len(flow.processes("train")) == 2)
    wait = flow.processes("train")[-1]
    os.kill(wait, signal.SIGSTOP)  # it does not see the end
    flow.go()
    wait_for(lambda: flow.state()["phase"] == "succeeded")
    os.kill(wait, signal.SIGKILL)
    out, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0 and flow.states(json.loads(out)) == {"train": "done"}, err
    assert "waits again" not in err and len(flow.began()) == 1, err


def test_the_time_of_a_step_counts_from_the_first_wait(flow):
    flow.experiment()
    flow.begin_and_kill()
    resumed = flow.start("resume", "last", "--json")
    wait_for(lambda: len(flow.processes("train")) == 2)
    begun = time.monotonic()
    time.sleep(2)
    flow.kill_waits(1)
    wait_for(lambda: len(flow.processes("train")) == 3)
    flow.go()
    waited = time.monotonic() - begun
    out, err = resumed.communicate(timeout=60)
    step, = json.loads(out)["steps"]
    assert step["seconds"] >= waited and step["attempt"] == 1, (step, err)
    result = json.loads((flow.run_of_flow() / "steps" / "train" / "result" / "manifest.json").read_text())
    assert result["seconds"] >= waited, result


def test_the_time_limit_does_not_begin_anew_when_the_wait_is_killed(flow):
    flow.experiment()
    flow.begin_and_kill()
    flow.experiment(["time_limit: 5s"])
    resumed = flow.start("resume", "last", "--json")
    killed = 0
    while killed < 10:  # with 10 s between the first and the last
        wait_for(lambda: len(flow.processes("train")) == killed + 2 or resumed.poll() is not None, 60)
        if resumed.poll() is not None:
            break
        time.sleep(1)
        with contextlib.suppress(ProcessLookupError):
            os.kill(flow.processes("train")[-1], signal.SIGKILL)
        killed += 1
    out, err = resumed.communicate(timeout=60)
    step, = json.loads(out)["steps"]
    assert "time limit" in step["reason"] and killed < 10, (step, err)
    wait_for(lambda: flow.state()["phase"] == "cancelled")


def test_killed_waits_are_no_retries(flow):
    flow.experiment(["retries: 1"])
    manager = flow.begin_and_kill()
    resumed = flow.start("resume", "last", "--json")
    flow.kill_waits(2)
    wait_for(lambda: len(flow.processes("train")) == 4)
    os.kill(manager["pid"], signal.SIGKILL)  # this is one
    wait_for(lambda: len(flow.began()) == 2)
    flow.go()
    _, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0 and err.count("failed and starts again") == 1, err


def test_an_experiment_that_was_edited_ends_and_begins_anew(flow):
    flow.experiment()
    flow.begin_and_kill()
    flow.experiment(args="{x: 1}")
    resumed = flow.start("resume", "last")
    wait_for(lambda: len(flow.began()) == 2, 90)  # the first one has some time to end
    first, second = sorted(flow.run_of_flow().glob("steps/train/*/state.json"), key=lambda file: file.parent.name)
    phases = {flow.state(first.parent)["phase"], flow.state(second.parent)["phase"]}
    assert phases == {"cancelled", "running"}, "the one that nobody needs has ended"
    flow.go()
    assert resumed.wait(60) == 0


def test_an_experiment_that_is_no_step_any_more_ends(flow):
    flow.experiment()
    flow.begin_and_kill()
    flow.steps(other=(["x"], []))
    flow.slipway("resume", "last")
    assert not flow.is_training() and flow.state()["phase"] == "cancelled"


def test_the_time_limit_ends_an_experiment_that_goes_on(flow):
    flow.experiment(["time_limit: 10s"])
    manager = flow.start("run", "flow.yaml")
    wait_for(flow.began)
    manager.kill()
    manager.communicate()
    document = flow.json("resume", "last", status=1)
    assert "time limit" in document["steps"][0]["reason"] and len(flow.began()) == 1
    assert not flow.is_training() and flow.state()["phase"] == "cancelled"


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_ends_an_experiment_that_goes_on(flow, signals):
    flow.experiment()
    flow.begin_and_kill()
    resumed = flow.start("resume", "last")
    flow.wait_until_resumed()
    for _ in range(signals):
        resumed.send_signal(signal.SIGINT)
    assert resumed.wait(60) == 130
    wait_for(lambda: not flow.is_training())


def pending(process):
    """The signals that it has not taken yet."""
    with open(f"/proc/{process}/status") as file:
        mask, = (int(line.split()[1], 16) for line in file if line.startswith("ShdPnd:"))
    return [number for number in range(1, 65) if mask >> (number - 1) & 1]


def test_a_second_ctrl_c_reaches_a_run_that_no_process_waits_for(flow, small_disk):
    flow.experiment()
    manager = flow.begin_and_kill()["pid"]
    resumed = flow.start("resume", "last")
    wait_for(lambda: len(flow.processes("train")) == 2)
    with flow.no_wait_starts(small_disk):
        flow.kill_waits(1)
        wait_for(lambda: flow.json("status", "last")["paused"])
        os.kill(manager, signal.SIGSTOP)  # it cannot end in order
        resumed.send_signal(signal.SIGINT)
        wait_for(lambda: signal.SIGTERM in pending(manager))
        time.sleep(0.5)  # what comes sooner counts as the same request
        assert resumed.poll() is None, resumed.communicate()
        resumed.send_signal(signal.SIGINT)
        assert resumed.wait(40) == 130
    wait_for(lambda: not flow.is_training())
    assert flow.state()["phase"] == "running", "it was killed"


def move(flow):
    """The run seems to be managed on another host."""
    file = flow.of_train() / "state.json"
    state = {**json.loads(file.read_text()), "host": "elsewhere"}
    file.with_suffix(".new").write_text(json.dumps(state))
    file.with_suffix(".new").rename(file)


def test_ctrl_c_leaves_an_experiment_on_another_host(flow):
    flow.experiment()
    flow.begin_and_kill()
    move(flow)
    resumed = flow.start("resume", "last")
    flow.wait_until_resumed()
    resumed.send_signal(signal.SIGINT)
    _, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 130 and "is managed on elsewhere" in err and "slipway cancel" in err, err
    assert flow.is_training()


def lock_is_free(flow):
    with open(flow.of_train() / ".manager.lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_an_experiment_whose_host_died_goes_on_here(flow):
    flow.experiment()
    manager = flow.begin_and_kill()
    os.kill(manager["pid"], signal.SIGKILL)
    wait_for(lambda: lock_is_free(flow) and not flow.is_training())
    move(flow)
    flow.go()
    document = flow.json("resume", "last")
    assert flow.states(document) == {"train": "done"} and flow.state()["attempt"] == 2


def test_an_experiment_whose_host_dies_meanwhile_starts_again_here(flow):
    flow.experiment(["retries: 1"])
    manager = flow.begin_and_kill()
    move(flow)
    resumed = flow.start("resume", "last", "--json")
    flow.wait_until_resumed()
    os.kill(manager["pid"], signal.SIGKILL)
    wait_for(lambda: len(flow.began()) == 2)
    flow.go()
    out, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0 and flow.states(json.loads(out)) == {"train": "done"}, err
    assert "on elsewhere) is gone" in (flow.run_of_flow() / "steps/train/log").read_text()


def test_an_experiment_that_goes_on_keeps_its_gpus(flow):
    flow.environment["CUDA_VISIBLE_DEVICES"] = "0,1"
    flow.step("import time\nopen('gpus', 'a').write(os.environ['CUDA_VISIBLE_DEVICES'] + '\\n')\n"
              "while 'last' in sys.argv and not os.path.exists('go'): time.sleep(0.05)\n")
    gpu = "resources: {gpus: 1}"
    steps = "".join(f"  {name}: {{command: {json.dumps([sys.executable, 'step.py', name])}, {more}{gpu}}}\n"
                    for name, more in (("first", ""), ("last", "after: [first], ")))
    flow.experiment([gpu], others=steps)
    gpus = lambda: (flow.folder / "gpus").read_text().split() if (flow.folder / "gpus").exists() else []  # noqa: E731
    flow.begin_and_kill(lambda: len(gpus()) == 2)
    (training, _), = flow.began()
    resumed = flow.start("resume", "last")
    wait_for(lambda: len(gpus()) == 3)
    assert {training, gpus()[2]} == {"0", "1"}
    flow.go()
    assert resumed.wait(60) == 0 and len(flow.began()) == 1
