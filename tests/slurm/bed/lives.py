"""The two lives of a bed: for the length of one command, or in the background until it is told to go."""

import contextlib
import json
import os
import pwd
import signal
import subprocess

from bed.errors import BedError, Interrupted, UsageError
from bed.supervisor import Supervisor

COMMAND_PATIENCE_S = 10  # how long a command may take to end after a signal
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def throw_on_signals():
    """From now on the first of these signals throws Interrupted; all further ones are ignored."""
    def interrupt(number, _frame):
        _ignore_signals()
        raise Interrupted(number)

    for number in SIGNALS:
        signal.signal(number, interrupt)


def _ignore_signals():
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def _taken_down(supervisor):
    """Takes the bed down at the end, however that comes, and is not disturbed while it does."""
    try:
        yield
    finally:
        try:
            _ignore_signals()
        finally:  # also when a signal just came before that
            supervisor.down()


def run(settings, keep, command, user):
    """Brings a bed up, runs the command, takes the bed down; returns the command's exit status."""
    identity = _identity(user)
    supervisor = Supervisor(settings, keep)
    with _taken_down(supervisor):
        supervisor.up()
        return _serve_command(supervisor, _start(command, supervisor.environment, **identity))


def _identity(user):
    """What _start() needs to run a command as another user."""
    if user is None:
        return {"more": {}}
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise UsageError(f"--user {user}: there is no such user") from None
    if os.geteuid() not in (0, entry.pw_uid):
        raise UsageError("--user is for root")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": os.getgrouplist(user, entry.pw_gid),
            "more": {"USER": user, "LOGNAME": user, "HOME": entry.pw_dir}}


def _start(command, environment, more, **identity):
    try:
        return subprocess.Popen(command, env={**environment, **more}, **identity)
    except OSError as error:
        raise BedError(f"{command[0]}: {error.strerror}") from None


def _serve_command(supervisor, command):
    """Serves until the command ends. A signal to us is for the command too; one that does not end is killed."""
    try:
        return supervisor.serve(command)
    except Interrupted as interrupted:
        if interrupted.status != 128 + signal.SIGINT:  # the terminal has sent that to the command already
            command.terminate()
        try:
            command.wait(COMMAND_PATIENCE_S)
        except subprocess.TimeoutExpired:
            command.kill()
        raise


def up(settings, keep, followed):
    """Starts a supervisor in the background and waits for its word; returns the environment of clients, as text."""
    word, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(word)
            _live_in_background(Supervisor(settings, keep), tell, followed)
        finally:
            os._exit(0)
    os.close(tell)
    try:
        return _word_of(word, child)
    except Interrupted:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise


def _word_of(word, child):
    with open(word, encoding="utf-8") as pipe:
        said = pipe.read()
    told = json.loads(said or '{"error": "the supervisor ended without a word", "usage": false}')
    if "error" in told:
        os.waitpid(child, 0)
        raise (UsageError if told["usage"] else BedError)(told["error"])
    return told["environment"]


def _live_in_background(supervisor, tell, followed):
    """The supervisor's life without a terminal."""
    with _taken_down(supervisor):
        os.setsid()
        try:
            supervisor.up()
            _leave_terminal()
            _tell(tell, {"environment": supervisor.plan.environment_file.read_text()})
            supervisor.serve(followed=followed)
        except Exception as error:
            _tell(tell, {"error": str(error), "usage": isinstance(error, UsageError)})


def _leave_terminal():
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def _tell(fd, told):
    """Nobody listens any more when `up` was killed, or had its word already."""
    with contextlib.suppress(OSError):
        os.write(fd, json.dumps(told).encode())
        os.close(fd)
