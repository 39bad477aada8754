"""What can go wrong: the documents slipway.error/1 of the program, ends of jobs without a result, and calls that
cannot be sent."""

from slipway.errors import SlipwayError


class LaunchError(SlipwayError):
    """Any error of this module. `next_step` says what to do, where that is known; `exit_code` is that of `slipway`."""

    kind = ""
    exit_code = None

    def __init__(self, message, next_step=""):
        super().__init__(message, next_step)
        self.message = message
        self.next_step = next_step

    def __str__(self):
        return f"{self.message}\n  next: {self.next_step}" if self.next_step else self.message


class LaunchWarning(UserWarning):
    """What `slipway submit` warns of."""


class ProgramNotFoundError(LaunchError, FileNotFoundError):
    """The program `slipway` is missing or cannot be started."""


class CommandError(LaunchError):
    """A command of `slipway` has failed. `document` is its slipway.error/1, `context` where it happened."""

    def __init__(self, message, next_step="", document=None):
        super().__init__(message, next_step)
        self.document = document or {}
        self.context = self.document.get("context", [])
        self.exit_code = self.document.get("exit_code", self.exit_code)


class CommandFailedError(CommandError):
    """A check, a file or a run is not as it should be."""

    kind, exit_code = "failed", 1


class UsageError(CommandError, ValueError):
    """A value that the command cannot take, or a run that does not exist."""

    kind, exit_code = "usage", 2


class SpecError(UsageError):
    """A spec is wrong. `diagnostics` has file, line, column and message of each error."""

    def __init__(self, message, next_step="", document=None):
        super().__init__(message, next_step, document)
        self.diagnostics = self.document.get("diagnostics", [])

    def __str__(self):
        places = (f"{each['file']}:{each['line']}:{each['column']}: {each['message']}" +
                  (f"; did you mean '{each['suggestion']}'?" if each.get("suggestion") else "")
                  for each in self.diagnostics if each["message"] not in self.message)  # which mostly has them all
        return "\n  ".join([super().__str__(), *places])


class EnvironmentFaultError(CommandError):
    """Something outside of Slipway is missing or broken: Slurm, MPI, a disk, data."""

    kind, exit_code = "environment", 3


class BusyError(CommandError):
    """Another process holds it."""

    kind, exit_code = "busy", 4


class DefectError(CommandError):
    """A defect in Slipway, or an answer that is no JSON document."""

    kind, exit_code = "internal", 70


class TryAgainError(CommandError):
    """It may succeed later."""

    kind, exit_code = "try_again", 75


class CommandInterruptedError(CommandError):
    """The user ended it."""

    kind, exit_code = "interrupted", 130


_BY_KIND = {kind.kind: kind for kind in (CommandFailedError, UsageError, EnvironmentFaultError, BusyError, DefectError,
                                         TryAgainError, CommandInterruptedError)}


def of_document(document):
    """The exception for a slipway.error/1 document."""
    kind = SpecError if document.get("diagnostics") else _BY_KIND.get(document.get("kind"), CommandError)
    return kind(document.get("message", "the command failed"), document.get("next_step", ""), document)


class JobError(LaunchError):
    """A job or run has ended without a result. `job` is it, `cause` what `slipway status --json` says."""

    def __init__(self, message, next_step="", job=None, status=None):
        super().__init__(message, next_step)
        self.job = job
        self.cause = (status or {}).get("cause") or {}
        self.exit_code = (status or {}).get("outcome")


class JobFailedError(JobError):
    """Its program ended without a result: a signal, no memory, a lost node, a time limit."""


class JobCancelledError(JobError):
    """The user ended it."""


class JobLostError(JobError):
    """Its manager is gone. `slipway resume` continues it."""


class JobTimeoutError(LaunchError, TimeoutError):
    """It has not ended within the time given. It goes on."""


class NotPicklableError(LaunchError, TypeError):
    """A function or an argument cannot be sent to another process."""


class ResultError(LaunchError):
    """A result is missing, damaged, of another user, or cannot be rebuilt here."""


class RemoteError(LaunchError):
    """An exception of a job whose own type cannot be rebuilt here. `type_name` is its name."""

    def __init__(self, message, next_step="", type_name=""):
        super().__init__(message, next_step)
        self.type_name = type_name


class RemoteTraceback(Exception):
    """The traceback of an exception where it was raised: its cause, so that Python prints both."""

    def __init__(self, text):
        super().__init__(text)
        self.text = text

    def __str__(self):
        return f"\n{self.text}"
