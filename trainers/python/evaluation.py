"""What a network is worth on a set."""

import dataclasses
import math

import numpy as np
import torch

import slipway
from slipway.trainers import predictions


@dataclasses.dataclass
class Sums:
    """Sums over records; ranks add theirs up."""

    loss: float = 0.0
    records: float = 0.0
    measures: dict = dataclasses.field(default_factory=dict)  # by name

    def add(self, task, loss, outputs, targets):
        """One batch with this mean loss."""
        self.loss += loss * len(targets)
        self.records += len(targets)
        for name, value in zip(task.measure_names, task.measures(outputs, targets)):
            self.measures[name] = self.measures.get(name, 0.0) + value

    def means(self):
        """NaN when there are no records."""
        sums = {"loss": self.loss, **self.measures}
        return {name: value / self.records if self.records else float("nan") for name, value in sums.items()}

    def over_ranks(self, task):
        """Collective; a rank that has no records takes part with zeros."""
        mine = [self.loss, self.records, *(self.measures.get(name, 0.0) for name in task.measure_names)]
        loss, records, *measures = slipway.allreduce(np.array(mine)).tolist()
        return Sums(loss, records, dict(zip(task.measure_names, measures)))


@torch.no_grad()
def evaluate(task, model, records, folder=None):
    """The loss, what is measured, and what the task says of all predictions, by name; every record once, over all ranks.
    With `folder` predictions.npy and targets.npy are left there. Collective."""
    share_running_statistics(model)
    model.eval()
    records.begin(0, 0)
    wants_all = task.measures_all or folder is not None
    sums, parts = Sums(), []
    for batch in records:
        if len(batch.records) == 0:  # this rank has none left, others have
            continue
        outputs = model(batch.input)
        loss = task.loss(outputs, batch.target).item()
        if not math.isfinite(loss):
            blame_record(task, records, batch)
        sums.add(task, loss, outputs, batch.target)
        if wants_all:
            parts.append((batch.records, task.predictions(outputs).cpu().numpy(), batch.target.cpu().numpy().copy()))
    means = sums.over_ranks(task).means()
    if not wants_all:
        return means
    numbers, predicted, targets = _of_all_ranks(parts)
    if folder is not None and slipway.rank() == 0:
        predictions.write(folder, numbers, predicted, targets)
    return {**means, **task.of_all(predicted, targets)}


def blame_record(task, records, batch):
    """Of a batch whose loss is not finite: RuntimeError naming the record that is to blame, if one is."""
    records.require_finite(batch)
    try:
        records.require_finite(dataclasses.replace(batch, input=task.prepared(batch.input)))
    except RuntimeError as error:
        raise RuntimeError(f"{error} once {task.name} has taken their logarithm: all must be above -1, and quantities like "
                           "these are 0 or more") from None


def share_running_statistics(model):
    """Those of normalisation layers are each rank's own while it trains; those of rank 0 count. Collective."""
    running = {name: values for name, values in model.named_buffers() if values.is_floating_point()}
    if running:
        slipway.broadcast(running)


def _of_all_ranks(parts):
    """Numbers, predictions and targets of all records, by number. Collective."""
    every = [part for of_rank in slipway.allgather_object(parts) for part in of_rank]
    numbers, predicted, targets = (np.concatenate(column) for column in zip(*every))
    order = np.argsort(numbers, kind="stable")
    return numbers[order], predicted[order], targets[order]
