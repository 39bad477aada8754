"""Workflows in bad company: several people, full disks, odd names, files that come and go."""

import ctypes
import json
import os
import re
import select
import subprocess
import sys
import time

import pytest

from waiting import wait_for
from workflow_test import Flow

pytest_plugins = ["workflow_test"]  # its fixtures


def wait_until_said(run, words):
    """Reads what the process says, up to the line with the words."""
    said = ""
    for line in run.stderr:
        said += line
        if words in line:
            return
    raise AssertionError(f"it has not said '{words}': {said}")


def states_of(flow, words=("status", "last")):
    return flow.states(flow.json(*words))


class Looks:
    """Those of other processes at a file: each opens it for reading and closes it."""

    def __init__(self, file):
        libc = ctypes.CDLL(None)
        self.events = libc.inotify_init1(os.O_CLOEXEC)
        assert libc.inotify_add_watch(self.events, os.fsencode(file), 0x10) >= 0  # IN_CLOSE_NOWRITE

    def wait_for(self, count):
        for _ in range(count):
            assert select.select([self.events], [], [], 60)[0], "nobody looks"
            os.read(self.events, 4096)


def test_wait_fails_when_the_manager_on_another_host_is_gone(flow):
    flow.step("import time\nwhile not os.path.exists('go'): time.sleep(0.02)\n")
    flow.steps(slow=(["x"], []))
    run = flow.start("run", "flow.yaml")
    wait_for(flow.has_begun)
    file = flow.run_of_flow() / "state.json"
    state = json.loads(file.read_text())
    assert state["phase"] == "running"
    (flow.folder / "state").write_text(json.dumps({**state, "host": "elsewhere"}))
    os.replace(flow.folder / "state", file)
    looks = Looks(flow.run_of_flow() / ".manager.lock")
    waiting = flow.start("wait", "last", "--json")
    looks.wait_for(8)  # the first ones come from the search for the run
    run.kill()
    run.wait()
    out, err = waiting.communicate(timeout=60)
    (flow.folder / "go").touch()
    document = json.loads(out)
    assert waiting.returncode == 1 and document["phase"] == "lost", out + err
    assert [step["reason"] for step in document["steps"]] == ["it may still run on elsewhere"]


def test_what_is_known_of_a_step_survives_a_resume_and_a_kill(flow):
    """The kill comes after the result was published, and before that was recorded and linked."""
    flow.step("if 'make' in sys.argv: pathlib.Path(sys.argv[2]).write_text('blue')\n"
              "if 'use' in sys.argv: sys.exit(not os.path.exists('go'))\n")
    steps = {"make": (["make", "${outputs.o}"], ["outputs: {o: o}"]), "use": (["use"], ["after: [make]"])}
    flow.steps(**steps)

    def make_in(document):
        return {key: document["steps"][0][key] for key in ("name", "state", "attempt", "seconds")}

    first = flow.json("run", "flow.yaml", status=1)
    assert make_in(first)["attempt"] == 1 and make_in(first)["seconds"] > 0
    assert make_in(flow.json("resume", "last", status=1)) == make_in(first)
    link = flow.run_of_flow() / "steps/make/result"
    link.unlink()
    journal = flow.run_of_flow() / "workflow.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    recorded = next(number for number, line in enumerate(lines) if '"make"' in line and '"done"' in line)
    journal.write_text("".join(lines[:recorded]))
    (flow.folder / "go").touch()
    again = make_in(flow.json("resume", "last"))
    manifest = json.loads((link / "manifest.json").read_text())
    assert again == {"name": "make", "state": "done", "attempt": 1, "seconds": manifest["seconds"]}
    assert flow.ran().count("make") == 1
    reused = flow.json("run", "flow.yaml")
    assert set(flow.states(reused).values()) == {"reused"}
    assert flow.output(reused, "make", "o") == "blue"


def test_of_two_people_who_resume_one_run_one_does_it(flow):
    flow.step("import time\nif not os.path.exists('fixed'): sys.exit(1)\n"
              "while not os.path.exists('go'): time.sleep(0.02)\n")
    flow.steps(first=(["x"], []), second=(["x"], ["after: [first]"]))
    flow.slipway("run", "flow.yaml", status=1)
    flow.ran()
    (flow.folder / "fixed").touch()
    people = [flow.start("resume", "last") for _ in range(3)]
    wait_for(lambda: sum(person.poll() is not None for person in people) == 2)
    (flow.folder / "go").touch()
    said = [person.communicate(timeout=60) for person in people]
    codes = sorted(person.returncode for person in people)
    assert codes == [0, 4, 4], said
    for person, (_, err) in zip(people, said):
        assert person.returncode == 0 or "is managed by" in err and "is managed by \n" not in err, err
    assert flow.ran() == ["first", "second"] and set(states_of(flow).values()) == {"done"}


