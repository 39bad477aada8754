#!/usr/bin/python3
"""`slipway --on HOST` over a real sshd on loopback, which another user runs where the tests may make one."""

import json
import os
import pathlib
import pty
import pwd
import select
import shutil
import socket
import subprocess
import tempfile

import pytest

from reserved_port import reserved_port
from waiting import wait_for

PROGRAM = os.environ["SLIPWAY_PROGRAM"]
SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
OTHER_USER = 12345
IS_ROOT = os.geteuid() == 0

pytestmark = [pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: openssh-server)"),
              pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")]

SPEC = """\
name: far
launch: {engine: local, workdir: spec}
train: {command: [sh, step.sh], metrics: {from: stdout, pattern: 'loss: (?<loss>\\S+)'}}
"""


def key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)


class Login:
    """An sshd with a user, whose home is a folder of the test. With root it is a user of its own, in a mount namespace
    with another /etc/passwd, /run and /var/log; else it is the user of the tests, and there are no terminals."""

    def __init__(self, folder, port):
        self.folder, self.home, self.port = folder, folder / "home", port
        self.user = "far" if IS_ROOT else pwd.getpwuid(os.geteuid()).pw_name
        for each in (self.home, folder / "daemon"):
            each.mkdir()
        key(folder / "key")
        key(folder / "daemon/host")
        shutil.copy(folder / "key.pub", folder / "daemon/authorized")
        self._configure()
        self._process = self._start()
        self._wait()

    def _configure(self):
        profile = f"PATH={os.path.dirname(PROGRAM)}:{os.environ['PATH']} XDG_CONFIG_HOME={self.home}/.config"
        (self.folder / "daemon/config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/daemon/host\nPidFile none\n"
            f"AuthorizedKeysFile {self.folder}/daemon/authorized\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nSetEnv {profile}\n")
        (self.folder / "passwd").write_text(
            "".join(line + "\n" for line in pathlib.Path("/etc/passwd").read_text().splitlines()
                    if not line.startswith("sshd:")) +
            f"sshd:*:{OTHER_USER - 1}:65534::/run/sshd:/usr/sbin/nologin\n"
            f"far:*:{OTHER_USER}:{OTHER_USER}::{self.home}:/bin/sh\n")

    def _start(self):
        words = [SSHD, "-D", "-e", "-f", f"{self.folder}/daemon/config"]
        if IS_ROOT:
            subprocess.run(["chown", "-R", str(OTHER_USER), self.home], check=True)
            mounts = ('mount --bind "$1" /etc/passwd; mount -t tmpfs none /run; mount -t tmpfs none /var/log; '
                      'mkdir -m 755 /run/sshd; shift; exec "$@"')
            words = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", mounts, "sh",
                     str(self.folder / "passwd"), *words]
        return subprocess.Popen(words, stderr=(self.folder / "sshd.log").open("w"), stdin=subprocess.DEVNULL)

    def _wait(self):
        def said():
            return (self.folder / "sshd.log").read_text()

        def answers():
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                if self._process.poll() is not None:
                    pytest.skip(f"sshd cannot run here: {said().strip()}")
                return False
        wait_for(answers, 60, said)

    def end(self):
        self._process.terminate()
        self._process.wait()


@pytest.fixture(scope="module")
def login():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="far-", dir="/var/tmp"))  # short: sockets have paths of 100 bytes
    folder.chmod(0o755)
    try:
        with reserved_port() as port:
            found = Login(folder, port)
            yield found
            found.end()
    finally:
        shutil.rmtree(folder)


