"""The trainers at the input sizes of their papers, in C++ and in PyTorch: twenty steps of each."""

import json
import pathlib
import shutil
import sys
import time

STEPS = 20
# `more`: records beside those of the steps, which the validation takes.
MODELS = {"hepcnn": {"kind": ["hepcnn", "--size", "224"], "files": "train-*.h5", "records": "images", "batch": 4,
                     "more": 12, "args": {"size": 224}},
          "cosmoflow": {"kind": ["cosmoflow", "--size", "128"], "files": "train-*.tfrecord", "records": "volumes",
                        "batch": 1, "more": 4, "args": {"size": 128, "lr": 1e-4}},
          "resnet50": {"kind": ["imagenet-like", "--size", "256"], "files": "train-*.tfrecord", "records": "images",
                       "batch": 8, "more": 20, "args": {"size": 224, "classes": 1000}}}


class AtPaperSize:
    """One model on one core, as `slipway run` starts it."""

    def __init__(self, place, name):
        self.place, self.name, self.model = place, name, MODELS[name]
        self.records = STEPS * self.model["batch"]
        folder = f"data/{name}-paper"
        place.call(["data", "make", *self.model["kind"], "--train", str(self.records + self.model["more"]), "--test", "0",
                    "--shards", "1", folder])
        self.source = str(place.folder / folder / self.model["files"])

    def sides(self):
        return {"slipway": lambda: self.figures({"program": self.name}),
                "pytorch": lambda: self.figures({"command": [sys.executable, "-m", f"slipway.trainers.{self.name}"]})}

    def figures(self, program):
        output, cpu_s = self.place.measure([self.place.slipway, "run", self.write_spec(program), "--json"],
                                           self.place.cores[:1])
        done = json.loads(output)
        shutil.rmtree(pathlib.Path(done["folder"]))
        metrics = done["metrics"]
        return {"per_second": metrics[f"{self.model['records']}_per_second"], "input_share": metrics["input_wait_share"],
                "parameters": int(metrics["parameters"]), "cpu_s": cpu_s, "images": self.records}

    def write_spec(self, program):
        path = self.place.folder / f"{self.name}-paper-{time.monotonic_ns()}.yaml"
        fraction = (self.model["more"] / 2) / (self.records + self.model["more"])
        path.write_text(json.dumps({  # JSON is YAML
            "name": self.name, "data": {"train": {"source": self.source, "tier": "none"}},
            "launch": {"engine": "local", "ranks_per_node": 1},
            "train": {**program, "validation": {"from": "train", "fraction": fraction},
                      "args": {**self.model["args"], "epochs": 1, "batch_size": self.model["batch"],
                               f"train_{self.model['records']}": self.records, "predictions": 0}},
            "checkpoint": {"keep": 1}}))
        return path