def test_two_runs_of_one_file_at_once_share_their_results(flow):
    flow.step("import time\ntime.sleep(0.2)\npathlib.Path(sys.argv[1]).write_text(str(os.getpid()))\n"
              "for word in sys.argv[2:]: print(pathlib.Path(word).read_text())\n")
    flow.steps(make=(["${outputs.o}"], ["outputs: {o: o.txt}"]),
               use=(["${outputs.o}", "${steps.make.outputs.o}"], ["outputs: {o: o.txt}"]))
    runs = [flow.start("run", "flow.yaml") for _ in range(3)]
    assert [run.wait(timeout=60) for run in runs] == [0, 0, 0]
    results = [entry for entry in (flow.runs / ".results").iterdir() if not entry.name.startswith(".")]
    assert len(results) == 2, "the first that publishes wins"
    assert set(flow.states(flow.json("run", "flow.yaml")).values()) == {"reused"}


def test_a_disk_that_is_full_before_a_step_is_waited_for(flow, small_disk):
    flow.runs = small_disk / "runs"
    flow.environment["SLIPWAY_RUNS"] = str(flow.runs)
    flow.step("if 'fill' in sys.argv:\n"
              f"    try: open('{small_disk}/filler', 'wb').write(b'x' * 10**7)\n"
              "    except OSError: pass\n")
    flow.steps(old=(["old"], []))
    flow.slipway("run", "flow.yaml")
    flow.steps(old=(["old"], ["after: [fill]"]), fill=(["fill"], []), last=(["x"], ["after: [old]"]))
    run = flow.start("run", "flow.yaml")
    wait_until_said(run, "waits for free space")
    time.sleep(1.5)
    assert run.poll() is None, run.communicate()
    (small_disk / "filler").unlink()
    _, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    assert set(states_of(flow).values()) == {"done"}


def test_a_full_disk_while_publishing_is_waited_for(flow, small_disk):
    flow.runs = small_disk / "runs"
    flow.environment["SLIPWAY_RUNS"] = str(flow.runs)
    flow.step("import time\npathlib.Path(sys.argv[2]).write_bytes(b'x' * 100000)\n"
              f"try:\n    open('{small_disk}/filler', 'wb').write(b'x' * 10**7)\nexcept OSError: pass\n")
    flow.steps(make=(["make", "${outputs.data}"], ["outputs: {data: data.bin}"]))
    run = flow.start("run", "flow.yaml")
    wait_for(lambda: (small_disk / "filler").exists())
    wait_for(lambda: flow.json("status", "last")["paused"])
    paused = flow.json("status", "last")
    assert paused["paused"]["cause"] == "disk_full", paused
    assert "No space left on device" in paused["reason"] and "by itself" in paused["reason"]
    time.sleep(1.5)
    assert run.poll() is None, run.communicate()
    (small_disk / "filler").unlink()
    out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    assert "waits for free space" in err


def test_ctrl_c_ends_a_wait_for_space(flow, small_disk):
    flow.runs = small_disk / "runs"
    flow.environment["SLIPWAY_RUNS"] = str(flow.runs)
    flow.step("if 'fill' in sys.argv:\n"
              f"    try: open('{small_disk}/filler', 'wb').write(b'x' * 10**7)\n"
              "    except OSError: pass\n")
    flow.steps(fill=(["fill"], []), last=(["x"], ["after: [fill]"]))
    run = flow.start("run", "flow.yaml")
    wait_until_said(run, "waits for free space")
    run.send_signal(2)
    time.sleep(0.2)
    run.send_signal(2)
    time.sleep(0.5)
    (small_disk / "filler").unlink()
    run.communicate(timeout=60)
    assert run.returncode == 130


