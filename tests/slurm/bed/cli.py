"""The command line of the test bed."""

import argparse
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys

from bed import control, folders, machine, plan as plans
from bed.errors import BedError, Interrupted, UsageError
from bed.supervisor import Supervisor

COMMAND_PATIENCE_S = 10  # how long a command may take to end after a signal
ACTIONS = {
    "kill": "SIGKILL to slurmctld, munge or slurmd:NODE; node:NODE loses its power",
    "end": "SIGTERM to slurmctld, munge or slurmd:NODE",
    "freeze": "SIGSTOP to slurmctld, munge or slurmd:NODE",
    "thaw": "SIGCONT to what was frozen",
    "start": "start slurmctld, munge, slurmd:NODE or node:NODE again",
    "cut": "pull the network cable of node:NODE out",
    "mend": "put it back",
}


def main(arguments):
    """Returns the exit status: 2 usage, 3 something outside is broken, 77 this machine cannot run the bed."""
    options = _parser().parse_args(arguments)
    try:
        return options.act(options)
    except BedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return error.status
    except Interrupted as interrupted:
        return interrupted.status


def _parser():
    parser = argparse.ArgumentParser(prog="testbed", description="A real Slurm of several nodes on this machine.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    run = commands.add_parser("run", help="bring a bed up, run a command with it, take it down; its exit status")
    _add_settings(run)
    run.add_argument("--user", metavar="NAME", help="who the command runs as; only for root")
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
    run.set_defaults(act=_run)

    up = commands.add_parser("up", help="bring a bed up and print the environment of its clients")
    _add_settings(up)
    up.add_argument("--follow", type=int, metavar="PID", help="take the bed down when this process ends")
    up.set_defaults(act=_up)

    check = commands.add_parser("check", help="can this machine run such a bed? Status 77 and the reason when not")
    _add_settings(check)
    check.set_defaults(act=_check)

    status = commands.add_parser("status", help="what runs")
    _add_state(status)
    status.set_defaults(act=_order, action="status", target="")
    down = commands.add_parser("down", help="take a bed down")
    _add_state(down)
    down.set_defaults(act=_down)
    for name, text in ACTIONS.items():
        command = commands.add_parser(name, help=text)
        _add_state(command)
        command.add_argument("target")
        command.set_defaults(act=_order, action=name)
    for name, state in (("drain", "drain"), ("undrain", "resume")):
        command = commands.add_parser(name, help=f"tell slurmctld: no new jobs on NODE{' no more' * (state != 'drain')}")
        _add_state(command)
        command.add_argument("node")
        command.set_defaults(act=_set_node_state, node_state=state)
    return parser


def _add_settings(parser):
    defaults = plans.Settings(state=None)
    parser.add_argument("--nodes", type=int, default=defaults.nodes, metavar="N")
    parser.add_argument("--cpus", type=int, default=defaults.cpus, metavar="N", help="of each node; more than there are is fine")
    parser.add_argument("--memory", type=int, default=defaults.memory_mib, metavar="MIB", help="of each node")
    parser.add_argument("--mode", choices=("auto", plans.NAMESPACES, plans.PLAIN), default="auto",
                        help="nodes in namespaces of their own (root), or plain slurmds; auto: the first where it works")
    parser.add_argument("--burst-buffer", choices=(plans.NO_BUFFER, plans.DATAWARP, plans.LUA), default=plans.NO_BUFFER)
    parser.add_argument("--buffer-capacity", type=int, default=defaults.buffer_capacity_mib, metavar="MIB")
    parser.add_argument("--banner", default="", metavar="TEXT", help="what everyone who submits a job is told")
    parser.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE", help="any line of slurm.conf; repeatable")
    parser.add_argument("--state", type=pathlib.Path, metavar="FOLDER", help="where everything is kept while the bed is "
                        "up; must be empty or not there (default: a temporary folder)")
    parser.add_argument("--keep", action="store_true", help="leave the folder with its logs behind")


def _add_state(parser):
    parser.add_argument("--state", type=pathlib.Path, metavar="FOLDER", default=os.environ.get("SLIPWAY_TESTBED"),
                        help="the bed's folder (default: $SLIPWAY_TESTBED)")


def _settings(options):
    """Checks what can be checked before the first file is written."""
    for name, value, most in (("--nodes", options.nodes, plans.MAX_NODES), ("--cpus", options.cpus, 1024),
                              ("--memory", options.memory, 1 << 30), ("--buffer-capacity", options.buffer_capacity, 1 << 20)):
        if not 1 <= value <= most:
            raise UsageError(f"{name} {value}: must be from 1 to {most}")
    for line in options.conf:
        if "=" not in line or "\n" in line or line.endswith("="):
            raise UsageError(f"--conf {line}: must be NAME=VALUE")
    settings = plans.Settings(
        state=options.state and options.state.absolute(), nodes=options.nodes, cpus=options.cpus,
        memory_mib=options.memory, mode=machine.choose_mode(options.mode), burst_buffer=options.burst_buffer,
        buffer_capacity_mib=options.buffer_capacity, banner=options.banner,
        conf=tuple(options.conf))
    machine.require(settings)
    return settings


def _check(options):
    print(f"{_settings(options).mode} nodes can be had here")
    return 0


def _run(options):
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise UsageError("run which command?")
    identity = _identity(options.user)
    supervisor = Supervisor(_settings(options), options.keep)
    signals = _interrupt_on_signals()
    try:
        supervisor.up()
        started = subprocess.Popen(command, env={**supervisor.environment, **identity.pop("environment", {})}, **identity)
        return _serve_command(supervisor, started)
    except FileNotFoundError as error:
        raise BedError(f"{command[0]}: {error.strerror}") from None
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        supervisor.down()


def _serve_command(supervisor, command):
    """Serves until the command ends. A signal to us is for the command too; one that does not end is killed."""
    try:
        return supervisor.serve(command)
    except Interrupted as interrupted:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if interrupted.status != 128 + signal.SIGINT:  # the terminal has sent that to the command already
            command.terminate()
        try:
            command.wait(COMMAND_PATIENCE_S)
        except subprocess.TimeoutExpired:
            command.kill()
        raise


def _identity(user):
    """What subprocess.Popen needs to run as another user."""
    if user is None:
        return {}
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise UsageError(f"--user {user}: there is no such user") from None
    if os.geteuid() not in (0, entry.pw_uid):
        raise UsageError("--user is for root")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": os.getgrouplist(user, entry.pw_gid),
            "environment": {"USER": user, "LOGNAME": user, "HOME": entry.pw_dir}}


