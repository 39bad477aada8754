#!/usr/bin/env python3
"""Copies the metrics of a Slipway run into Weights & Biases, by their own library: pip install wandb.

    slipway export RUN --jsonl metrics.jsonl
    WANDB_MODE=offline python3 to_wandb.py metrics.jsonl --project fashion --params RUN_FOLDER/plan.json
    wandb sync wandb/offline-run-*

Each trial, or attempt of a single run, is a run there. With WANDB_MODE=offline nothing leaves the machine before
`wandb sync`.
"""

import argparse
import json
import math
import pathlib

NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def values_of(path):
    """The lines of the file, with numbers where JSON has words."""
    with open(path) as lines:
        for line in map(json.loads, lines):
            line["value"] = NUMBERS.get(line["value"], line["value"])
            yield line


def session_of(line):
    return (line["run"], line["trial"] if line["trial"] is not None else -line["attempt"])


def by_session(path):
    """Session -> {step: {metric: value}}; a later attempt of a trial replaces values of an earlier one."""
    sessions = {}
    for line in values_of(path):
        steps = sessions.setdefault(session_of(line), {})
        steps.setdefault(line["step"], {})[line["metric"]] = line["value"]
    return sessions


def name_of(run, number):
    return f"{run}/trial-{number:05}" if number >= 0 else f"{run}/attempt-{-number}"


def parameters_of(plan, number):
    """Arguments of the spec, and of a trial its own: trials/00007/plan.json beside the run's plan."""
    if plan is None:
        return {}
    config = dict(json.loads(plan.read_text())["spec"]["train"]["args"])
    trial = plan.parent / "trials" / f"{number:05}" / "plan.json"
    if number >= 0 and trial.exists():
        config.update(json.loads(trial.read_text())["parameters"])
    return config


def main(wandb):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("metrics", help="what `slipway export --jsonl` has written")
    parser.add_argument("--project", default="slipway")
    parser.add_argument("--params", type=pathlib.Path, help="plan.json of the run folder")
    options = parser.parse_args()
    for (run, number), steps in by_session(options.metrics).items():
        target = wandb.init(project=options.project, group=run, name=name_of(run, number), reinit=True,
                            config=parameters_of(options.params, number))
        for step, values in sorted(steps.items()):
            target.log(values, step=step)
        target.finish()


if __name__ == "__main__":
    import wandb as library
    main(library)