def test_a_step_that_deletes_the_store_is_found(chain):
    chain.slipway("run", "flow.yaml")
    chain.step("import shutil\nif 'use' in sys.argv: shutil.rmtree(pathlib.Path(sys.argv[2]).parents[1])\n"
               "if 'make' in sys.argv: pathlib.Path(sys.argv[2]).write_text(sys.argv[3])\n")
    chain.steps(make=(["make", "${outputs.data}", "blue"], ["outputs: {data: data.txt}"]),
                use=(["use", "${steps.make.outputs.data}"], []),
                late=(["late", "${steps.make.outputs.data}"], ["after: [use]"]))
    document = chain.json("run", "flow.yaml", status=1)
    late, = (step for step in document["steps"] if step["name"] == "late")
    assert late["state"] == "failed" and "it cannot start" in late["reason"]
    make, = (step for step in document["steps"] if step["name"] == "make")
    assert make["removed"], "its result is no longer there"
    chain.step("if 'make' in sys.argv: pathlib.Path(sys.argv[2]).write_text(sys.argv[3])\n")
    assert set(chain.states(chain.json("resume", "last")).values()) == {"done"}


def test_inputs_that_cannot_be_read_fail_their_step_and_no_other(flow):
    flow.step("import time\n"
              "if 'spoil' in sys.argv: os.symlink('loop', 'late/loop')\n"
              "if 'slow' in sys.argv: time.sleep(0.5)\n")
    for name in ("late", "early"):
        (flow.folder / name).mkdir()
    os.symlink("loop", flow.folder / "early/loop")
    flow.steps(slow=(["slow"], []), early=(["x"], ["inputs: {i: early}"]), spoil=(["spoil"], ["inputs: {i: late}"]))
    document = flow.json("run", "flow.yaml", status=1)
    assert flow.states(document) == {"slow": "done", "early": "failed", "spoil": "failed"}
    reasons = {step["name"]: step["reason"] for step in document["steps"]}
    for name, folder in (("early", "early"), ("spoil", "late")):
        assert f"{flow.folder}/{folder}/loop" in reasons[name] and "symbolic links" in reasons[name], reasons
    assert flow.ran().count("slow") == 1
    explained = flow.slipway("explain", "last")
    assert f"slipway logs {document['run']}/spoil" in explained
    assert f"slipway logs {document['run']}/early" not in explained, "it printed nothing: it never started"
    path = f"./runs/{document['run']}"
    explained = flow.slipway("explain", path)
    assert f"slipway logs {path}/spoil" in explained and f"slipway resume {path};" in explained
    assert f"slipway explain {path}\n" in flow.slipway("status", path, status=1)


def test_what_lies_behind_a_link_to_a_folder_counts(flow):
    flow.step("if 'make' in sys.argv:\n"
              "    os.mkdir(sys.argv[2])\n"
              "    os.symlink(os.path.abspath('real'), sys.argv[2] + '/link')\n")
    for folder in ("real", "in"):
        (flow.folder / folder).mkdir()
    (flow.folder / "real/x").write_text("1")
    (flow.folder / "in/pkg").symlink_to("../real")
    flow.steps(use=(["use"], ["inputs: {i: in}"]), make=(["make", "${outputs.o}"], ["outputs: {o: o}"]))
    flow.slipway("run", "flow.yaml")
    assert sorted(flow.ran()) == ["make", "use"]
    flow.slipway("run", "flow.yaml")
    assert flow.ran() == []
    (flow.folder / "real/x").write_text("22")
    flow.slipway("run", "flow.yaml")
    assert sorted(flow.ran()) == ["make", "use"]


def test_absolute_links_within_an_output_lead_to_the_published_files(flow):
    flow.step("if 'make' in sys.argv:\n"
              "    out = sys.argv[2]\n"
              "    os.makedirs(out + '/deep/ckpt-10')\n"
              "    pathlib.Path(out + '/deep/ckpt-10/x').write_text('blue')\n"
              "    os.symlink(out + '/deep/ckpt-10', out + '/latest')\n"
              "    os.symlink(os.path.realpath(out) + '/deep/ckpt-10/x', out + '/deep/x')\n"
              "    os.symlink(out, out + '/deep/up')\n"
              "    os.symlink('/dev/null', out + '/deep/elsewhere')\n"
              "if 'use' in sys.argv:\n"
              "    names = ('latest/x', 'deep/x', 'deep/up/latest/x')\n"
              "    print(*(pathlib.Path(sys.argv[2], name).read_text() for name in names))\n")
    flow.steps(make=(["make", "${outputs.o}"], ["outputs: {o: o}"]), use=(["use", "${steps.make.outputs.o}"], []))
    document = flow.json("run", "flow.yaml")
    assert flow.slipway("logs", "last/use") == "blue blue blue\n"
    made = flow.runs / document["run"] / "steps/make/result/outputs/o"
    assert os.readlink(made / "latest") == "../o/deep/ckpt-10"
    assert os.readlink(made / "deep/elsewhere") == "/dev/null"


