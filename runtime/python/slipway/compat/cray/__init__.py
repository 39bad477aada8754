"""In place of Cray's plugin: `import slipway.compat.cray as mc` for `import ml_comm as mc`, or dl_comm.

For NumPy arrays and torch tensors; TensorFlow graphs are not taken. The optimizer for torch is in
slipway.compat.cray.torch. docs/coming-from/cray-plugin.md says where it differs.
"""

import atexit
import dataclasses

import slipway
from slipway import _arrays, collectives, teams
from slipway.compat._missing import names_not_there
from slipway.compat.cray._reports import Waiting, agree, tell_schedule, waiting_line
from slipway.errors import ArgumentError, MismatchError, NotSupportedError, StateError

__all__ = ["average", "barrier", "broadcast", "check_buffers_match", "config_team", "finalize", "get_nranks",
           "get_rank", "gradients", "init", "init_mpi", "schedule", "waiting_line"]

_FRAMEWORKS = (None, "", "numpy", "torch", "pytorch")

_HOOK = "TensorFlow hooks are not there; "
_CALLBACK = "Keras callbacks are not there; "
_BROADCAST = "hand the variables as NumPy arrays to broadcast() before the first step, and assign what comes"
_METRICS = "hand each metric as a NumPy array to average()"
_RATE = "set the learning rate of the optimizer yourself at each step"

__getattr__ = names_not_there(__name__, {
    "BcastTensors": _HOOK + _BROADCAST,
    "InitConfigBcastTensors": f"{_HOOK}call init() and config_team(), then {_BROADCAST}",
    "AverageTrainMetrics": _HOOK + _METRICS,
    "AverageEvalMetrics": _HOOK + _METRICS,
    "InitPluginCallback": _CALLBACK + "call init() and config_team() before the first step",
    "BroadcastGlobalVariablesCallback": _CALLBACK + _BROADCAST,
    "BroadcastVariablesCallback": _CALLBACK + _BROADCAST,
    "MetricAverageCallback": _CALLBACK + _METRICS,
    "LearningRateScheduleCallback": _CALLBACK + _RATE,
    "LearningRateWarmupCallback": _CALLBACK + _RATE,
    "DistributedOptimizer": "that of PyTorch is in slipway.compat.cray.torch; with another framework hand its "
                            "gradients as NumPy arrays to gradients()",
})


@dataclasses.dataclass
class _Team:
    """How a team exchanges, as config_team was told, and what it has waited so far."""

    settings: dict
    waiting: Waiting
    total_steps: int = 0
    exchange: object = None


@dataclasses.dataclass
class _Plugin:
    """What init was told."""

    teams: dict = dataclasses.field(default_factory=dict)
    longest: int = 0
    begun: bool = False


_plugin = _Plugin()


def init_mpi():
    """The rank is known afterwards; init may follow."""
    if not slipway.initialized():
        slipway.init()
        atexit.register(_forget)


def init(nthreads_per_team=1, nteams=1, max_msg_len=0, framework=None):
    """Threads first, then teams, then the longest list of gradients in elements (more is allowed). Collective.

    A team has one thread, whatever `nthreads_per_team` says.
    """
    if framework not in _FRAMEWORKS:
        raise NotSupportedError(f"framework {framework!r}: gradients are NumPy arrays or torch tensors; from "
                                "TensorFlow hand over variable.numpy() and assign the result")
    if nthreads_per_team < 1 or nteams < 1 or max_msg_len < 0:
        raise ArgumentError(f"init({nthreads_per_team}, {nteams}, {max_msg_len}): threads and teams count from 1")
    init_mpi()
    for entry in _plugin.teams.values():
        if entry.exchange is not None:
            entry.exchange.team.unregister()
    _plugin.teams = {number: _Team({"mode": "sync"}, Waiting(number)) for number in range(nteams)}
    _plugin.longest, _plugin.begun = int(max_msg_len), True


def schedule(ksteps, max_steps):
    """The settings of a team that mean what ksteps means.

    ksteps of max_steps are synchronous, the others pipelined by one step: the first ones, or the last ones if negative.
    """
    if abs(ksteps) >= max_steps:
        return {"mode": "sync"}
    if ksteps >= 0:
        return {"mode": "delayed", "lag": 1, "sync_first": ksteps, "sync_last": 0}
    return {"mode": "delayed", "lag": 1, "sync_first": 0, "sync_last": -ksteps}


def config_team(team=0, transition_alg=0, ksteps=0, max_steps=0, verbosity=0, perf_freq=0):
    """Sets the schedule of a team, and how often (in calls) its waiting time is told at verbosity 2. Collective."""
    entry = _team(team)
    if entry.exchange is not None:
        raise StateError(f"config_team({team}) comes after gradients of this team")
    if transition_alg != 0:
        raise ArgumentError(f"transition_alg {transition_alg} is not known; there is 0")
    told = [int(value) for value in (team, transition_alg, ksteps, max_steps, verbosity, perf_freq)]
    agree("config_team", told)
    entry.settings, entry.total_steps = schedule(int(ksteps), int(max_steps)), max(0, int(max_steps))
    entry.waiting = Waiting(team, int(verbosity), int(perf_freq))
    tell_schedule(team, entry.settings, max_steps, verbosity)


def get_rank():
    """This rank, 0-based. Errors: StateError: before init_mpi() and init(). Local."""
    _require_job()
    return slipway.rank()


def get_nranks():
    """Ranks of the job. Errors: as get_rank(). Local."""
    _require_job()
    return slipway.size()


def barrier():
    slipway.barrier()


def gradients(arrays, team=0):
    """New arrays with the mean over all ranks; zeros in the first pipelined step. Collective.

    The list has the same shapes and dtypes at each step.
    """
    entry, arrays = _team(team), list(arrays)
    if entry.exchange is None:
        elements = sum(slipway.memory.elements(tuple(array.shape)) for array in arrays)
        if elements > _plugin.longest:
            raise ArgumentError(f"gradients of {elements} elements, but init was told at most {_plugin.longest}")
        entry.exchange = teams.CopiedTeam(f"cray {team}", arrays, entry.total_steps, **entry.settings)
    with entry.waiting.measured():
        entry.exchange.exchange(arrays)
    return entry.exchange.results()


def broadcast(arrays, root=0):
    """The arrays of rank `root`, in place; returns them. Collective."""
    return slipway.broadcast(list(arrays), root)


def average(array):
    """The mean over all ranks, of an array in place; returns it. Collective. Errors: ArgumentError: integers."""
    in_place = _arrays.is_numpy(array) or _arrays.is_torch(array)
    return collectives.average_in_place(array) if in_place else slipway.average(array)


def check_buffers_match(arrays, flag=0):
    """0 when all ranks hold the same bits, otherwise 1; with `flag` rank 0 says what differs. Collective."""
    try:
        slipway.check_match(list(arrays))
    except MismatchError as error:
        if flag and slipway.rank() == 0:
            print(f"slipway: {error}", flush=True)
        return 1
    return 0


def finalize():
    """Leaves the job; also done when the program ends. Collective."""
    _forget()
    if slipway.initialized():
        slipway.finalize()


def _require_job():
    if not slipway.initialized():
        raise StateError("this process is not in the job; call init_mpi() first")


def _team(number):
    if not _plugin.begun:
        raise StateError("call init(nthreads_per_team, nteams, max_msg_len) first")
    if number not in _plugin.teams:
        raise StateError(f"there is no team {number}: init was told {len(_plugin.teams)} teams")
    return _plugin.teams[number]


def _forget():
    _plugin.teams, _plugin.begun = {}, False