class Here:
    """A laptop: a home with settings and keys, and a project."""

    def __init__(self, folder, login):
        self.folder, self.login, self.project = folder, login, folder / "project"
        self.bin, self.runtime = folder / "bin", folder / "run"
        for each in (self.bin, self.runtime, self.project, folder / "config/slipway"):
            each.mkdir(parents=True)
        self.settings()
        # The user's own configuration of ssh, wherever the home of the tests is.
        for name in ("ssh", "rsync"):
            self.wrap(name)
        self.environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(folder),
                            "XDG_CONFIG_HOME": str(folder / "config"), "XDG_RUNTIME_DIR": str(self.runtime)}
        (self.project / "exp.yaml").write_text(SPEC)
        (self.project / "step.sh").write_text('echo "loss: 0.5"; cat data.txt; id -un\n')
        (self.project / "data.txt").write_text("brought\n")

    def wrap(self, name):
        """Notes each call; ssh gets the configuration of the test as that of the user."""
        real = shutil.which(name)
        more = f'-F {self.folder}/ssh_config ' if name == "ssh" else ""
        (self.bin / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {self.folder}/calls\nexec {real} {more}"$@"\n')
        (self.bin / name).chmod(0o755)

    def settings(self, more="", **ssh):
        options = {"HostName": "127.0.0.1", "Port": self.login.port, "User": self.login.user,
                   "IdentityFile": self.login.folder / "key", "IdentitiesOnly": "yes",
                   "UserKnownHostsFile": self.folder / "known", "StrictHostKeyChecking": "accept-new",
                   "LogLevel": "ERROR", **ssh}
        (self.folder / "ssh_config").write_text(
            "Host cluster\n" + "".join(f"  {name} {value}\n" for name, value in options.items()))
        (self.folder / "config/slipway/config.yaml").write_text(
            f"remotes:\n  far: {{ssh: cluster, root: 'work place', program: {PROGRAM}{more}}}\n")

    def slipway(self, *words, status=0, on="far", cwd=None):
        done = subprocess.run([PROGRAM, "--on", on, *map(str, words)], env=self.environment, cwd=cwd or self.project,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        log = (self.login.folder / "sshd.log").read_text()[-2000:]
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{log}"
        self.said = done.stderr
        return done.stdout

    def calls(self, name):
        return [line for line in (self.folder / "calls").read_text().splitlines() if line.startswith(name + " ")]

    def there(self):
        return self.login.home / "work place"

    def disconnect(self):
        """Ends all shared connections; ssh removes their sockets a moment later."""
        sockets = [*self.runtime.glob("slipway-*"), *self.folder.glob("mine-*")]
        for path in sockets:
            subprocess.run([self.bin / "ssh", "-o", f"ControlPath={path}", "-O", "exit", "cluster"],
                           env=self.environment, capture_output=True)
        wait_for(lambda: not any(path.exists() for path in sockets), 60, "the end of the connections")


@pytest.fixture
def here(login):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="laptop-", dir="/var/tmp"))
    found = Here(folder, login)
    yield found
    found.disconnect()
    shutil.rmtree(folder)
    shutil.rmtree(login.home / "work place", ignore_errors=True)


def test_a_run_happens_there_with_the_files_of_here(here):
    out = here.slipway("run", "exp.yaml", "--no-prefix")
    assert "brought" in out and here.login.user in out.split()
    assert "3 files" in here.said and "to cluster:work place/project-" in here.said
    project, = here.there().glob("project-*")
    assert {each.name for each in project.iterdir()} == {"exp.yaml", "step.sh", "data.txt"}
    run, = (here.there() / "runs").iterdir()
    assert f"folder  {run}" in out, "without .. in it"
    assert run.name.startswith("far-") and not (here.project / "runs").exists()
    (here.project / "data.txt").write_text("changed\n")
    assert "changed" in here.slipway("run", "exp.yaml")
    assert "1 file, 8 B" in here.said, "only what changed"