def test_steps_that_are_larger_than_the_machine_are_named(flow):
    flow.steps(much=(["x"], ["resources: {memory: 900TB}"]), many=(["x"], ["resources: {cpus: 100000}"]),
               gpus=(["x"], ["resources: {gpus: 1000}"]))
    for command, status in (("validate", 0), ("plan", 0), ("run", 1)):
        flow.slipway(command, "flow.yaml", status=status)
        assert re.search(r"step 'much' runs alone: it asks for 900 TB of memory, and this machine has",
                         flow.said), flow.said
        assert "step 'gpus' cannot start here: it needs 1000 GPUs, and this machine has" in flow.said
        assert "step 'many' runs alone: it asks for 100000 cores, and this machine has" in flow.said
    assert flow.states(flow.json("status", "last", status=1)) == {"much": "done", "many": "done", "gpus": "failed"}


@pytest.mark.parametrize("engine", ["local", "slurm"])
def test_a_file_is_valid_on_every_machine_or_on_none(flow, engine):
    """`auto` is the engine of this machine."""
    other = {"local": "slurm", "slurm": "local"}[engine]
    flow.environment["SLIPWAY_ENGINE"] = engine
    flow.environment.pop("SLURM_JOB_ID", None)
    flow.steps(one=(["x"], [f"engine: {engine}"]), two=(["x"], []))
    flow.slipway("validate", "flow.yaml")
    assert "this machine cannot run it" not in flow.said
    flow.steps(one=(["x"], [f"engine: {other}"]), two=(["x"], []))
    flow.slipway("validate", "flow.yaml")
    assert "this machine cannot run it" in flow.said and f"(auto: SLIPWAY_ENGINE={engine})" in flow.said, flow.said
    flow.slipway("plan", "flow.yaml", status=2)
    flow.steps(one=(["x"], ["engine: local"]), two=(["x"], ["engine: slurm"]), three=(["x"], []))
    flow.slipway("validate", "flow.yaml", status=2)
    assert "step 'one' has engine local, and step 'two' is a Slurm job: all steps" in flow.said
    flow.environment["SLURM_JOB_ID"] = "7"
    for command in ("validate", "plan", "run"):
        flow.slipway(command, "flow.yaml", status=2)
        assert "step 'one' has engine local, and step 'two' is a Slurm job: all steps" in flow.said, command


def test_pipes_are_refused_at_once(flow):
    flow.step("if 'make' in sys.argv: os.mkfifo(sys.argv[2])\n")
    flow.steps(make=(["make", "${outputs.o}"], ["outputs: {o: o}"]))
    document = flow.json("run", "flow.yaml", status=1)
    assert document["steps"][0]["reason"] == "output 'o' is a named pipe; outputs are files and folders"
    os.mkfifo(flow.folder / "pipe")
    flow.steps(use=(["x"], ["inputs: {i: pipe}"]))
    for command in ("validate", "plan", "run"):
        flow.slipway(command, "flow.yaml", status=2)
        assert "input 'i' is a named pipe; inputs are files and folders" in flow.said


def test_a_deleted_output_and_a_changed_input_are_errors(flow):
    flow.step("import shutil, time\n"
              "if 'make' in sys.argv: pathlib.Path(sys.argv[2]).write_text('x')\n"
              "if 'delete' in sys.argv: os.remove(sys.argv[2])\n"
              "if 'change' in sys.argv: time.sleep(0.02); pathlib.Path('in.txt').write_text('y')\n")
    (flow.folder / "in.txt").write_text("x")
    flow.steps(make=(["make", "${outputs.data}"], ["outputs: {data: data.txt}"]),
               delete=(["delete", "${steps.make.outputs.data}"], []),
               use=(["use", "${steps.make.outputs.data}"], ["after: [delete]"]),
               change=(["change"], ["inputs: {i: in.txt}"]))
    document = flow.json("run", "flow.yaml", status=1)
    reasons = {step["name"]: step["reason"] for step in document["steps"]}
    assert "output 'data' of step 'make' was changed or deleted" in reasons["use"]
    assert "' changed while it ran, so its result is not kept: " in reasons["change"]


