#!/usr/bin/python3
"""slipway watch in a real terminal: tmux, with a server of its own. Runs are real, small ones."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

import waiting

PROGRAM = pathlib.Path(os.environ["SLIPWAY_PROGRAM"])
PATIENCE = 40  # seconds, for a slow machine
PROMPT = r"(?m)^\$ ?$"
EMPTY = r"\A\$\s*\Z"


class Tmux:
    """One session of 80 x 24 in a server of its own."""

    def __init__(self, place, columns=80, rows=24, **variables):
        self.environment = {**os.environ, "TMUX_TMPDIR": str(place), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        self.environment.pop("TMUX", None)
        self.call("new-session", "-d", "-x", str(columns), "-y", str(rows), "-s", "s", "sh")
        for name, value in variables.items():
            self.type(f"export {name}={value}", "Enter")
        self.type(r"printf '\033[2J\033[H'", "Enter")
        self.wait_for(EMPTY)  # what is typed ahead would stand between prompts

    def call(self, *words):
        done = subprocess.run(["tmux", "-L", "slipway-watch", "-f", "/dev/null", *words], env=self.environment,
                              capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def type(self, *keys):
        self.call("send-keys", "-t", "s", *keys)

    def screen(self, *flags):
        return self.call("capture-pane", "-p", *flags, "-t", "s")

    def wait_for(self, *patterns):
        """The first screen that all of the patterns are found in."""
        def found():
            screen = self.screen()
            return screen if all(re.search(pattern, screen) for pattern in patterns) else None
        return waiting.wait_for(found, PATIENCE, lambda: f"{patterns} in:\n{self.screen()}")

    def program(self):
        """The process that the shell has started."""
        shell = self.call("display-message", "-p", "-t", "s", "#{pane_pid}").strip()
        return int(pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def kill(self):
        subprocess.run(["tmux", "-L", "slipway-watch", "kill-server"], env=self.environment, capture_output=True)


@pytest.fixture
def tmux(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    servers = []

    def start(**variables):
        servers.append(Tmux(tmp_path, SLIPWAY_RUNS=tmp_path / "runs", PS1="'$ '", **variables))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


def write(place, script, ensemble=None):
    spec = {"name": "small", "launch": {"engine": "local", "workdir": "spec"},
            "train": {"command": ["sh", "-c", script, "trial"] + (["{x}"] if ensemble else []),
                      "metrics": {"from": "stdout", "pattern": r"loss: (?<loss>\S+) step: (?<step>\d+)"}}}
    if ensemble is not None:
        spec["ensemble"] = {"objective": {"metric": "loss", "goal": "minimize"}, "sampler": "random", "parallel": 2,
                            "space": {"x": {"uniform": [0, 1]}}, **ensemble}
    (place / "exp.yaml").write_text(json.dumps(spec))


def slipway(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=100)


def start(place):
    """A run in the background; its process and its folder."""
    run = subprocess.Popen([PROGRAM, "run", "exp.yaml"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           stdin=subprocess.DEVNULL, start_new_session=True)

    def made():
        assert run.poll() is None
        return list((place / "runs").glob("small-*/state.json"))
    state_file, = waiting.wait_for(made, PATIENCE, "a run folder")
    return run, state_file.parent


def state(folder):
    return json.loads((folder / "state.json").read_text())


LONG = 'for i in $(seq 1 600); do echo "loss: 0.$((700 - i)) step: $i"; sleep 0.1; done'


def test_a_single_run_while_it_trains(tmp_path, tmux):
    write(tmp_path, LONG)
    run, folder = start(tmp_path)
    terminal = tmux()
    terminal.type(f"{PROGRAM} watch", "Enter")
    screen = terminal.wait_for("small-.* running", r"step \d+", "loss", "[⠁-⣿]")
    assert len(screen.splitlines()) <= 24
    terminal.type("3")
    terminal.wait_for("rank .*state", r"0 .*running")
    terminal.type("Enter")
    terminal.wait_for("log of rank 0", r"loss: 0\.\d+ step")
    terminal.type("Escape")
    terminal.type("4")
    terminal.wait_for("event", "running")
    terminal.type("?")
    terminal.wait_for("sort by the next column")
    terminal.type("x")
    terminal.type("1")
    terminal.wait_for("phases")
    terminal.call("resize-window", "-t", "s", "-x", "120", "-y", "40")
    terminal.wait_for("(?m)^ ?slipway watch", "phases")
    terminal.call("resize-window", "-t", "s", "-x", "30", "-y", "8")
    terminal.wait_for("needs 40 x 10", "slipway status")
    terminal.call("resize-window", "-t", "s", "-x", "80", "-y", "24")
    terminal.wait_for("phases")
    terminal.type("c")
    terminal.wait_for("cancel small-.*any other key: no")
    terminal.type("n")
    terminal.wait_for("nothing was changed")
    assert state(folder)["phase"] == "running"
    terminal.type("c")
    terminal.wait_for("cancel small-.*any other key: no")
    terminal.type("y")
    terminal.wait_for("small-.* cancelled")
    terminal.type("q")
    terminal.wait_for(PROMPT)
    assert run.wait(timeout=PATIENCE) == 130


def test_an_ensemble_from_its_first_trial_to_its_manager_s_end(tmp_path, tmux):
    write(tmp_path, 'i=0; while [ $i -lt 10 ]; do i=$((i+1)); echo "loss: $1 step: $i"; sleep 0.1; done; '
                    '[ "$SLIPWAY_TRIAL" != 1 ]', {"trials": 1000, "max_failures": 900, "stop_on_same_failure": 900})
    run, folder = start(tmp_path)
    terminal = tmux(NO_COLOR="1")
    terminal.type(f"{PROGRAM} watch last", "Enter")
    terminal.wait_for("small-.* running", r"complete \d", r"of 1000 trials", "best +loss", "failed 1")
    colours = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    assert not colours.search(terminal.screen("-e")), "NO_COLOR"
    terminal.type("3")
    terminal.wait_for("place +trial", r"running", "x=0")
    terminal.type("2")
    terminal.type("/")
    terminal.type("-l", "failed")
    terminal.wait_for("filter: failed_", "exit status 1")
    terminal.type("Enter")
    terminal.type("Enter")
    terminal.wait_for("trial 1", "failed", "[⠁-⣿]")
    terminal.type("l")
    terminal.wait_for("log of trial 1, rank 0", "loss: ")
    terminal.type("Escape")
    terminal.type("t")
    terminal.wait_for("run trial 1 of small-.* again")
    terminal.type("y")
    terminal.wait_for("trial 1 is queued again")
    os.kill(state(folder)["manager"]["pid"], signal.SIGKILL)
    run.wait(timeout=PATIENCE)
    terminal.wait_for("small-.* lost")
    terminal.type("C-c")
    terminal.wait_for(PROMPT)


def test_all_runs_and_the_way_into_one(tmp_path, tmux):
    write(tmp_path, "echo loss: 1 step: 1; exit 3")
    slipway("run", "exp.yaml")
    write(tmp_path, "echo loss: 1 step: 1")
    slipway("run", "exp.yaml")
    terminal = tmux()
    terminal.type(f"{PROGRAM} watch all", "Enter")
    terminal.wait_for("2 runs", "failed", "succeeded")
    terminal.type("/")
    terminal.type("-l", "failed")
    terminal.type("Enter")
    terminal.type("Enter")
    terminal.wait_for("small-.* failed", "why")
    terminal.type("Escape")
    terminal.wait_for("2 runs")
    terminal.type("q")
    terminal.wait_for(PROMPT)


def test_a_workflow_its_steps_and_the_way_into_one(tmp_path, tmux):
    write(tmp_path, "echo loss: 1 step: 1; while [ ! -e go ]; do sleep 0.05; done")
    (tmp_path / "flow.yaml").write_text("""name: flow