def _interrupt_on_signals():
    """From now on these signals throw Interrupted; returns them."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(number, _frame):
        raise Interrupted(number)

    for number in numbers:
        signal.signal(number, interrupt)
    return numbers


def _up(options):
    """Starts the supervisor in the background and waits for its word: an error, or the environment."""
    supervisor = Supervisor(_settings(options), options.keep)
    word, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(word)
        _background(supervisor, tell, options.follow)
    os.close(tell)
    _interrupt_on_signals()
    try:
        with open(word, encoding="utf-8") as pipe:
            said = pipe.read()
    except Interrupted:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise
    if not said:
        raise BedError("the supervisor ended without a word")
    told = json.loads(said)
    if "error" in told:
        os.waitpid(child, 0)
        raise (UsageError if told["usage"] else BedError)(told["error"])
    print(told["environment"], end="")
    return 0


def _background(supervisor, tell, followed):
    """The supervisor's life after `up`, without a terminal. Does not return."""
    os.setsid()
    signals = _interrupt_on_signals()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    try:
        supervisor.up()
        _tell(tell, {"environment": supervisor.plan.environment_file.read_text()})
        supervisor.serve(followed=followed)
    except Exception as error:
        _tell(tell, {"error": str(error), "usage": isinstance(error, UsageError)})
    finally:
        try:
            for number in signals:
                signal.signal(number, signal.SIG_IGN)
            supervisor.down()
        finally:
            os._exit(0)


def _tell(fd, told):
    os.write(fd, json.dumps(told).encode())
    os.close(fd)


def _order(options):
    said = control.order(_state(options), options.action, options.target)
    if said:
        print(said)
    return 0


def _down(options):
    state = _state(options)
    try:
        control.order(state, "down")
    except control.NoAnswer:
        if not folders.remove_dead(state):
            raise
    return 0


def _state(options):
    if options.state is None:
        raise UsageError("which bed? Name its folder with --state, or set SLIPWAY_TESTBED")
    return pathlib.Path(options.state).absolute()


def _set_node_state(options):
    conf = _state(options) / "etc" / "slurm.conf"
    return subprocess.run([shutil.which("scontrol") or "scontrol", "update", f"nodename={options.node}",
                           f"state={options.node_state}", "reason=testbed"],
                          env={**os.environ, "SLURM_CONF": str(conf)}).returncode
