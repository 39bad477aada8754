"""The files that Slurm reads, as text. Pure functions of the plan."""

import shlex

from bed import accounting, plan as plans

PYTHON = "/usr/bin/python3 -IB"


def slurm_conf(plan):
    """slurm.conf: parameters, nodes and partitions; the user's NAME=VALUE replace ours or are added."""
    parameters = _parameters(plan)
    added = []
    for line in plan.settings.conf:
        name, _, value = line.partition("=")
        if name in ("NodeName", "PartitionName"):
            added.append(line)
        else:
            parameters[name] = value
    lines = [f"{name}={value}" for name, value in parameters.items()]
    return "\n".join(lines + _nodes(plan) + _partitions() + added) + "\n"


def _parameters(plan):
    parameters = {
        "ClusterName": "testbed",
        "SlurmctldHost": f"{plan.hostname}({plan.controller_address})",
        "SlurmctldPort": plan.controller_port,
        "SlurmUser": plan.user,
        "SlurmdUser": plan.user,
        # A credential's life is also how long a requeued job waits: 120 s by default.
        "AuthInfo": f"socket={plan.munge_socket},cred_expire=5",
        "MpiDefault": "none",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobSubmitPlugins": "lua",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "SlurmdParameters": "config_overrides",                    # nodes may claim more than the machine has
        "SchedulerParameters": "bf_interval=1,sched_interval=1",
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "REQUEUE",
        "EnforcePartLimits": "ALL",                                # what can never run is refused, instead of waiting
        "JobRequeue": 1,
        "ReturnToService": 2,
        "SlurmdTimeout": 6,
        "MessageTimeout": 5,
        "TCPTimeout": 1,
        "KillWait": 2,
        "MinJobAge": 300,
        "InactiveLimit": 0,
        "JobCompType": "jobcomp/filetxt",
        "JobCompLoc": plan.log / "jobs",
        "StateSaveLocation": plan.state / "controller",
        "SlurmctldPidFile": plan.state / "slurmctld.pid",
        "SlurmctldLogFile": plan.log / "slurmctld.log",
        "SlurmdSpoolDir": plan.state / "nodes" / "%n" / "spool",
        "SlurmdPidFile": plan.state / "nodes" / "%n" / "slurmd.pid",
        "SlurmdLogFile": plan.log / "slurmd-%n.log",
        "Licenses": "software:2",
    }
    if listening := _listening(plan):
        parameters["CommunicationParameters"] = listening
    if not plan.namespaces:
        parameters["TmpFS"] = plan.state / "nodes" / "%n" / "tmp"
        parameters["TaskProlog"] = plan.etc / "task_prolog"
    if plan.settings.gpus:
        parameters["GresTypes"] = "gpu"
    if plan.settings.accounting:
        parameters.update(accounting.parameters(plan))
    if plan.settings.burst_buffer != plans.NO_BUFFER:
        parameters["BurstBufferType"] = f"burst_buffer/{plan.settings.burst_buffer}"
    return parameters


def _listening(plan):
    """Nothing listens on more addresses than it must. The options mean the address that the machine's name leads to,
    also for srun; but that is called back where its own call came from: the same only when it is 127.0.0.1."""
    if plan.namespaces:
        return "NoCtldInAddrAny"
    if plan.address is None:
        return None
    return "NoCtldInAddrAny,NoInAddrAny" if plan.address == "127.0.0.1" else "NoCtldInAddrAny"


def _nodes(plan):
    """The first half of the nodes has the feature `left`, the others `right`."""
    lines = []
    for i, node in enumerate(plan.nodes):
        where = "" if plan.namespaces else f" NodeHostname={plan.hostname}"
        feature = "left" if 2 * i < len(plan.nodes) else "right"
        cores = f" Sockets=1 CoresPerSocket={plan.settings.cpus // plan.settings.threads} ThreadsPerCore={plan.settings.threads}"
        threads = cores if plan.settings.threads > 1 else ""
        gpus = f" Gres=gpu:{plan.settings.gpus}" if plan.settings.gpus else ""
        lines.append(f"NodeName={node.name}{where} NodeAddr={node.address} Port={node.port} CPUs={plan.settings.cpus}{threads} "
                     f"RealMemory={plan.settings.memory_mib} Feature={feature}{gpus}")
    return lines


