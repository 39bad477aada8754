"""Workflows on this machine: order, reuse, failures, kills."""

import ast
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from slipway_here import Place
from waiting import wait_for

COUNT = "import os, pathlib, sys\nopen('ran', 'a').write(os.environ['SLIPWAY_STEP'] + '\\n')\n"


class Flow(Place):
    def write(self, text, name="flow.yaml"):
        (self.folder / name).write_text(text)

    def steps(self, **steps):
        """A workflow whose steps run `step.py` with their words; each notes that it ran."""
        if not (self.folder / "step.py").exists():
            self.step("")
        lines = ["name: flow", "steps:"]
        for name, (words, more) in steps.items():
            command = json.dumps([sys.executable, "step.py", *words])
            lines += [f"  {name}:", f"    command: {command}", *(f"    {line}" for line in more)]
        self.write("\n".join(lines) + "\n")

    def step(self, text):
        (self.folder / "step.py").write_text(COUNT + text)

    def ran(self):
        """The steps that ran since the last call, in order."""
        file = self.folder / "ran"
        names = file.read_text().split() if file.exists() else []
        file.unlink(missing_ok=True)
        return names

    def has_begun(self):
        """Whether a step has noted that it runs. The file alone may be empty still."""
        file = self.folder / "ran"
        return file.exists() and file.read_text().endswith("\n")

    def run_of_flow(self):
        folder, = (entry for entry in self.runs.iterdir() if entry.name.startswith("flow-"))
        return folder

    def entries(self):
        """The whole lines of the journal."""
        if not self.runs.exists() or not any(self.runs.glob("flow-*/workflow.jsonl")):
            return []
        lines = (self.run_of_flow() / "workflow.jsonl").read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.strip() and line.endswith("\n")]

    def processes(self, step):
        """Those that carried out the step, in order."""
        pids = [entry["process"]["pid"] for entry in self.entries() if entry.get("step") == step and "process" in entry]
        return list(dict.fromkeys(pids))

    def slipway_any(self, *words):
        self.start(*words).communicate(timeout=120)

    def reasons_of_running(self, document):
        """What was said of each step of this run while it ran."""
        entries = map(json.loads, filter(None, (self.runs / document["run"] / "workflow.jsonl").read_text().split("\n")))
        return {entry["step"]: entry.get("reason", "") for entry in entries if entry.get("state") == "running"}

    def output(self, document, step, file):
        """What a step of this run has published."""
        return (self.runs / document["run"] / "steps" / step / "result/outputs" / file).read_text()

    def states(self, document):
        return {step["name"]: step["state"] for step in document["steps"]}


@pytest.fixture
def flow(tmp_path):
    return Flow(tmp_path)


