"""How the records of one optimizer step are shared out."""

import dataclasses

from slipway.trainers.options import UsageError


@dataclasses.dataclass
class StepShare:
    batch: int   # records per rank and backward pass
    passes: int  # backward passes of a rank whose gradients are added up: gradients.accumulate
    ranks: int

    @property
    def in_all(self):
        return self.batch * self.passes * self.ranks


def share_step(arguments, usual_batch, passes, ranks):
    """From batch_size or global_batch_size. UsageError when both are given, or the global batch does not divide."""
    batch, in_all = arguments.batch_size, arguments.global_batch_size
    if in_all is None:
        return StepShare(batch or usual_batch, passes, ranks)
    if batch is not None:
        raise UsageError("--batch_size is per rank, --global_batch_size over all ranks: give one of them")
    if in_all % (ranks * passes) != 0:
        of_passes = "" if passes == 1 else f" with {passes} backward passes each"
        raise UsageError(f"--global_batch_size {in_all} does not divide among {ranks} ranks{of_passes}: take a multiple of "
                         f"{ranks * passes}")
    return StepShare(in_all // (ranks * passes), passes, ranks)
