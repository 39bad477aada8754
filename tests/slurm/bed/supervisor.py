"""The one process that owns a bed: brings it up, serves orders, takes it down.

All processes of a bed are below its supervisor. If that is killed, the kernel kills the daemons and the nodes with all
that runs on them; only plain nodes, which are no more than a daemon, leave the processes of their jobs behind."""

import dataclasses
import os
import pathlib
import platform
import pwd
import selectors
import shutil
import signal
import socket
import subprocess

from bed import accounting, claims, config, control, folders, machine, nodes, plan as plans
from bed.errors import UsageError
from bed.network import Switch
from bed.processes import Daemon, adopt_orphans, kill_all_below, reap, wait_until

PROGRAMS = pathlib.Path(__file__).resolve().parents[1]
START_PATIENCE_S = 60
IDLE_PATIENCE_S = 60
FOREIGN = ("SLURM_", "SBATCH_", "SALLOC_", "SRUN_")  # of a job or cluster that the bed was started in


class Supervisor:
    """Use: up(), then serve(), and down() in any case."""

    def __init__(self, settings, keep):
        self.settings = settings       # its folder is known and there once up() has begun
        self._has_folder = False
        self._keep = keep              # the folder stays, for a look at the logs
        self._claim = None
        self._switch = None
        self._daemons = {}             # slurmctld and munge
        self._nodes = {}
        self._orders = None
        self.plan = None
        self.environment = None

    # Bringing up

    def up(self):
        """Returns when all nodes are idle."""
        adopt_orphans()
        self.settings = dataclasses.replace(self.settings, state=folders.make(self.settings.state))
        self._has_folder = True
        self._claim = claims.claim(self.settings)
        self.plan = plans.Plan(self.settings, self._claim.number, platform.node(), machine.own_address(),
                               pwd.getpwuid(os.geteuid()).pw_name)
        self._write_files()
        self._orders = control.listen(self.plan.state)
        self._boot_nodes()
        self._start("munge")
        if self.settings.accounting:
            self._start_accounting()
        self._start("slurmctld")
        for node in self._nodes.values():
            node.start(self._switch)
        wait_until(self._all_idle, IDLE_PATIENCE_S, "all nodes idle", self._daemons["slurmctld"])

    def _write_files(self):
        plan = self.plan
        for folder in (plan.etc, plan.log, plan.shared, plan.buffers, plan.state / "controller", plan.state / "munge"):
            folder.mkdir(mode=0o755)
        for node in plan.nodes:
            for folder in (node.folder / "spool", node.folder / "tmp"):
                folder.mkdir(mode=0o755, parents=True)
            (node.folder / "tmp").chmod(0o1777)
        plan.shared.chmod(0o1777)
        (plan.state / "controller").chmod(0o700)
        self._write_key()
        self.environment = self._environment()
        texts = {"slurm.conf": config.slurm_conf(plan), "cgroup.conf": config.cgroup_conf(),
                 "hosts": config.hosts(plan), "resolv.conf": config.resolv_conf(),
                 "job_submit.lua": config.job_submit(plan, PROGRAMS),
                 "task_prolog": config.task_prolog(plan), "burst_buffer.conf": config.burst_buffer_conf(plan),
                 "gres.conf": config.gres_conf(plan),
                 **config.buffer_tools(plan, PROGRAMS / "burst")}
        for name, text in texts.items():
            (plan.etc / name).write_text(text)
            (plan.etc / name).chmod(0o755 if text.startswith("#!") else 0o644)
        if plan.settings.accounting:
            accounting_file = plan.etc / "slurmdbd.conf"
            accounting_file.touch(mode=0o600)
            accounting_file.write_text(accounting.slurmdbd_conf(plan))
        for name in config.gpus(plan):
            (plan.etc / name).symlink_to("/dev/null")
        capacity_mib = plan.settings.buffer_capacity_mib
        (plan.buffers / "pool").write_text(f"pool {capacity_mib}\n")
        plan.environment_file.write_text(config.environment_text(plan.environment(PROGRAMS), PROGRAMS))

    def _write_key(self):
        key = self.plan.state / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))

    def _environment(self):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        path = f"{PROGRAMS}:{os.environ.get('PATH', os.defpath)}"
        return {**inherited, **self.plan.environment(PROGRAMS), "PATH": path}

    def _boot_nodes(self):
        kind = nodes.SpaceNode if self.plan.namespaces else nodes.PlainNode
        self._nodes = {node.name: kind(self.plan, node, self.environment) for node in self.plan.nodes}
        if not self.plan.namespaces:
            return
        self._switch = Switch(self.plan)
        for node in self._nodes.values():
            node.begin_boot()
        for node in self._nodes.values():
            node.end_boot(self._switch)

    def _start_accounting(self):
        accounting.prepare(self.plan)
        self._start("database")
        self._start("slurmdbd")
        wait_until(lambda: accounting.enter_cluster(self.environment), START_PATIENCE_S, "the cluster in the accounting",
                   self._daemons["slurmdbd"])

    def _start(self, name):
        """Starts a daemon that is not of a node and waits until it listens."""
        if name in self._daemons and self._daemons[name].is_running():
            return
        command = {"munge": self._munged, "slurmctld": self._slurmctld, "slurmdbd": lambda: [machine.find("slurmdbd"), "-D"],
                   "database": lambda: accounting.database_command(self.plan)}[name]()
        environment = {**self.environment, **(accounting.environment(self.plan) if name == "slurmdbd" else {})}
        self._daemons[name] = daemon = Daemon(name, command, self.plan.log / f"{name}.out", environment)
        wait_until(lambda: self._listens(name), START_PATIENCE_S, f"{name} listening", daemon)

    def _munged(self):
        folder = self.plan.state / "munge"
        return [machine.find("munged"), "-F", "--force", f"--key-file={folder}/key",
                f"--socket={self.plan.munge_socket}", f"--pid-file={folder}/pid",
                f"--log-file={self.plan.log}/munged.log", f"--seed-file={folder}/seed"]

    def _slurmctld(self):
        """In namespaces it reads the bed's /etc/hosts: it listens where the machine's name leads, and nowhere else."""
        program = machine.find("slurmctld")
        if not self.plan.namespaces:
            return [program, "-D"]
        return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$1" -D',
                self.plan.etc / "hosts", program]

    def _listens(self, name):
        family, address = {
            "munge": (socket.AF_UNIX, str(self.plan.munge_socket)),
            "database": (socket.AF_UNIX, str(accounting.socket(self.plan))),
            "slurmdbd": (socket.AF_INET, (self.plan.controller_address, self.plan.database_port)),
            "slurmctld": (socket.AF_INET, (self.plan.controller_address, self.plan.controller_port))}[name]
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            return sock.connect_ex(address) == 0

    def _all_idle(self):
        asked = subprocess.run(["sinfo", "-h", "-N", "-p", "debug", "-o", "%T"], env=self.environment, text=True,
                               capture_output=True)
        return asked.stdout.split() == ["idle"] * len(self._nodes)

    # Serving

    def serve(self, command=None, followed=None):
        """Obeys orders until one says `down` or `followed`, a process id, ends. With a command, a Popen object: until
        that ends; then returns its exit status."""
        selector = selectors.DefaultSelector()
        selector.register(self._orders, selectors.EVENT_READ, "order")
        if followed is not None:
            selector.register(os.pidfd_open(followed), selectors.EVENT_READ, "down")
        if command is not None:
            selector.register(os.pidfd_open(command.pid), selectors.EVENT_READ, "ended")
        while True:
            happened = {key.data for key, _ in selector.select(timeout=1)}
            reap(self._children() + ([_Asked(command)] if command is not None else []))
            if "ended" in happened:
                code = command.wait()
                return code if code >= 0 else 128 - code
            if "down" in happened or ("order" in happened and control.answer(self._orders, self._obey) == "down"):
                return 0

    def _children(self):
        own = list(self._daemons.values()) + ([self._switch.process] if self._switch else [])
        return own + [child for node in self._nodes.values() for child in node.children()]

    def _obey(self, action, target):
        """Does what an order says; returns what to tell the one who gave it."""
        if action == "status":
            return self._status()
        if action == "down":
            return ""
        kind, _, name = target.partition(":")
        if kind in ("node", "slurmd"):
            if name not in self._nodes:
                raise UsageError(f"no node {name} here; there are {', '.join(self._nodes)}")
            act = self._on_node if kind == "node" else self._on_slurmd
            return act(action, self._nodes[name])
        if target in self._daemons:
            return self._on_daemon(action, target)
        raise UsageError(f"unknown target {target}; known: slurmctld, munge, slurmd:NODE, node:NODE")

    def _on_daemon(self, action, name):
        daemon = self._daemons[name]
        if action == "start":
            self._start(name)
        elif action in ("end", "kill"):
            daemon.end(signal.SIGTERM if action == "end" else signal.SIGKILL)
        elif action in ("freeze", "thaw"):
            daemon.send(signal.SIGSTOP if action == "freeze" else signal.SIGCONT)
        else:
            raise UsageError(f"{action} is for nodes")
        return ""

    def _on_slurmd(self, action, node):
        numbers = {"end": signal.SIGTERM, "kill": signal.SIGKILL, "freeze": signal.SIGSTOP, "thaw": signal.SIGCONT}
        if action == "start":
            node.start(self._switch)
        elif action in numbers:
            node.signal_slurmd(numbers[action])
            if action in ("end", "kill"):
                node.signal_slurmd(signal.SIGCONT)
                nodes.wait_for_end(node)
        else:
            raise UsageError(f"{action} is for nodes: {action} node:{node.name}")
        return ""

    def _on_node(self, action, node):
        if action == "start":
            node.start(self._switch)
        elif action == "kill":
            node.kill()
        elif action in ("cut", "mend"):
            if self._switch is None:
                raise UsageError("plain nodes have no network of their own")
            (self._switch.cut if action == "cut" else self._switch.mend)(node.name)
        else:
            raise UsageError(f"{action} is for slurmctld, munge and slurmd:{node.name}")
        return ""

    def _status(self):
        parts = {**self._daemons, **{f"slurmd:{name}": node for name, node in self._nodes.items()}}
        lines = [f"{name:<12} {'runs' if part.is_running() else 'is down'}" for name, part in parts.items()]
        return "\n".join([f"{self.settings.mode} in {self.settings.state}"] + lines)

    # Taking down

    def down(self):
        """Ends every process below this one and removes the folder. Safe in any state, also half-way up."""
        if self._orders is not None:
            self._orders.close()
        if self._switch is not None:
            self._switch.end()
        kill_all_below(os.getpid())
        if not self._keep and self._has_folder:
            shutil.rmtree(self.settings.state)
        if self._claim is not None:
            self._claim.close()


class _Asked:
    """A Popen object as reap() wants it."""

    def __init__(self, process):
        self._process = process
        self.pid = process.pid

    def is_running(self):
        return self._process.poll() is None
