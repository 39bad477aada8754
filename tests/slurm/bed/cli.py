"""The command line of the test bed."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

from bed import control, folders, lives, machine, plan as plans
from bed.errors import BedError, Interrupted, UsageError

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
    lives.throw_on_signals()
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
        command = commands.add_parser(name, help=f"tell slurmctld to {state} NODE")
        _add_state(command)
        command.add_argument("node")
        command.set_defaults(act=_set_node_state, node_state=state)
    return parser


def _add_settings(parser):
    defaults = plans.Settings(state=None)
    parser.add_argument("--nodes", type=int, default=defaults.nodes, metavar="N")
    parser.add_argument("--cpus", type=int, default=defaults.cpus, metavar="N", help="of each node; may be too many")
    parser.add_argument("--threads", type=int, default=defaults.threads, metavar="N", help="of a core; Slurm counts them as CPUs")
    parser.add_argument("--memory", type=int, default=defaults.memory_mib, metavar="MIB", help="of each node")
    parser.add_argument("--gpus", type=int, default=defaults.gpus, metavar="N", help="of each node; nothing is behind")
    parser.add_argument("--mode", choices=("auto", plans.NAMESPACES, plans.PLAIN), default="auto",
                        help="nodes in namespaces of their own (root), or plain slurmds; auto: as is possible")
    parser.add_argument("--burst-buffer", choices=(plans.NO_BUFFER, plans.DATAWARP, plans.LUA), default=plans.NO_BUFFER)
    parser.add_argument("--buffer-capacity", type=int, default=defaults.buffer_capacity_mib, metavar="MIB")
    parser.add_argument("--banner", default="", metavar="TEXT", help="what everyone who submits a job is told")
    parser.add_argument("--accounting", action="store_true", help="with slurmdbd and a database, which take seconds more")
    parser.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE",
                        help="any line of slurm.conf; repeatable")
    parser.add_argument("--state", type=pathlib.Path, metavar="FOLDER",
                        help="where everything is kept; must be empty or not there (default: a temporary folder)")
    parser.add_argument("--keep", action="store_true", help="leave the folder with its logs behind")


def _add_state(parser):
    parser.add_argument("--state", type=pathlib.Path, metavar="FOLDER", default=os.environ.get("SLIPWAY_TESTBED"),
                        help="the bed's folder (default: $SLIPWAY_TESTBED)")


def _settings(options):
    """Checks what can be checked before the first file is written."""
    for name, value, least, most in (
            ("--nodes", options.nodes, 1, plans.MAX_NODES), ("--cpus", options.cpus, 1, 1024),
            ("--threads", options.threads, 1, 8), ("--gpus", options.gpus, 0, 64), ("--memory", options.memory, 1, 1 << 30),
            ("--buffer-capacity", options.buffer_capacity, 1, 1 << 20)):
        if not least <= value <= most:
            raise UsageError(f"{name} {value}: must be from {least} to {most}")
    for line in options.conf:
        if "=" not in line or "\n" in line or line.endswith("="):
            raise UsageError(f"--conf {line}: must be NAME=VALUE")
    settings = plans.Settings(
        state=options.state and options.state.absolute(), nodes=options.nodes, cpus=options.cpus, threads=options.threads,
        memory_mib=options.memory, gpus=options.gpus, mode=machine.choose_mode(options.mode),
        burst_buffer=options.burst_buffer,
        buffer_capacity_mib=options.buffer_capacity, banner=options.banner,
        accounting=options.accounting, conf=tuple(options.conf))
    machine.require(settings)
    return settings


def _check(options):
    print(f"{_settings(options).mode} nodes can be had here")
    return 0


def _run(options):
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise UsageError("run which command?")
    return lives.run(_settings(options), options.keep, command, options.user)


def _up(options):
    print(lives.up(_settings(options), options.keep, options.follow), end="")
    return 0


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
