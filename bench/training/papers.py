"""The trainers in C++ beside their twins in PyTorch, one model on one core, as `slipway run` starts it: at the input sizes
of their papers, and as configs/ ships them."""

import json
import pathlib
import shutil
import sys
import time

import sides

STEPS = 20
# `more`: records beside those of the steps, which the validation takes.
MODELS = {"hepcnn": {"kind": ["hepcnn", "--size", "224"], "files": "train-*.h5", "records": "images", "batch": 4,
                     "more": 12, "args": {"size": 224}},
          "cosmoflow": {"kind": ["cosmoflow", "--size", "128"], "files": "train-*.tfrecord", "records": "volumes",
                        "batch": 1, "more": 4, "args": {"size": 128, "lr": 1e-4}},
          "resnet50": {"kind": ["imagenet-like", "--size", "256"], "files": "train-*.tfrecord", "records": "images",
                       "batch": 8, "more": 20, "args": {"size": 224, "classes": 1000}}}
# `folder`: where the shipped file looks below the root of the data. `batch`: as it says. `share`: of the steps that are
# asked for.
SHIPPED = {"fashion": {"records": "images", "batch": 64, "share": 1.0},
           "hepcnn": {"kind": ["hepcnn", "--size", "64"], "folder": "hepcnn", "records": "images", "batch": 8, "share": 1.0},
           "cosmoflow": {"kind": ["cosmoflow", "--size", "32"], "folder": "cosmoflow", "records": "volumes", "batch": 4,
                         "share": 1.0},
           "resnet50": {"kind": ["imagenet-like", "--size", "64", "--classes", "4"], "folder": "pictures",
                        "records": "images", "batch": 16, "share": 0.5}}


class Twins:
    """Both programs on the same experiment; a class derived from it says what that is."""

    def __init__(self, place, name, model):
        self.place, self.name, self.model = place, name, model

    def sides(self):
        twin = [sys.executable, "-m", f"slipway.trainers.{self.name}"]
        return {"slipway": lambda: self.figures({"program": self.name, "command": None}),
                "pytorch": lambda: self.figures({"program": None, "command": twin})}

    def figures(self, program):
        output, cpu_s = self.place.measure([*self.words(program), "--json"], self.place.cores[:1])
        done = json.loads(output)
        shutil.rmtree(pathlib.Path(done["folder"]))
        metrics = done["metrics"]
        return {"per_second": metrics[f"{self.model['records']}_per_second"], "input_share": metrics["input_wait_share"],
                "parameters": int(metrics["parameters"]), "cpu_s": cpu_s, "images": self.records}


class AtPaperSize(Twins):
    """Twenty steps of one epoch."""

    def __init__(self, place, name):
        super().__init__(place, name, MODELS[name])
        self.records = STEPS * self.model["batch"]
        folder = f"data/{name}-paper"
        place.call(["data", "make", *self.model["kind"], "--train", str(self.records + self.model["more"]), "--test", "0",
                    "--shards", "1", folder])
        self.source = str(place.folder / folder / self.model["files"])

    def words(self, program):
        path = self.place.folder / f"{self.name}-paper-{time.monotonic_ns()}.yaml"
        fraction = (self.model["more"] / 2) / (self.records + self.model["more"])
        path.write_text(json.dumps({  # JSON is YAML
            "name": self.name, "data": {"train": {"source": self.source, "tier": "none"}},
            "launch": {"engine": "local", "ranks_per_node": 1},
            "train": {**program, "validation": {"from": "train", "fraction": fraction},
                      "args": {**self.model["args"], "epochs": 1, "batch_size": self.model["batch"],
                               f"train_{self.model['records']}": self.records, "predictions": 0}},
            "checkpoint": {"keep": 1}}))
        return [self.place.slipway, "run", path]


class AsShipped(Twins):
    """A file of configs/ with fewer steps; the first of two epochs warms up."""

    def __init__(self, place, name, steps):
        super().__init__(place, name, SHIPPED[name])
        self.records = max(4, int(steps * self.model["share"])) * self.model["batch"]
        if name == "fashion":
            sides.make_fashion(place)
            sides.make_fashion_test(place)
        else:
            place.call(["data", "make", *self.model["kind"], "--train", str(self.records * 5 // 4), "--test", "16",
                        f"data/{self.model['folder']}"])

    def words(self, program):
        settings = {"launch.engine": "local", "launch.ranks_per_node": 1,
                    **{f"train.{key}": value for key, value in program.items()}, "train.args.epochs": sides.EPOCHS,
                    "train.args.batch_size": self.model["batch"], "train.args.predictions": 0,
                    f"train.args.train_{self.model['records']}": self.records}
        return ["env", f"SLIPWAY_DATA_ROOT={self.place.folder / 'data'}", self.place.slipway, "run",
                self.place.slipway.parents[1] / f"share/slipway/configs/{self.name}.yaml",
                *(word for name, value in settings.items() for word in ("--set", f"{name}={json.dumps(value)}"))]