def _partitions():
    return [
        "PartitionName=debug Nodes=ALL Default=YES MaxTime=60 DefaultTime=10 PriorityTier=1 GraceTime=5",
        "PartitionName=short Nodes=ALL MaxTime=1 DefaultTime=1 PriorityTier=1 GraceTime=5",
        "PartitionName=small Nodes=ALL MaxNodes=2 MaxTime=60 DefaultTime=10 PriorityTier=1 GraceTime=5",
        "PartitionName=urgent Nodes=ALL MaxTime=60 DefaultTime=10 PriorityTier=10 PreemptMode=OFF",
    ]


def cgroup_conf():
    """slurmd starts a cgroup plugin even when nothing uses it; this one accepts machines without cgroups."""
    return "CgroupPlugin=cgroup/v1\n"


def gpus(plan):
    """The names of a node's devices. They lead to /dev/null: jobs learn which are theirs; nobody is kept from others."""
    return [f"gpu{i}" for i in range(plan.settings.gpus)]


def gres_conf(plan):
    """gres.conf; empty without devices."""
    devices = "".join(f"Name=gpu File={plan.etc}/{name}\n" for name in gpus(plan))
    return "AutoDetect=off\n" + devices if devices else ""


def hosts(plan):
    """/etc/hosts of the nodes: they know each other and the login node by name."""
    lines = ["127.0.0.1 localhost", f"{plan.controller_address} {plan.hostname}"]
    return "\n".join(lines + [f"{node.address} {node.name}" for node in plan.nodes]) + "\n"


def task_prolog(plan):
    """Plain nodes share the machine's /tmp, /dev/shm and name: what would collide gets a folder of the node. Not so
    Open MPI's shared memory in a batch script, whose mpirun would hand the folder of its node to the ranks of all."""
    return ("#!/bin/sh\n"
            f"folder={shlex.quote(str(plan.state))}/nodes/$SLURMD_NODENAME/tmp\n"
            'echo "export TMPDIR=$folder"\n'
            'test -z "$SLURM_STEP_ID" || echo "export OMPI_MCA_btl_vader_backing_directory=$folder"\n')


def resolv_conf():
    """/etc/resolv.conf of the nodes: there is no name server to wait for."""
    return "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"


def job_submit(plan, sources):
    """job_submit.lua, which checks accounts; `sources` is the folder of what it loads."""
    banner = f"banner = {_lua_text(plan.settings.banner)}\n" if plan.settings.banner else ""
    return f"{banner}dofile({_lua_text(sources / 'job_submit.lua')})\n"


def burst_buffer_conf(plan):
    """burst_buffer.conf; empty without burst buffers."""
    common = "StageInTimeout=60\nStageOutTimeout=60\nOtherTimeout=30\nValidateTimeout=5\n"
    if plan.settings.burst_buffer == plans.DATAWARP:
        return (common + "Flags=EmulateCray,EnablePersistent,TeardownFailure\nDefaultPool=pool\n"
                f"GetSysState={plan.etc}/dw_wlm_cli\nGetSysStatus={plan.etc}/dwstat\n")
    if plan.settings.burst_buffer == plans.LUA:
        return common + "Flags=TeardownFailure\n"
    return ""


def buffer_tools(plan, sources):
    """{name: text} of the programs that Slurm's burst-buffer plugin calls, beside slurm.conf.

    `sources` is the folder of the stand-in, which they tell where this bed's buffers are."""
    store = shlex.quote(str(plan.buffers))
    tool = f"#!/bin/sh\nexec {PYTHON} {shlex.quote(str(sources))}/%s --store {store} %s \"$@\"\n"
    if plan.settings.burst_buffer == plans.DATAWARP:
        return {"dw_wlm_cli": tool % ("dw_wlm_cli.py", "--dialect DW"), "dwstat": tool % ("dwstat.py", "")}
    if plan.settings.burst_buffer == plans.LUA:
        return {"buffer_tool": tool % ("dw_wlm_cli.py", "--dialect BB_LUA"),
                "burst_buffer.lua": f"buffer_tool = {_lua_text(plan.etc / 'buffer_tool')}\n"
                                    f"dofile({_lua_text(sources / 'burst_buffer.lua')})\n"}
    return {}


def _lua_text(text):
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def environment_text(environment, programs):
    """A file to be sourced by a shell. `programs` is put before the folders where it looks for programs."""
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in environment.items()]
    return "".join(lines) + f'export PATH={shlex.quote(str(programs))}:"$PATH"\n'