def test_runs_there_are_seen_from_any_folder(here, tmp_path):
    run = here.slipway("submit", "-q", "exp.yaml").strip()
    here.slipway("wait", run, "--timeout", "60s", cwd=tmp_path)
    assert json.loads(here.slipway("status", run, "--json", cwd=tmp_path))["phase"] == "succeeded"
    assert "brought" in here.slipway("logs", "-f", run, cwd=tmp_path)
    assert run in here.slipway("ls", cwd=tmp_path)
    assert here.slipway("report", run, "-q", cwd=tmp_path).strip() == str(tmp_path / f"{run}.html")
    page = (tmp_path / f"{run}.html").read_text()
    assert run in page and "</html>" in page
    here.slipway("report", run, "--out", "mine.html", cwd=tmp_path)
    assert (tmp_path / "mine.html").read_text()[:15] == page[:15]
    assert json.loads(here.slipway("report", run, "--json", cwd=tmp_path))["runs"][0]["run"] == run


def test_exit_codes_and_errors_are_those_of_there(here):
    (here.project / "step.sh").write_text("exit 3\n")
    assert "exit status 3" in here.slipway("run", "exp.yaml", status=1)
    assert json.loads(here.slipway("status", "nothing", "--json", status=2))["kind"] == "usage"
    here.slipway("report", "nothing", status=2)
    assert "no run 'nothing'" in here.said


def test_words_arrive_as_they_are(here):
    value = "a b '\"$(touch /var/tmp/never)`id`*;\\"
    plan = json.loads(here.slipway("plan", "exp.yaml", "--json", "--set", f"description={json.dumps(value)}"))
    assert plan["spec"]["description"] == value
    assert not pathlib.Path("/var/tmp/never").exists()


def test_one_connection_serves_all_commands(here):
    here.slipway("plan", "exp.yaml", "-q")
    assert list(here.runtime.glob("slipway-*")), "the shared connection"
    before = (here.login.folder / "sshd.log").read_text().count("Accepted publickey")
    here.slipway("ls")
    here.slipway("plan", "exp.yaml", "-q")
    assert (here.login.folder / "sshd.log").read_text().count("Accepted publickey") == before


def test_the_user_s_own_shared_connection_is_used(here):
    here.settings(ControlMaster="auto", ControlPath=here.folder / "mine-%C", ControlPersist="30")
    here.slipway("ls")
    assert list(here.folder.glob("mine-*")) and not list(here.runtime.glob("slipway-*"))


def test_files_that_are_ignored_stay_here(here):
    for name in (".git/config", "runs/old/state.json", "build/x", "data/large.bin", "keep/x", "m.pyc"):
        (here.project / name).parent.mkdir(parents=True, exist_ok=True)
        (here.project / name).write_text("x")
    (here.project / ".slipwayignore").write_text("# what is there already\n/data/\n")
    (here.project / "leads-out").symlink_to("/etc/hostname")
    here.slipway("validate", "exp.yaml")
    project, = here.there().glob("project-*")
    found = {str(each.relative_to(project)) for each in project.rglob("*") if each.is_file() or each.is_symlink()}
    assert found == {"exp.yaml", "step.sh", "data.txt", ".slipwayignore", "keep/x"}


def test_pipes_and_sockets_stay_here_and_are_named(here):
    os.mkfifo(here.project / "pipe")
    with socket.socket(socket.AF_UNIX) as open_socket:
        open_socket.bind(str(here.project / "sock"))
        here.slipway("validate", "exp.yaml")
    assert "rsync: " in here.said and '"pipe"' in here.said and '"sock"' in here.said
    project, = here.there().glob("project-*")
    assert {each.name for each in project.iterdir()} == {"exp.yaml", "step.sh", "data.txt"}


def test_a_large_folder_is_refused_with_its_largest_files(here):
    here.settings(more=", limit: 1MB")
    (here.project / "model.pt").write_bytes(bytes(3_000_000))
    here.slipway("run", "exp.yaml", status=2)
    assert "model.pt (3.00 MB)" in here.said and ".slipwayignore" in here.said and "remotes.far.limit" in here.said
    assert not list(here.there().glob("project-*/*")), "nothing was brought"