def test_a_program_that_is_edited_while_it_runs_runs_again_next_time(flow):
    flow.step("import time\nwhile 'slow' in sys.argv and not os.path.exists('go'): time.sleep(0.02)\n")
    flow.steps(slow=(["slow"], []))
    run = flow.start("run", "flow.yaml")
    wait_for(flow.has_begun)
    flow.step("# edited\n")
    (flow.folder / "go").touch()
    assert run.wait(timeout=60) == 0
    flow.ran()
    document = flow.json("run", "flow.yaml")
    assert flow.ran() == ["slow"] and document["steps"][0]["state"] == "done"


def test_a_file_that_changes_while_its_step_waits_counts_as_its_program_reads_it(flow):
    flow.step("import time\n"
              "pathlib.Path(sys.argv[2]).write_text(open('in.txt').read())\n"
              "while 'first' in sys.argv and not os.path.exists('go'): time.sleep(0.02)\n")
    command = json.dumps([sys.executable, "step.py", "${item}", "${outputs.data}"])
    flow.write(f"name: flow\nsteps:\n  each:\n    foreach: [first, second]\n    parallel: 1\n    command: {command}\n"
               "    files: [in.txt]\n    outputs: {data: data.txt}\n")
    file = flow.folder / "in.txt"
    file.write_text("old")
    run = flow.start("run", "flow.yaml", "--json")
    wait_for(flow.has_begun)  # both steps were looked at
    file.write_text("changed")
    (flow.folder / "go").touch()
    out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    assert flow.output(json.loads(out), "each.1", "data.txt") == "changed"
    assert flow.states(flow.json("run", "flow.yaml"))["each.1"] == "reused"
    file.write_text("old")
    document = flow.json("run", "flow.yaml")
    assert flow.states(document) == {"each.0": "reused", "each.1": "done"}
    assert flow.output(document, "each.1", "data.txt") == "old"


def test_a_file_that_changes_between_two_attempts_counts_as_the_last_one_reads_it(flow):
    flow.step("if os.environ['SLIPWAY_ATTEMPT'] == '1':\n"
              "    pathlib.Path('in.txt').write_text('changed')\n"
              "    sys.exit(1)\n")
    flow.steps(only=(["x"], ["inputs: {i: in.txt}", "retries: 1"]))
    (flow.folder / "in.txt").write_text("old")
    assert flow.states(flow.json("run", "flow.yaml")) == {"only": "done"}
    assert flow.ran() == ["only", "only"]
    assert flow.states(flow.json("run", "flow.yaml")) == {"only": "reused"}


@pytest.mark.parametrize("times, retries", [(0, 0), (1, 0), (1, 1), (9, 0)])
def test_a_step_starts_once_more_where_its_input_had_changed_before_its_start(flow, times, retries):
    """The link leads to files that are older than the start, as after a change that the look before it had missed."""
    flow.step("attempt = int(os.environ['SLIPWAY_ATTEMPT'])\n"
              "if attempt <= int(sys.argv[1]):\n"
              "    os.symlink('b' if attempt % 2 else 'a', 'new')\n"
              "    os.replace('new', 'now')\n"
              "pathlib.Path(sys.argv[2]).write_text(open('now/in.txt').read())\n"
              "sys.exit(sys.argv[3] == '1' and attempt == 2)\n")
    for name in "a", "b":
        (flow.folder / name).mkdir()
        (flow.folder / name / "in.txt").write_text(name * (1 + (name == "b")))
    (flow.folder / "now").symlink_to("a")
    flow.steps(only=([str(times), "${outputs.data}", str(retries)],
                     ["inputs: {i: now/in.txt}", "outputs: {data: data.txt}", f"retries: {retries}"]))
    ends = times < 2
    document = flow.json("run", "flow.yaml", status=0 if ends else 1)
    assert len(flow.ran()) == min(times, 1) + 1 + retries
    assert flow.said.count("only  starts again: input 'i' had changed shortly before it started") == min(times, 1)
    if ends:
        assert flow.output(document, "only", "data.txt") == ("bb" if times else "a")
        assert flow.states(flow.json("run", "flow.yaml")) == {"only": "reused"}
    else:
        assert "input 'i' changed while it ran" in document["steps"][0]["reason"]


