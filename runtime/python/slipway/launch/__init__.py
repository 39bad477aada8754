"""Functions, commands and experiments as jobs, from Python, in scripts and notebooks.

    from slipway import launch
    job = launch.submit(train, 0.01, gpus_per_rank=1, time_limit="2h")
    job.result()                                            # what train(0.01) returned, or the exception that it raised
    for job in launch.as_completed(launch.map(train, rates, parallel=8)): ...
    run = launch.Experiment.from_yaml("exp.yaml", set={"train.args.epochs": 3}).run()
    run.trials()

It calls the program `slipway` and reads its JSON. It needs neither MPI nor libslipway, and no package beside Python's
own; cloudpickle and pandas are used where they are installed.
"""

from slipway.launch.errors import (BusyError, CommandError, CommandFailedError, CommandInterruptedError, DefectError,
                                   EnvironmentFaultError, JobCancelledError, JobError, JobFailedError, JobLostError,
                                   JobTimeoutError, LaunchError, LaunchWarning, NotPicklableError, ProgramNotFoundError,
                                   RemoteError, RemoteTraceback, ResultError, SpecError, TryAgainError, UsageError)
from slipway.launch.experiments import Experiment, Run
from slipway.launch.jobs import CommandResult, Job, MappedJob, as_completed, map, submit

__all__ = [
    "BusyError", "CommandError", "CommandFailedError", "CommandInterruptedError", "CommandResult", "DefectError",
    "EnvironmentFaultError", "Experiment", "Job", "JobCancelledError", "JobError", "JobFailedError", "JobLostError",
    "JobTimeoutError", "LaunchError", "LaunchWarning", "MappedJob", "NotPicklableError", "ProgramNotFoundError",
    "RemoteError", "RemoteTraceback", "ResultError", "Run", "SpecError", "TryAgainError", "UsageError", "as_completed",
    "map", "submit"]
