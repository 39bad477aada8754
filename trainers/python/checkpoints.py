"""What a checkpoint keeps: model.pt, averaged.pt (where weights are averaged), optimizer.pt, exchange.bin (gradients on
their way) and progress.json."""

import dataclasses
import json
import pathlib

import torch

import slipway
import slipway.torch
from slipway.trainers import loss_scale, weight_average
from slipway.trainers.evaluation import Sums

# Of a course: what a checkpoint was made with that is older than the name, and says nothing of it.
USUAL_VALUES = {"data.train.seed": "0", "data.train.remainder": "drop"}


@dataclasses.dataclass
class Progress:
    """With the weights and the optimizer's state this is all there is: the order of the records is a function of seed
    and epoch, and models draw no random numbers after their first weights."""

    epoch: int = 0
    step_in_epoch: int = 0
    step: int = 0
    train: Sums = dataclasses.field(default_factory=Sums)  # of this epoch so far, over all ranks
    shares: str = ""  # of the reader's position: what step_in_epoch counts in
    average_updates: int = None  # of the averaged weights; None where weights are not averaged
    loss_scale: dict = None      # factor and steps since it changed; None where losses are not scaled


@dataclasses.dataclass
class Parts:
    """What is saved and restored."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    average: weight_average.WeightAverage  # None: weights are not averaged
    scaler: slipway.torch.GradScaler       # None: losses are not scaled


def require_same_shares(progress, now):
    """RuntimeError when a step inside an epoch was counted where the nodes held other records than now."""
    if progress.step_in_epoch == 0 or progress.shares == now:
        return
    raise RuntimeError(f"the checkpoint stands inside epoch {progress.epoch + 1}, where each node held other records than "
                       "now: go on with as many nodes, ranks on each and files as before, or from a checkpoint at the end "
                       "of an epoch")


def write(parts, progress, course):
    """Between steps of the optimizer. `course`: what the checkpoint can only be continued with, text by name. Weights
    that are not finite are a RuntimeError, and the checkpoint before stays the newest. Collective."""
    name = not_finite(parts.model)
    if name is not None:
        raise RuntimeError(f"the weights '{name}' are not finite after step {progress.step}, so no checkpoint is written: "
                           "try a smaller learning rate, or gradients.clip_norm")
    exchange = parts.optimizer.exchange_state()
    progress = dataclasses.replace(progress, average_updates=parts.average.updates if parts.average else None,
                                   loss_scale=loss_scale.state_of(parts.scaler))
    with slipway.checkpoint(progress.step, progress.epoch) as name:
        if slipway.rank() == 0:
            folder = pathlib.Path(name)
            torch.save(parts.model.state_dict(), folder / "model.pt")
            if parts.average:
                with weight_average.in_place(parts.average):
                    torch.save(parts.model.state_dict(), folder / "averaged.pt")
            torch.save(parts.optimizer.state_dict(), folder / "optimizer.pt")
            (folder / "exchange.bin").write_bytes(exchange)
            document = {"progress": dataclasses.asdict(progress), "course": course}
            (folder / "progress.json").write_text(json.dumps(document, indent=2) + "\n")


def restore(parts, course):
    """Puts in place what the checkpoint that the launcher names has kept; returns its Progress, or None when there is
    none. RuntimeError names what does not fit. Collective."""
    name = slipway.resume_from()
    if name is None:
        return None
    folder = pathlib.Path(name)
    progress = _read_progress(folder / "progress.json", course)
    _load(parts.model, folder / "model.pt")
    _restore_average(parts, progress, folder / "averaged.pt")
    _load(parts.optimizer, folder / "optimizer.pt")
    loss_scale.restore(parts.scaler, progress.loss_scale)
    try:
        parts.optimizer.load_exchange_state((folder / "exchange.bin").read_bytes())
    except (OSError, slipway.SlipwayError) as error:
        raise RuntimeError(f"the checkpoint's '{folder / 'exchange.bin'}' cannot be continued with: {error}") from None
    return progress


def _restore_average(parts, progress, file):
    """An average that the checkpoint does not hold begins with its weights."""
    if not parts.average:
        return
    if progress.average_updates is None:
        parts.average.restart()
        return
    with weight_average.in_place(parts.average):
        _load(parts.model, file)
    parts.average.updates = progress.average_updates


def not_finite(model):
    """The name of the first weights that hold NaN or infinity, or None."""
    return next((name for name, values in model.named_parameters() if not values.isfinite().all()), None)


def _read_progress(file, course):
    if not file.exists():
        _refuse_foreign(file.parent, _writer_of(file.parent), course["trainer"])
    try:
        document = json.loads(file.read_text())
        saved = document.get("course") if isinstance(document, dict) else None
        _require_same_course(saved if isinstance(saved, dict) else {}, course, file.parent)
        saved = document["progress"]
        return Progress(**{**saved, "train": Sums(**saved["train"])})
    except (ValueError, KeyError, TypeError) as error:
        raise RuntimeError(f"'{file}' is damaged: {error}") from None


def _refuse_foreign(folder, author, us):
    """`author`: who wrote it, as far as that is known."""
    raise RuntimeError(f"the checkpoint '{folder}' is another program's: it was written by {author}, this is {us}: go on "
                       "with the program that wrote it, or start afresh")


def _writer_of(folder):
    """For a checkpoint that does not say who wrote it."""
    return "one that leaves " + ", ".join(sorted(file.name for file in folder.iterdir() if file.name != "manifest.json"))


def _require_same_course(saved, course, folder):
    for name, value in course.items():
        before = saved.get(name, USUAL_VALUES.get(name, "none"))
        if name == "trainer" and before != value:
            _refuse_foreign(folder, _writer_of(folder) if before == "none" else before, value)
        if before != value:
            raise RuntimeError(f"the checkpoint '{folder}' was made with {name} {before}, now it is {value}: give the same "
                               "value, or start afresh")


def _load(target, file):
    try:
        state = torch.load(file, map_location="cpu")  # of whatever device
    except Exception as error:  # of zip files, pickles and torch: each has its own
        raise RuntimeError(f"the checkpoint's '{file}' cannot be read: {error}") from None
    try:
        target.load_state_dict(state)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise RuntimeError(f"the checkpoint's '{file}' is of another model: {error}") from None
