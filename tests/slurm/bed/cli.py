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
import tempfile

from bed import config, control, machine, plan as plans
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

    for name, text in (("down", "take a bed down"), ("status", "what runs")):
        command = commands.add_parser(name, help=text)
        _add_state(command)
        command.set_defaults(act=_order, action=name, target="")
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
    defaults = plans.Settings(pathlib.Path())
    parser.add_argument("--nodes", type=int, default=defaults.nodes, metavar="N")
    parser.add_argument("--cpus", type=int, default=defaults.cpus, metavar="N", help="of each node; more than there are is fine")
    parser.add_argument("--memory", type=int, default=defaults.memory_mib, metavar="MIB", help="of each node")
    parser.add_argument("--mode", choices=("auto", plans.NAMESPACES, plans.PLAIN), default="auto",
                        help="nodes in namespaces of their own (root), or plain slurmds; auto: the first where it works")
    parser.add_argument("--burst-buffer", choices=(plans.NO_BUFFER, plans.DATAWARP, plans.LUA), default=plans.NO_BUFFER)
    parser.add_argument("--buffer-capacity", type=int, default=defaults.buffer_capacity_mib, metavar="MIB")
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
        state=(options.state or pathlib.Path()).absolute(), nodes=options.nodes, cpus=options.cpus,
        memory_mib=options.memory, mode=machine.choose_mode(options.mode), burst_buffer=options.burst_buffer,
        buffer_capacity_mib=options.buffer_capacity, conf=tuple(options.conf))
    machine.require(settings)
    return settings


def _make_state(wanted):
    """The bed's folder, made now. Its path must suit Slurm, which knows no quotes, and fit into that of a socket."""
    if wanted is None:
        state = pathlib.Path(tempfile.mkdtemp(prefix="slurm-bed-"))
        state.chmod(0o755)
        return state
    state = wanted.absolute()
    if len(os.fsencode(state)) > plans.MAX_STATE_PATH:
        raise UsageError(f"{state} is longer than {plans.MAX_STATE_PATH} bytes, too long for the sockets inside")
    if not all(c.isalnum() or c in "/._-+" for c in str(state)):
        raise UsageError(f"{state}: Slurm needs a path of letters, digits and / . _ - +")
    if state.exists() and (not state.is_dir() or any(state.iterdir())):
        raise UsageError(f"{state} is there and not empty; next: testbed down --state {state}, or choose another")
    state.mkdir(mode=0o755, parents=True, exist_ok=True)
    return state


def _check(options):
    print(f"{_settings(options).mode} nodes can be had here")
    return 0


def _run(options):
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise UsageError("run which command?")
    identity = _identity(options.user)
    signals = _interrupt_on_signals()
    supervisor = _supervisor(options)
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


def _supervisor(options):
    settings = _settings(options)
    return Supervisor(plans.dataclasses.replace(settings, state=_make_state(options.state)), options.keep)


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
    supervisor = _supervisor(options)
    word, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(word)
        os._exit(_background(supervisor, tell, options.follow))
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
        raise BedError(told["error"])
    print(config.environment_text(told["environment"]), end="")
    return 0


def _background(supervisor, tell, followed):
    """The supervisor's life after `up`: no terminal, its words in the bed's log."""
    os.setsid()
    signals = _interrupt_on_signals()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    status = 0
    try:
        supervisor.up()
        _tell(tell, {"environment": supervisor.own_environment()})
        supervisor.serve(followed=followed)
    except Interrupted as interrupted:
        status = interrupted.status
    except Exception as error:
        status = getattr(error, "status", 3)
        _tell(tell, {"error": str(error)})
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        supervisor.down()
    return status


def _tell(fd, told):
    os.write(fd, json.dumps(told).encode())
    os.close(fd)


def _order(options):
    said = control.order(_state(options), options.action, options.target)
    if said:
        print(said)
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
