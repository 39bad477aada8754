"""The records of a task as tensors, batch by batch: one rank's share of a set, through the batch reader."""

import dataclasses
import os

import numpy as np
import torch

import slipway
import slipway.data
from slipway.data.device import Copies, one_ahead, open_pinned
from slipway.errors import ArgumentError
from slipway.trainers.options import UsageError


@dataclasses.dataclass
class TensorBatch:
    """Shows the reader's memory: valid until the next batch is asked for."""

    input: torch.Tensor
    target: torch.Tensor
    records: np.ndarray


@dataclasses.dataclass
class Skipped:
    """Damaged records that were met and passed over."""

    count: int
    first_met: list  # {"record", "where", "reason"} of those that had not been met before


class Records:
    """What becomes of damaged records the spec says: data.NAME.on_corrupt."""

    def __init__(self, task, settings, dataset, training, batch, device, **options):
        self._task, self._device = task, device
        self._skips = dataset in settings.skips_damaged
        self._in_order = options.get("order") == "in_order"
        self._next_number = 0  # of records in order: what comes next has this number or a larger one
        self._replaced_before = self._met_before = 0
        self._records_per_pass = batch * slipway.size()
        options = {**options, "fields": [task.input(training), task.target()], "batch": batch, "rank": slipway.rank(),
                   "world": slipway.size()}
        try:
            self._reader = (slipway.data.open(dataset, **options) if device.type == "cpu" else
                            open_pinned(dataset, options))
        except ArgumentError as error:  # options that do not fit the files are refused on every rank
            place, reason = os.environ[f"SLIPWAY_DATA_{dataset.upper()}"], str(error).splitlines()[0]
            raise UsageError(f"'{place}': {reason}; --help shows the options that say what the data holds") from None
        self._input, self._target = self._reader.fields

    @property
    def count(self):
        """Records of an epoch over all ranks."""
        return self._reader.count

    @property
    def passes(self):
        """Batches of an epoch."""
        return self._reader.steps

    @property
    def waited_s(self):
        """Time that this rank has waited for data."""
        return self._reader.stats.wait_s

    @property
    def shares(self):
        """Tells what each node holds from what it may hold another time; "" where every node holds all."""
        return self._reader.position.get("shares", "")

    def begin(self, epoch, done):
        """Goes on behind the first `done` batches of an epoch; at its end when it has fewer."""
        self._next_number = 0
        self._reader.position = {"epoch": epoch, "records_done": min(done, self.passes) * self._records_per_pass}

    def __iter__(self):
        """To the end of the epoch, on the device. Of the last evaluation batch only records that are there."""
        if self._device.type == "cpu":
            yield from self._on_host()
            return
        batches = ((batch.records, {"input": batch.input, "target": batch.target}) for batch in self._on_host())
        for numbers, values in one_ahead(batches, Copies(self._device)):
            yield TensorBatch(values["input"], values["target"], numbers)

    def _on_host(self):
        for batch in self._reader:
            tensors, there = batch.torch(), batch.valid_count
            shown = TensorBatch(tensors[self._input][:there].view(there, *self._task.input_shape()),
                                tensors[self._target][:there], batch.records[:there])
            self._require_labels(shown)
            yield self._without_stand_ins(shown) if self._in_order and self._skips else shown

    def _without_stand_ins(self, batch):
        """What is measured should count every record once. One that stands in for a damaged record comes before its own
        place and again there, or after it: of records in order those count that have a larger number than all before."""
        rows = []
        for row, number in enumerate(batch.records.tolist()):
            if number >= self._next_number:
                rows.append(row)
                self._next_number = number + 1
        return TensorBatch(batch.input[rows], batch.target[rows], batch.records[rows])

    def take_skipped(self):
        """What this rank has skipped since the last call; None where a damaged record is an error."""
        if not self._skips:
            return None
        replaced, met = self._reader.stats.replaced, self._reader.corrupt
        skipped = Skipped(replaced - self._replaced_before, met[self._met_before:])
        self._replaced_before, self._met_before = replaced, len(met)
        return skipped

    def _require_labels(self, batch):
        first, last = self._task.first_label, self._task.first_label + self._task.classes - 1
        if self._task.classes == 0:
            return
        wrong = (batch.target < first) | (batch.target > last)
        if wrong.any():
            place = int(wrong.nonzero()[0])
            raise RuntimeError(f"{self._reader.describe(batch.records[place])} has label {batch.target[place].item()}: "
                               f"must be {first} to {last}")

    def require_finite(self, batch):
        """RuntimeError naming the record whose input or target is not finite."""
        for record, values, target in zip(batch.records, batch.input, batch.target):
            if not (values.isfinite().all() and target.isfinite().all()):
                raise RuntimeError(f"{self._reader.describe(record)} holds values that are not finite")


def for_training(task, settings, arguments, batch, device):
    """Shuffled by the argument `seed` and data.train.seed; data.train.remainder says what becomes of what fills no batch
    on every rank. Another record stands in for one that is skipped."""
    if settings.remainder == "pad":
        raise UsageError("data.train.remainder is pad: gradients are means over batches that are full on every rank: "
                         "write repeat, to train on every record, or drop")
    return Records(task, settings, "train", True, batch, device, seed=_seed_of_order(arguments.seed, settings.data_seed),
                   remainder=settings.remainder, split=_split(settings, "train"),
                   limit=getattr(arguments, f"train_{task.records}"), threads=arguments.reader_threads)


def _seed_of_order(seed, data_seed):
    """Another order for each pair; with the spec's default 0 that of `seed` alone. The odd factor keeps the seeds apart
    that repeats of a configuration count up."""
    return (seed + data_seed * 0x9E3779B97F4A7C15) % 2**64


def for_validation(task, settings, batch, device):
    return _in_order(task, settings, "train", batch, device, split=_split(settings, "validation"))


def for_test(task, settings, batch, device):
    return _in_order(task, settings, "test", batch, device)


def _in_order(task, settings, dataset, batch, device, **options):
    """One that is skipped is missing."""
    return Records(task, settings, dataset, False, batch, device, order="in_order", remainder="pad", threads=1, prefetch=2,
                   **options)


def _split(settings, part):
    return {"fraction": settings.validation_fraction, "seed": settings.validation_seed, "part": part}
