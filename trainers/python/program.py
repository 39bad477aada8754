"""The main function of every trainer."""

import sys

import slipway
from slipway.trainers import settings
from slipway.trainers.options import Arguments, UsageError
from slipway.trainers.training import Ending, Training

GO_ON_LATER = 75


def run(task):
    """Ends the process: 0 done or stopped as asked, 1 failed, 2 called wrongly, 75 at the limit of its scheduler and
    ready to go on."""
    try:
        ending = _train(task, sys.argv[1:])
    except UsageError as error:
        _fail(task, error, 2)
    except Exception as error:  # sys.exit with a status does not wait for the other ranks, and the launcher ends them
        _fail(task, error, 1)
    if ending is Ending.AT_LIMIT:
        slipway.finalize()
        sys.exit(GO_ON_LATER)


def _fail(task, error, status):
    print(f"{task.name}: {error}", file=sys.stderr, flush=True)
    sys.exit(status)


def _train(task, words):
    arguments = Arguments(task.options())
    if arguments.take(words):
        print(f"{task.name}: {task.about}\n"
              "It is started by `slipway run`, which sets SLIPWAY_DATA_TRAIN and SLIPWAY_DATA_TEST. A value in\n"
              f"SLIPWAY_PARAMS replaces the argument of the same name.\n\n{arguments.help()}", end="")
        return Ending.DONE
    chosen = settings.read()
    arguments.override(chosen.parameters)
    if "seed" not in chosen.parameters:  # among the parameters the launcher has raised it
        arguments.seed += chosen.repeat
    task.configure(arguments)
    slipway.init()
    return Training(task, arguments, chosen).run()
