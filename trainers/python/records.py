"""The records of a task as tensors, batch by batch: one rank's share of a set, through the batch reader."""

import dataclasses
import os

import numpy as np
import torch

import slipway
import slipway.data
from slipway.errors import ArgumentError
from slipway.trainers.options import UsageError


@dataclasses.dataclass
class TensorBatch:
    """Shows the reader's memory: valid until the next batch is asked for."""

    input: torch.Tensor
    target: torch.Tensor
    records: np.ndarray


class Records:
    def __init__(self, task, dataset, training, batch, **options):
        self._task = task
        self._records_per_pass = batch * slipway.size()
        try:
            self._reader = slipway.data.open(dataset, fields=[task.input(training), task.target()], batch=batch,
                                             rank=slipway.rank(), world=slipway.size(), **options)
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
        """Goes on behind the first `done` batches of an epoch."""
        self._reader.position = {"epoch": epoch, "records_done": done * self._records_per_pass}

    def __iter__(self):
        """To the end of the epoch. Of the last evaluation batch only records that are there."""
        for batch in self._reader:
            tensors, there = batch.torch(), batch.valid_count
            shown = TensorBatch(tensors[self._input][:there].view(there, *self._task.input_shape()),
                                tensors[self._target][:there], batch.records[:there])
            self._require_labels(shown)
            yield shown

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


def for_training(task, settings, arguments, batch):
    """Shuffled; what fills no batch on every rank is left out."""
    return Records(task, "train", True, batch, seed=arguments.seed, remainder="drop",
                   split=_split(settings, "train"), limit=getattr(arguments, f"train_{task.records}"),
                   threads=arguments.reader_threads)


def for_validation(task, settings, batch):
    return _in_order(task, "train", batch, split=_split(settings, "validation"))


def for_test(task, batch):
    return _in_order(task, "test", batch)


def _in_order(task, dataset, batch, **options):
    return Records(task, dataset, False, batch, order="in_order", remainder="pad", threads=1, prefetch=2, **options)


def _split(settings, part):
    return {"fraction": settings.validation_fraction, "seed": settings.validation_seed, "part": part}
