"""The errors of the test bed and the exit codes they lead to."""


class BedError(Exception):
    """Something outside is missing or broken. The message names it, the reason and the next step."""
    status = 3


class UsageError(BedError):
    """The command line asks for what cannot be."""
    status = 2


class CannotHere(BedError):
    """This machine cannot run such a bed. Tests take the status for "skipped"."""
    status = 77


class Interrupted(BaseException):
    """A signal asks the bed to end; BaseException, so that no `except Exception` keeps it."""

    def __init__(self, number):
        super().__init__(f"signal {number}")
        self.status = 128 + number
