"""In place of horovod.common.exceptions."""

from slipway.errors import SlipwayError

HorovodInternalError = SlipwayError


class HostsUpdatedInterrupt(RuntimeError):
    """Never raised: a job keeps its ranks. For code that catches it."""

    def __init__(self, skip_sync=False):
        super().__init__()
        self.skip_sync = skip_sync