@pytest.fixture
def chain(flow):
    """make -> use, and a third step on its own."""
    flow.step("if 'make' in sys.argv: pathlib.Path(sys.argv[2]).write_text(sys.argv[3])\n"
              "if 'use' in sys.argv: print('read', pathlib.Path(sys.argv[2]).read_text())\n")
    flow.steps(make=(["make", "${outputs.data}", "blue"], ["outputs: {data: data.txt}"]),
               use=(["use", "${steps.make.outputs.data}"], []),
               other=(["other"], []))
    return flow


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("cannot mount a small disk here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_steps_run_after_those_that_they_need_and_are_reused(chain):
    document = chain.json("run", "flow.yaml")
    assert document["schema"] == "slipway.workflow/1" and document["phase"] == "succeeded"
    assert chain.states(document) == {"make": "done", "use": "done", "other": "done"}
    assert set(chain.reasons_of_running(document).values()) == {""}, "a first time needs no reason"
    ran = chain.ran()
    assert sorted(ran) == ["make", "other", "use"] and ran.index("make") < ran.index("use")
    assert chain.slipway("logs", "last/use") == "read blue\n"
    again = chain.json("run", "flow.yaml")
    assert set(chain.states(again).values()) == {"reused"} and chain.ran() == []


def test_an_edited_step_runs_again_with_its_dependants_only(chain):
    chain.slipway("run", "flow.yaml")
    chain.ran()
    text = (chain.folder / "flow.yaml").read_text()
    chain.write(text.replace("blue", "red"))
    plan = {step["name"]: step for step in chain.json("plan", "flow.yaml")["steps"]}
    assert not plan["make"]["reuse"] and "command has changed" in plan["make"]["why"]
    assert "step make has another result" in plan["use"]["why"] and plan["other"]["reuse"]
    document = chain.json("run", "flow.yaml")
    assert chain.ran() == ["make", "use"]
    assert chain.states(document)["other"] == "reused"
    assert "command has changed" in chain.reasons_of_running(document)["make"]
    chain.write(text)
    assert set(chain.states(chain.json("run", "flow.yaml")).values()) == {"reused"}


def test_a_changed_program_file_is_named(chain):
    chain.slipway("run", "flow.yaml")
    chain.ran()
    with open(chain.folder / "step.py", "a") as file:
        file.write("# another\n")
    why = chain.json("workflow", "why", "last", "other")
    assert why["changes"] == ["file step.py has changed"] and not why["reuse"]


def test_a_forced_step_runs_again_with_its_dependants(chain):
    chain.slipway("run", "flow.yaml")
    chain.ran()
    chain.slipway("run", "flow.yaml", "--force", "make")
    assert chain.ran() == ["make", "use"]
    chain.slipway("run", "flow.yaml")
    assert chain.ran() == []
    chain.slipway("run", "flow.yaml", "--force", "mkae", status=2)
    assert "did you mean 'make'" in chain.said


def test_a_failing_step_stops_only_its_dependants(flow):
    flow.step("sys.exit(3 if 'bad' in sys.argv and not os.path.exists('fixed') else 0)\n")
    flow.steps(bad=(["bad"], []), after_bad=(["x"], ["after: [bad]"]), last=(["x"], ["after: [after_bad]"]),
               good=(["good"], []), after_good=(["x"], ["after: [good]"]))
    document = flow.json("run", "flow.yaml", status=1)
    assert flow.states(document) == {"bad": "failed", "after_bad": "blocked", "last": "blocked", "good": "done",
                                     "after_good": "done"}
    reason, = (step["reason"] for step in document["steps"] if step["name"] == "bad")
    assert "exit status 3" in reason
    assert "slipway logs" in flow.slipway("explain", "last")
    flow.ran()
    (flow.folder / "fixed").touch()
    document = flow.json("resume", "last")
    assert flow.ran() == ["bad", "after_bad", "last"]
    assert set(flow.states(document).values()) == {"done"}


def test_commands_for_one_experiment_name_the_steps(chain):
    chain.slipway("run", "flow.yaml")
    for words in (("report", "last", "last"), ("reproduce", "last"), ("export", "last", "--csv", "x.csv"),
                  ("compare", "last", "last"), ("trials", "best", "last"), ("trials", "export", "last"),
                  ("trials", "ask", "last")):
        chain.slipway(*words, status=2)
        assert "is a workflow" in chain.said and "/STEP" in chain.said
    assert chain.json("ls")["runs"][0]["phase"] == "succeeded"
    chain.slipway("logs", "last/mak", status=2)
    assert "did you mean 'make'" in chain.said
    chain.slipway("status", "last/make", status=2)
    assert "has no run: it is no experiment" in chain.said and "/make" in chain.said
    chain.slipway("status", "last/mak", status=2)
    assert "the workflow has no step 'mak'; did you mean 'make'?" in chain.said
    folder = chain.json("ls")["runs"][0]["folder"]
    assert chain.slipway("logs", f"{folder}/use") == "read blue\n"
    chain.slipway("status", f"{folder}/make", status=2)
    assert f"slipway logs {folder}/make" in chain.said
    chain.slipway("logs", f"{folder}/mak", status=2)
    assert "did you mean 'make'" in chain.said
    chain.slipway("status", f"{folder}/state.json/make", status=2)
    assert "is not a run folder" in chain.said
    chain.program("report(1, loss=1)\n")
    chain.spec()
    chain.slipway("run", "spec.yaml")
    chain.slipway("workflow", "why", "last", "make", status=2)
    assert "is no workflow" in chain.said


def test_commands_are_no_ranks_of_a_trial_around_their_workflow(flow):
    flow.step("pathlib.Path('seen').write_text(repr(dict(os.environ)))\n")
    flow.steps(one=(["x"], []))
    outer = ("RANK", "WORLD_SIZE", "SLIPWAY_TRIAL", "SLIPWAY_PARAMS", "SLIPWAY_CHECKPOINT_DIR", "SLIPWAY_DATA_TRAIN",
             "SLIPWAY_STOP_FILE", "SLIPWAY_CONFIG", "SLIPWAY_WATCH_SOCKET", "PMI_RANK")
    flow.environment.update(dict.fromkeys(outer, "of the trial"), SLIPWAY_RUN_DIR=str(flow.folder / "trial"),
                            SLIPWAY_ALGORITHMS="ring")
    document = flow.json("run", "flow.yaml")
    seen = ast.literal_eval((flow.folder / "seen").read_text())
    assert [name for name in outer if name in seen] == []
    assert seen["SLIPWAY_RUN_DIR"] == str(flow.runs / document["run"])
    assert seen["SLIPWAY_ALGORITHMS"] == "ring"


def test_retries_and_time_limits(flow):
    flow.step("if 'slow' in sys.argv:\n    import time; time.sleep(600)\n"
              "sys.exit(os.environ['SLIPWAY_ATTEMPT'] != '3')\n")
    flow.steps(stubborn=(["x"], ["retries: 2"]), slow=(["slow"], ["time_limit: 500ms"]))
    document = flow.json("run", "flow.yaml", status=1)
    assert flow.states(document) == {"stubborn": "done", "slow": "failed"}
    assert flow.ran().count("stubborn") == 3
    assert "time limit" in [step["reason"] for step in document["steps"] if step["name"] == "slow"][0]


def test_the_command_of_a_step_imports_slipway(flow):
    (flow.folder / "src").mkdir()
    (flow.folder / "src/model.py").write_text("value = 3\n")
    flow.step("import model, slipway\n")
    flow.steps(inherited=([], []), own=([], ["env: {PYTHONPATH: src}"]))
    flow.environment["PYTHONPATH"] = "src"
    document = flow.json("run", "flow.yaml")
    assert flow.states(document) == {"inherited": "done", "own": "done"}


def test_foreach_when_and_metrics(flow):
    flow.step("import json\n"
              "if 'score' in sys.argv:\n"
              "    print(json.dumps({'time': 0, 'step': 1, 'metrics': {'score': float(sys.argv[2])}}),\n"
              "          file=open(os.environ['SLIPWAY_METRICS'], 'a'))\n"
              "else:\n    print(*sys.argv[1:])\n")
    flow.steps(score=(["score", "${item}"], ["foreach: [0.9, 0.3]"]),
               high=(["high"], ["when: '${steps.score[0].metrics.score} >= 0.8'"]),
               low=(["low"], ["when: '${steps.score[1].metrics.score} >= 0.8'"]),
               after_low=(["x"], ["after: [low]"]),
               all=(["all", "${steps.score.metrics.score}"], []))
    states = flow.states(flow.json("run", "flow.yaml"))
    assert states == {"score.0": "done", "score.1": "done", "high": "done", "low": "skipped", "after_low": "skipped",
                      "all": "done"}
    assert flow.slipway("logs", "last/all") == "all 0.9 0.3\n"


def test_parallel_limits_the_steps_of_a_foreach(flow):
    flow.step("import time\nme = pathlib.Path('at-work') / sys.argv[1]\nme.parent.mkdir(exist_ok=True)\nme.touch()\n"
              "open('seen', 'a').write(f'{len(os.listdir(me.parent))} ')\ntime.sleep(0.3)\nme.unlink()\n")
    few = "foreach: [a, b, c, d, e], parallel: 2, resources: {cpus: 1}"
    command = json.dumps([sys.executable, "step.py", "${item}"])
    flow.write(f"name: flow\nsteps:\n  few: {{command: {command}, {few}}}\n")
    document = flow.json("run", "flow.yaml")
    assert set(flow.states(document).values()) == {"done"} and len(document["steps"]) == 5
    seen = [int(word) for word in (flow.folder / "seen").read_text().split()]
    assert len(seen) == 5 and max(seen) <= 2, seen


def test_usage_counts_the_steps_and_loses_those_that_failed(flow):
    flow.program("report(1, loss=1)\n")
    flow.step("import time\ntime.sleep(0.05)\nsys.exit('bad' in sys.argv and not os.path.exists('mended'))\n")
    step = json.dumps([sys.executable, "step.py"])
    flow.write(f"""
name: flow
steps:
  good: {{command: {step}, resources: {{cpus: 2}}}}
  bad: {{command: {step[:-1]}, bad]}}
  train:
    experiment:
      train: {{command: {json.dumps([sys.executable, "train.py"])}}}
""")
    document = flow.json("run", "flow.yaml", status=1)
    seconds = {step["name"]: step["seconds"] for step in document["steps"]}
    own = flow.json("report", "last/train")["runs"][0]["accounting"]
    row, = flow.json("usage", "--by", "name,engine")["rows"]
    assert (row["name"], row["engine"], row["runs"]) == ("flow", "local", 1)
    assert row["node_hours"] * 3600 == pytest.approx(seconds["good"] + seconds["bad"] + own["node_hours"] * 3600)
    assert row["core_hours"] * 3600 == pytest.approx(2 * seconds["good"] + seconds["bad"] + own["core_hours"] * 3600)
    assert row["parts_hours"]["lost"] * 3600 == pytest.approx(seconds["bad"])
    assert flow.said == ""
    (flow.folder / "mended").touch()
    document = flow.json("resume", "last")
    mended, = [step["seconds"] for step in document["steps"] if step["name"] == "bad"]
    after = flow.json("usage")["total"]
    assert after["runs"] == 1 and after["parts_hours"]["lost"] == pytest.approx(row["parts_hours"]["lost"])
    assert after["node_hours"] * 3600 == pytest.approx(row["node_hours"] * 3600 + mended), "what was done counts once"


def test_an_experiment_and_an_ensemble_are_runs(flow):
    flow.program("x = float(sys.argv[sys.argv.index('--x') + 1])\nreport(1, loss=x)\n")
    command = json.dumps([sys.executable, "train.py"])
    flow.step("print(*sys.argv[1:])\n")
    flow.write(f"""
name: flow
steps:
  search:
    experiment:
      train: {{command: {command}}}
      ensemble:
        objective: {{metric: loss, goal: minimize}}
        sampler: grid
        space: {{x: {{choice: [3.0, 1.0, 2.0]}}}}
  train:
    foreach: ${{steps.search.top[0..1]}}
    experiment:
      train: {{command: {command}, args: "${{item.params}}"}}
  show:
    command: [{sys.executable}, step.py, "${{steps.search.best.params.x}}", "${{steps.train.metrics.loss}}"]
  page:
    report: [search, train]
""")
    document = flow.json("run", "flow.yaml")
    assert set(flow.states(document).values()) == {"done"}
    assert flow.slipway("logs", "last/show") == "1.0 1.0 2.0\n"
    page = flow.slipway("logs", "last/page")
    assert os.path.exists(page.partition("written: ")[2].partition("\n")[0]), page
    assert flow.json("trials", "best", "last/search")["trials"][0]["objective"] == 1.0
    assert set(flow.states(flow.json("run", "flow.yaml")).values()) == {"reused"}
    assert flow.json("trials", "best", "last/search")["trials"][0]["objective"] == 1.0, "of the run that was reused"
    assert (flow.folder / document["steps"][-1]["folder"] / "result/outputs/report.html").exists()
    assert set(flow.states(flow.json("run", "flow.yaml")).values()) == {"reused"}


WRONG = {
    "a: {command: [x], after: [b]}\n  b: {command: [x], after: [a]}": "in a circle: a needs b needs a",
    "a: {command: [x, '${steps.b.outputs.o}']}\n  b: {command: [x, '${steps.a.outputs.o}'], outputs: {o: o}}":
        "has no output 'o'",
    "a: {command: [x, '${steps.prepaer.folder}']}\n  prepare: {command: [x]}": "did you mean 'prepare'",
    "a: {command: [x], outputs: {o: d, p: d/e}}": "overlap",
    "a: {command: [x], outputs: {o: ../d}}": "within the step's own folder",
    "a: {command: [x], outputs: {o: 'd/*.txt'}}": "give a name, not a pattern",
    "a: {command: [x], inputs: {i: nowhere.txt}}": "no step writes it",
    "'../a': {command: [x]}": "the name of a step",
    "'a b': {command: [x]}": "the name of a step",
    "a: {command: [x], data: [make]}": "it has command, data",
    "a: {comand: [x]}": "unknown field 'comand'",
    "a: {command: [x, '${item}']}": "only known in a step with foreach",
    "a: {command: [x, '--lr=${item[lr]}'], foreach: [{lr: 1}, {lr: 2}]}": "'${item[lr]}' is not a reference",
    "a: {command: [x, '${foreach.x}'], foreach: [{x: 1}]}": "its value is ${item} and its number ${index}",
    "a: {command: [x, '${foreach}'], foreach: [1]}": "its value is ${item} and its number ${index}",
    "a: {command: [x, '${output.o}'], outputs: {o: o}}": "did you mean ${outputs.o}?",
    "a: {command: [x, '${steps}']}": "did you mean ${steps.NAME.outputs.NAME}?",
    "a: {command: [x], when: '${steps.b.folder} > 1'}\n  b: {command: [x]}": "a condition compares numbers",
    "a: {experiment: {train: {command: [x]}, launch: {ranks_per_node: '${steps.b.folder}'}}}\n  b: {command: [x]}":
        "is a path, but launch.ranks_per_node is",
    "a: {experiment: {train: {command: [x]}, launch: {ranks_per_nod: 2}}}": "did you mean 'ranks_per_node'",
    "a: {command: [x], foreach: []}": "'foreach' is a list",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_workflows_name_the_line_and_the_reason(flow, text):
    flow.write(f"name: flow\nsteps:\n  {text}\n")
    flow.slipway("validate", "flow.yaml", status=2)
    assert "flow.yaml:" in flow.said and WRONG[text] in flow.said
    assert not flow.runs.exists()


def test_ctrl_c_ends_all_and_resume_goes_on(flow):
    flow.step("import time\ntime.sleep(0 if os.path.exists('fast') else 600)\n")
    flow.steps(slow=(["x"], []), last=(["x"], ["after: [slow]"]))
    run = flow.start("run", "flow.yaml")
    wait_for(flow.has_begun)
    busy = flow.start("resume", "last")
    busy.communicate(timeout=60)
    assert busy.returncode == 4, "two managers of one run"
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert flow.json("status", status=130)["phase"] == "cancelled"
    (flow.folder / "fast").touch()
    flow.slipway("resume", "last")
    assert flow.ran() == ["slow", "slow", "last"]


def test_resume_waits_for_a_lock_that_outlives_its_manager(flow):
    """What a killed manager was starting holds its lock for a moment. Here it is this process, and for longer."""
    flow.step("import time\nwhile not os.path.exists('go'): time.sleep(0.02)\n")
    flow.steps(only=(["x"], []))
    run = flow.start("run", "flow.yaml")
    wait_for(flow.has_begun)
    run.kill()
    run.communicate()
    (flow.folder / "go").touch()
    with open(flow.run_of_flow() / ".manager.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        resumed = flow.start("resume", "last")
        time.sleep(0.5)  # it finds the lock held
        assert resumed.poll() is None, resumed.communicate()
    out, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, out + err


@pytest.mark.parametrize("by_command", [False, True], ids=["ctrl-c", "cancel"])
def test_a_cancelled_step_that_exits_with_0_has_no_result(flow, by_command):
    flow.step("import signal, time\nstop = []\nsignal.signal(signal.SIGTERM, lambda *_: stop.append(1))\n"
              "name = os.environ['SLIPWAY_STEP']\n"
              "with open(sys.argv[1], 'w') as out:\n"
              "    print('half', file=out, flush=True)\n"
              "    if name == 'prep': open('half', 'w').close()\n"
              "    while name == 'prep' and not stop and not os.path.exists('fast'): time.sleep(0.01)\n"
              "    if not stop: print('whole', file=out)\n")
    flow.steps(first=(["${outputs.d}"], ["outputs: {d: d.txt}"]),
               prep=(["${outputs.d}"], ["outputs: {d: d.txt}", "after: [first]"]))
    run = flow.start("run", "flow.yaml")
    wait_for(lambda: (flow.folder / "half").exists())
    if by_command:
        flow.slipway("cancel", "last")
    else:
        run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert flow.states(flow.json("status", status=130)) == {"first": "done", "prep": "cancelled"}
    (flow.folder / "fast").touch()
    flow.slipway("resume", "last")
    assert flow.ran() == ["first", "prep", "prep"]
    assert (flow.run_of_flow() / "steps/prep/result/outputs/d.txt").read_text() == "half\nwhole\n"


def of_step(folder):
    """The processes of steps below a folder."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and f"SLIPWAY_STEP_DIR={folder}".encode() in open(f"/proc/{entry}/environ", "rb").read():
                found.append(int(entry))
        except OSError:
            pass
    return found


KILLS = int(os.environ.get("SLIPWAY_KILLS", "6"))


def test_kills_lose_nothing(flow):
    """Twelve steps; managers and steps are killed at random; the results equal those of an uninterrupted run."""
    seed = int(os.environ.get("SLIPWAY_SEED", str(random.randrange(10**6))))
    print("seed", seed)
    chance = random.Random(seed)
    flow.step("import time, hashlib\ntime.sleep(0.05)\n"
              "texts = ''.join(pathlib.Path(word).read_text() for word in sys.argv[3:])\n"
              "out = pathlib.Path(sys.argv[2])\n"
              "out.write_text('half')\ntime.sleep(0.02)\n"
              "out.write_text(hashlib.sha256((sys.argv[1] + texts).encode()).hexdigest())\n")
    steps = {}
    for i in range(12):
        needs = chance.sample(range(i), min(i, chance.randrange(3)))
        steps[f"s{i}"] = ([str(i), "${outputs.o}", *(f"${{steps.s{need}.outputs.o}}" for need in needs)],
                          ["outputs: {o: o.txt}", "retries: 20"])
    flow.steps(**steps)
    flow.slipway("run", "flow.yaml", "--runs-dir", str(flow.folder / "whole"))
    flow.ran()

    kills = 0
    while kills < KILLS:
        resumed = []
        flow.slipway("submit", "flow.yaml")
        state = flow.json("status")
        while state["phase"] not in ("succeeded", "failed"):
            time.sleep(chance.uniform(0, 0.12))
            victims = of_step(flow.runs) if chance.random() < 0.5 else []
            if not victims:
                file = flow.run_of_flow() / "state.json"
                victims = [json.loads(file.read_text())["manager"]["pid"]]
            try:
                os.kill(chance.choice(victims), signal.SIGKILL)
                kills += 1
            except ProcessLookupError:
                pass
            time.sleep(0.01)
            state = json.loads(subprocess.run([os.environ["SLIPWAY_PROGRAM"], "status", "--json"], env=flow.environment,
                                              cwd=flow.folder, stdout=subprocess.PIPE, text=True).stdout)
            if state["phase"] == "lost":
                resumed.append(flow.start("resume", "last", start_new_session=True))
                time.sleep(0.05)
                state["phase"] = "running"
            if kills >= KILLS:
                break
        for manager in resumed:
            manager.communicate(timeout=60)
        flow.slipway_any("wait", "last", "--timeout", "60s")
        flow.slipway("resume", "last")
        whole = sorted((flow.folder / "whole/.results").glob("*.1/outputs/o.txt"))
        here = sorted((flow.runs / ".results").glob("*/outputs/o.txt"))
        assert [file.parts[-3] for file in here] == [file.parts[-3] for file in whole], "each step has one result"
        assert [file.read_text() for file in here] == [file.read_text() for file in whole]
        assert of_step(flow.runs) == []
        shutil.rmtree(flow.runs)
