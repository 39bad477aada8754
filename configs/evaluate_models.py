#!/usr/bin/python3
"""evaluate_models.py RUN_FOLDER: what a model ensemble is worth beside its best member, on validation and test records.

The step `evaluate` of cosmoflow-workflow.yaml. It reads ensemble.json and the last test metrics of each member.
"""

import json
import os
import pathlib
import sys


def last_metrics(trial):
    """The last value of each metric of a trial, over its attempts."""
    values = {}
    for file in sorted(trial.glob("attempt-*/metrics.jsonl")):
        for line in file.read_text().splitlines():
            values |= json.loads(line)["metrics"]
    return values


def evaluate(run):
    ensemble = json.loads((run / "ensemble.json").read_text())
    values = {f"validation_{ensemble['metric']}": ensemble["score"],
              f"validation_{ensemble['metric']}_of_best": ensemble["best_single"]["score"]}
    for member in ensemble["members"]:
        for name, value in last_metrics(run / member["folder"]).items():
            if name.startswith("test_"):
                values[f"{name}_of_members"] = values.get(f"{name}_of_members", 0) + member["weight"] * value
    return values


if __name__ == "__main__":
    found = evaluate(pathlib.Path(sys.argv[1]))
    for name, value in found.items():
        print(f"{name:36} {value:.4f}")
    with open(os.environ["SLIPWAY_METRICS"], "a", encoding="utf-8") as file:
        file.write(json.dumps({"step": 0, "metrics": found}) + "\n")