def test_a_login_that_asks_is_an_error_with_the_way_out(here):
    here.settings(IdentityFile="/nowhere/key", IdentityAgent="none")
    here.slipway("ls", status=3)
    assert "ssh does not reach 'cluster' without a question" in here.said and "Permission denied" in here.said
    assert "ssh-add" in here.said and "ControlMaster=auto" in here.said


def test_a_host_that_is_not_there_is_an_error(here):
    with reserved_port() as port:
        here.settings(Port=port)
        assert json.loads(here.slipway("ls", "--json", status=3))["kind"] == "environment"
    assert "Connection refused" in here.said


def test_a_name_that_is_no_host_may_be_a_slip(here):
    here.settings()
    here.slipway("ls", status=3, on="fra.invalid")
    assert "check the name (your settings have far)" in here.said


def test_a_missing_program_there_names_the_setting(here):
    (here.folder / "config/slipway/config.yaml").write_text("remotes: {far: {ssh: cluster, program: "
                                                            "/opt/none/slipway}}\n")
    here.slipway("ls", status=3)
    assert "'cluster' has no program '/opt/none/slipway'" in here.said and "remotes.far.program" in here.said


def test_a_root_that_cannot_be_made_is_an_error(here):
    (here.folder / "config/slipway/config.yaml").write_text(
        f"remotes: {{far: {{ssh: cluster, root: /proc/none, program: {PROGRAM}}}}}\n")
    here.slipway("plan", "exp.yaml", status=3)
    assert "remotes.far.root" in here.said


def test_what_makes_no_sense_there_is_refused(here):
    here.slipway("serve", status=2)
    assert "slipway serve works on this machine only" in here.said
    here.slipway("ls", status=2, on="-oProxyCommand=touch /var/tmp/never")
    assert not pathlib.Path("/var/tmp/never").exists()
    here.slipway("run", "none.yaml", status=2)
    assert "there is no spec 'none.yaml'" in here.said


def test_a_missing_rsync_is_named(here):
    here.environment["PATH"] = str(here.bin)
    (here.bin / "rsync").unlink()
    here.slipway("ls", status=3)
    assert "the program rsync is not found" in here.said


def test_a_submitted_run_survives_the_connection(here):
    (here.project / "step.sh").write_text("sleep 3; echo 'loss: 1'\n")
    run = here.slipway("submit", "-q", "exp.yaml").strip()
    here.disconnect()
    assert json.loads(here.slipway("wait", run, "--json"))["phase"] == "succeeded"


@pytest.mark.skipif(not IS_ROOT, reason="an sshd without root gives no terminals")
def test_ctrl_c_in_a_terminal_reaches_the_command_there(here):
    (here.project / "exp.yaml").write_text(SPEC + "checkpoint: {signal: TERM}\n")
    (here.project / "step.sh").write_text("echo it runs; exec sleep 60\n")
    ours, theirs = pty.openpty()
    process = subprocess.Popen([PROGRAM, "--on", "far", "run", "exp.yaml"], env=here.environment, cwd=here.project,
                               stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    said = b""
    while b"it runs" not in said:
        assert select.select([ours], [], [], 60)[0], said
        try:
            said += os.read(ours, 1000)
        except OSError:
            raise AssertionError(said) from None
    os.write(ours, b"\x03")
    try:
        while True:
            said += os.read(ours, 1000)
    except OSError:  # the last one has closed it
        pass
    assert process.wait(60) == 130, said
    os.close(ours)
    assert json.loads(here.slipway("status", "--json", status=130))["phase"] == "cancelled"


def test_settings_of_remotes_are_no_fields_of_specs(here):
    """They stand in the settings of the user only."""
    environment = {**here.environment}
    done = subprocess.run([PROGRAM, "validate", "exp.yaml"], cwd=here.project, env=environment, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    (here.project / "slipway.yaml").write_text("remotes: {far: {ssh: elsewhere}}\n")
    done = subprocess.run([PROGRAM, "validate", "exp.yaml"], cwd=here.project, env=environment, capture_output=True,
                          text=True)
    assert done.returncode == 2 and "remotes" in done.stderr