steps:
  say: {command: [echo, hello]}
  train: {experiment: exp.yaml, after: [say]}
  last: {command: ['false'], after: [train]}
""")
    run = subprocess.Popen([PROGRAM, "run", "flow.yaml"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           stdin=subprocess.DEVNULL, start_new_session=True)
    waiting.wait_for(lambda: list((tmp_path / "runs").glob("flow-*/steps/train/*/state.json")), PATIENCE, "a step's run")
    terminal = tmux()
    terminal.type(f"{PROGRAM} watch", "Enter")
    screen = terminal.wait_for("flow-.* running", "train +running", "say +done", "last +waiting", "1 running, 1 done")
    assert screen.index("train ") < screen.index("say "), "those that run come first"
    terminal.type("Enter")
    terminal.wait_for("small-.* running", "phases")
    terminal.type("Escape")
    terminal.wait_for("train +running")
    (tmp_path / "go").touch()
    terminal.wait_for("flow-.* failed", "train +done", "last +failed.*exit status 1")
    run.wait()
    terminal.type("/")
    terminal.type("-l", "say")
    terminal.type("Enter")
    terminal.type("l")
    terminal.wait_for("log of step say", "hello")
    terminal.type("Escape")
    terminal.type("c")
    terminal.wait_for("has ended already: failed")
    terminal.type("q")
    terminal.wait_for(PROMPT)
    terminal.type(f"{PROGRAM} watch last/say", "Enter")
    terminal.wait_for("log of step say", "hello")
    terminal.type("Escape")
    terminal.wait_for("train +done")
    terminal.type("q")
    terminal.wait_for(PROMPT)
    terminal.type(f"{PROGRAM} watch last/sya", "Enter")
    terminal.wait_for("has no step .sya.; did you mean .say.")
    terminal.type("clear", "Enter")
    terminal.type(f"{PROGRAM} watch all", "Enter")
    terminal.wait_for("1 runs", "flow-.*steps")
    terminal.type("Enter")
    terminal.wait_for("train +done")
    terminal.type("q")


@pytest.mark.parametrize("how", ["q", "C-c", "TERM", "HUP"])
def test_the_terminal_is_as_before(tmp_path, tmux, how):
    write(tmp_path, "echo loss: 1 step: 1")
    slipway("run", "exp.yaml")
    terminal = tmux()
    terminal.type("stty -a > before; echo ready", "Enter")
    terminal.wait_for("(?m)^ready")
    terminal.type(f"{PROGRAM} watch; echo status $?; stty -a > after; echo done", "Enter")
    terminal.wait_for("succeeded")
    if how in ("TERM", "HUP"):
        os.kill(terminal.program(), getattr(signal, "SIG" + how))
    else:
        terminal.type(how)
    screen = terminal.wait_for("(?m)^done")
    assert ("status 0" if how in ("q", "C-c") else "status 130") in screen
    assert "ready" in screen, "the screen before is there again"
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()


def test_it_changes_nothing(tmp_path, tmux):
    write(tmp_path, 'echo "loss: $1 step: 1"', {"trials": 3})
    slipway("run", "exp.yaml")
    folder, = (tmp_path / "runs").iterdir()

    def files():
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    before = files()
    terminal = tmux()
    terminal.type(f"{PROGRAM} watch", "Enter")
    terminal.wait_for("complete 3")
    terminal.type("2")
    terminal.type("Enter")
    terminal.wait_for("trial 0|trial 1|trial 2", "loss")
    terminal.type("q")
    terminal.wait_for(PROMPT)
    assert files() == before


def test_escape_sequences_of_a_program_stay_out(tmp_path, tmux):
    write(tmp_path, r"printf '\033]0;stolen\007\033[2J\033[31mred\033[0m text\n'; echo loss: 1 step: 1")
    slipway("run", "exp.yaml")
    terminal = tmux()
    title = terminal.call("display-message", "-p", "-t", "s", "#{pane_title}")
    terminal.type(f"{PROGRAM} watch", "Enter")
    terminal.wait_for("phases")
    terminal.type("l")
    terminal.wait_for("red text")
    assert terminal.call("display-message", "-p", "-t", "s", "#{pane_title}") == title
    terminal.type("q")


@pytest.mark.parametrize("variables, why", [({"TERM": "dumb"}, "TERM is 'dumb'"), ({"TERM": ""}, "TERM is not set"),
                                            ({"TERM": "nonsense-7"}, "does not know the terminal 'nonsense-7'")])
def test_a_terminal_that_will_not_do_is_said(tmp_path, tmux, variables, why):
    write(tmp_path, "echo loss: 1 step: 1")
    slipway("run", "exp.yaml")
    terminal = tmux(**variables)
    terminal.type(f"clear; {PROGRAM} watch; echo status $?", "Enter")
    terminal.wait_for(r"status \d")
    screen = terminal.screen("-J")
    assert why in screen and "slipway status" in screen and "status 3" in screen


def test_without_a_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "echo loss: 1 step: 1")
    slipway("run", "exp.yaml")
    done = slipway("watch")
    assert done.returncode == 3 and "needs a terminal" in done.stderr and "slipway status" in done.stderr
    done = slipway("watch", "--json")
    assert done.returncode == 2 and "no JSON form" in done.stderr
    assert slipway("watch", "no-such-run").returncode == 2