@pytest.mark.parametrize("retries", [0, 1])
def test_an_experiment_that_goes_on_keeps_what_it_has_written(flow, retries):
    flow.program("if not os.path.exists('began'):\n"
                 "    open('began', 'x').close()\n"
                 "    open(sys.argv[sys.argv.index('--model') + 1], 'x').write('weights')\n"
                 "    sys.exit(3)\n"
                 "report(1, loss=1.0)\n")
    command = json.dumps([sys.executable, "train.py"])
    flow.write(f"name: flow\nsteps:\n  train:\n    outputs: {{model: m.pt}}\n    retries: {retries}\n    experiment:\n"
               f"      train: {{command: {command}, args: {{model: '${{outputs.model}}'}}}}\n"
               "      launch: {workdir: spec}\n")
    document = flow.json("run", "flow.yaml", status=1 - retries)
    if not retries:
        document = flow.json("resume", "last")
    assert flow.states(document) == {"train": "done"}
    assert flow.output(document, "train", "m.pt") == "weights"


def test_a_command_that_begins_anew_has_no_outputs_of_the_attempt_before(flow):
    flow.step("if os.environ['SLIPWAY_ATTEMPT'] == '1':\n"
              "    pathlib.Path(sys.argv[1]).write_text('half')\n"
              "    sys.exit(1)\n")
    flow.steps(only=(["${outputs.data}"], ["outputs: {data: data.txt}", "retries: 1"]))
    step, = flow.json("run", "flow.yaml", status=1)["steps"]
    assert "output 'data' was not written" in step["reason"] and step["attempt"] == 2


@pytest.mark.parametrize("name", ["a.b", "A", "-a", "0a", "a" * 65, "é", "a\nb", "a/b", ".", "..", "", " ", "a\0b", "~"])
def test_names_of_steps_are_plain_words(flow, name):
    flow.write("name: flow\nsteps:\n  " + json.dumps(name) + ": {command: ['true']}\n")
    flow.slipway("validate", "flow.yaml", status=2)
    assert "flow.yaml:" in flow.said and not flow.runs.exists()


def test_words_of_yaml_are_names_of_steps(flow):
    flow.write("name: flow\nsteps:\n" + "".join(f"  {word}: {{command: ['true']}}\n" for word in ("true", "no", "on")))
    assert set(flow.states(flow.json("run", "flow.yaml"))) == {"true", "no", "on"}


ODD = "o dd 'quoted' \"double\" $HOME; rm -rf * \\ é\u202e"


def test_odd_characters_in_paths_words_and_outputs_pass_unchanged(tmp_path):
    flow = Flow(tmp_path / ODD)
    flow.folder.mkdir()
    flow.step("if 'make' in sys.argv: pathlib.Path(sys.argv[2]).write_text(sys.argv[3])\n"
              "else: print(repr(pathlib.Path(sys.argv[1]).read_text()))\n")
    word = ODD + "\nnext line\ttab"
    escaped = json.dumps(word)
    flow.write(f"""name: flow
steps:
  make:
    command: [{sys.executable}, step.py, make, "${{outputs.o}}", {escaped}]
    outputs: {{o: {json.dumps(ODD.replace("*", ""))}}}
    env: {{ODD: {escaped}}}
  use:
    command: [{sys.executable}, step.py, "${{steps.make.outputs.o}}"]
""")
    flow.slipway("run", "flow.yaml")
    assert flow.slipway("logs", "last/use").strip() == repr(word)
    assert set(flow.states(flow.json("run", "flow.yaml")).values()) == {"reused"}
    flow.slipway("plan", "flow.yaml", "--svg", "plan.svg")
    subprocess.run([sys.executable, "-c", "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])",
                    flow.folder / "plan.svg"], check=True)


def test_a_folder_that_nobody_may_write_is_an_error_with_its_path(flow):
    if os.getuid() == 0:
        pytest.skip("root may write everywhere")
    flow.steps(a=(["x"], []))
    flow.folder.chmod(0o555)
    flow.slipway("run", "flow.yaml", status=3)
    assert str(flow.runs) in flow.said


def test_resume_names_programs_that_may_still_run_on_another_host(flow):
    flow.step("import time\nopen('began', 'w')\nwhile not os.path.exists('go'): time.sleep(0.05)\n")
    flow.steps(a=(["a"], []))
    manager = flow.start("run", "flow.yaml")
    wait_for(lambda: (flow.folder / "began").exists() and flow.processes("a"))
    manager.kill()
    manager.communicate()
    state = flow.run_of_flow() / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "host": "elsewhere"}))
    (flow.folder / "go").touch()
    program, = flow.processes("a")
    flow.slipway("resume", "last")
    assert f"step 'a' starts again, and its program of before (process {program} on elsewhere) may" in flow.said
