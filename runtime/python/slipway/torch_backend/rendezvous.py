"""init_process_group("slipway") under mpirun, which sets none of torch's variables: the job says what they hold.

Where RANK is not set and an MPI launcher started the process, the method env:// first joins the job and sets RANK,
WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT. The method slipway:// does the same for any environment of MPI.
Each call sets them again, with another port: the store of the group before may still be there.
"""

import datetime
import os
import socket

from slipway import _calls, _job, objects
from slipway.torch_backend import members

_set_here = {}  # the variables that set_variables() has set, by name


def _free_port():
    with socket.socket() as listener:
        listener.bind(("", 0))
        return listener.getsockname()[1]


def set_variables(timeout):
    """Collective over the job."""
    if not _job.in_job():
        members.join(timeout)
    one_node = _calls.ask("slipway_local_size") == _job.size()
    host, port = objects.broadcast_object(("127.0.0.1" if one_node else socket.getfqdn(), _free_port()))
    _set_here.update(RANK=str(_job.rank()), WORLD_SIZE=str(_job.size()), LOCAL_RANK=str(_job.local_rank()),
                     LOCAL_WORLD_SIZE=str(_calls.ask("slipway_local_size")), MASTER_ADDR=host, MASTER_PORT=str(port))
    os.environ.update(_set_here)


def _are_ours():
    """Whether the variables are those of an earlier group of this job; a program may have set others since."""
    places = ("RANK", "MASTER_ADDR", "MASTER_PORT")
    return bool(_set_here) and _job.in_job() and all(os.environ.get(name) == _set_here[name] for name in places)


def install(module):
    """`module`: torch's, whose table of methods is private; without it scripts under mpirun set the variables."""
    handlers = getattr(module, "_rendezvous_handlers", None)
    if handlers is None or "env" not in handlers:
        return
    by_environment = handlers["env"]

    def by_environment_or_job(url, timeout=datetime.timedelta(minutes=30), **options):
        chosen = "rank=" in url  # by the arguments of init_process_group
        if not chosen and ("RANK" not in os.environ or _are_ours()) and members.by_mpi_launcher():
            set_variables(timeout)
            url = "env://"
        return by_environment(url, timeout=timeout, **options)

    def by_job(_, timeout=datetime.timedelta(minutes=30), **options):
        set_variables(timeout)
        return by_environment("env://", timeout=timeout, **options)
    handlers["env"] = by_environment_or_job
    handlers.setdefault("slipway", by_job)
