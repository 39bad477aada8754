"""What the launcher tells a trainer through the environment."""

import dataclasses
import json
import os
import pathlib

from slipway.trainers.options import UsageError


@dataclasses.dataclass
class Settings:
    has_test_data: bool
    data_seed: int              # data.train.seed
    remainder: str              # data.train.remainder
    skips_damaged: frozenset    # names of datasets whose damaged records are skipped
    parameters: dict            # of SLIPWAY_PARAMS
    validation_fraction: float
    validation_seed: int
    checkpoint_every_s: float   # beside the one at the end of each epoch; None: only that
    checkpoints: bool           # there is a place for them
    accumulate: int             # backward passes of a step of the optimizer
    unscalable: str             # a setting of the exchange that scaled losses do not go with, or empty
    run_folder: pathlib.Path    # for predictions; None: none are written
    repeat: int                 # which of the runs of its configuration; another seed for each
    resource: str               # what the scheduler of an ensemble counts: "epoch", "step", a metric
    limit: float                # how far this trial may go now, in that; None: no limit


def read():
    """Settings, or UsageError naming the variable, and who should have set it or what is wrong in it."""
    if not os.environ.get("SLIPWAY_DATA_TRAIN"):
        raise UsageError("SLIPWAY_DATA_TRAIN is not set: name a dataset 'train' in the spec and start with `slipway run`")
    config = _object("SLIPWAY_CONFIG")
    fraction, seed = _validation(config)
    folder = os.environ.get("SLIPWAY_RUN_DIR")
    return Settings(
        has_test_data=bool(os.environ.get("SLIPWAY_DATA_TEST")),
        data_seed=_data_value(config, "train", "seed", 0, int, "a number of 0 or more"),
        remainder=_data_value(config, "train", "remainder", "drop", str, "'drop', 'repeat' or 'pad'"),
        skips_damaged=frozenset(name for name in ("train", "test") if _skips_damaged(config, name)),
        parameters=_object("SLIPWAY_PARAMS"),
        validation_fraction=fraction,
        validation_seed=seed,
        checkpoint_every_s=_value(config, "checkpoint", "every_s", None, (int, float), "a number"),
        checkpoints=bool(os.environ.get("SLIPWAY_CHECKPOINT_DIR")),
        accumulate=_accumulate(config),
        unscalable=_unscalable(config),
        run_folder=pathlib.Path(folder) if folder else None,
        repeat=int(_number("SLIPWAY_REPEAT") or 0),
        resource=os.environ.get("SLIPWAY_RESOURCE", ""),
        limit=_number("SLIPWAY_RESOURCE_LIMIT"))


def _skips_damaged(config, dataset):
    return _data_value(config, dataset, "on_corrupt", "fail", str, "'fail' or 'skip'") == "skip"


def _data_value(config, dataset, *wanted):
    """As _value, of the dataset's section."""
    name = f"data.{dataset}"
    return _value({name: (config.get("data") or {}).get(dataset)}, name, *wanted)


def _validation(config):
    source = _value(config, "validation", "from", "train", str, "a name")
    if source != "train":
        raise UsageError(f"SLIPWAY_CONFIG: validation.from is '{source}': this trainer takes its validation records "
                         "from 'train'")
    fraction = _value(config, "validation", "fraction", 0.1, (int, float), "a number")
    if not 0 <= fraction < 1:
        raise UsageError(f"SLIPWAY_CONFIG: validation.fraction is {fraction}: must be at least 0 and less than 1")
    return fraction, _value(config, "validation", "seed", 1, int, "a number of 0 or more")


def _accumulate(config):
    passes = _value(config, "gradients", "accumulate", 1, int, "a number of 1 or more")
    if passes < 1:
        raise UsageError(f"SLIPWAY_CONFIG: gradients.accumulate is {passes}: must be 1 or more")
    return passes


def _unscalable(config):
    """Clipping would see scaled gradients, the check would end the training at an overflow, and delayed gradients have an
    older scale."""
    gradients = config.get("gradients") or {}
    if gradients.get("mode") == "delayed":
        return "gradients.mode: delayed"
    if gradients.get("clip_norm") is not None:
        return "gradients.clip_norm"
    return "gradients.check_finite" if gradients.get("check_finite") else ""


def _object(name):
    """The variable's JSON object; an empty one when it is not set."""
    text = os.environ.get(name)
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UsageError(f"{name} is not a JSON object")
    return value


def _value(config, section, key, default, kind, wanted):
    """The value at `section.key` of SLIPWAY_CONFIG."""
    value = (config.get(section) or {}).get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageError(f"SLIPWAY_CONFIG: {section}.{key} is {json.dumps(value)}: must be {wanted}")
    return value


def _number(name):
    text = os.environ.get(name)
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"{name} is '{text}': must be a number") from None
