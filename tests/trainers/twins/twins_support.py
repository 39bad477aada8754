"""A place for one test of a trainer: small real data, and the programs in C++ and Python, started as the launcher starts
them. SLIPWAY_BUILD names the build folder."""

import gzip
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

BUILD = pathlib.Path(os.environ["SLIPWAY_BUILD"])
SLIPWAY = BUILD / "bin/slipway"
FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")

# Small networks on small records: what a model is told on top of its defaults.
ARGUMENTS = {
    "fashion": ["--channels", "8", "--lr", "0.003", "--batch_size", "16"],
    "hepcnn": ["--size", "16", "--filters", "8", "--units", "3"],
    "cosmoflow": ["--size", "16", "--filters", "2", "--lr", "0.001"],
    "resnet50": ["--size", "32", "--width", "8", "--classes", "4"],
}


def launcher(*words):
    subprocess.run([SLIPWAY, "-q", *words], check=True, capture_output=True, text=True)


def fashion_images(count):
    """The first ones of the smaller of the two sets, and their labels."""
    def read(what, header):
        with gzip.open(FASHION_MNIST / f"t10k-{what}-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)
    return read("images-idx3", 16).reshape(-1, 28, 28)[:count], read("labels-idx1", 8)[:count].astype(np.int64)


def write_records(folder, images, labels):
    """folder/records.h5 with the fields image and label."""
    folder.mkdir(parents=True)
    np.save(folder / "image.npy", images)
    np.save(folder / "label.npy", labels)
    launcher("data", "convert", "--from", folder / "image.npy", "--from", folder / "label.npy", "--to", "hdf5",
             folder / "records.h5")
    (folder / "image.npy").unlink()
    (folder / "label.npy").unlink()


def make_data(model, folder):
    """folder/train and folder/test."""
    if model == "fashion":
        images, labels = fashion_images(1500)
        write_records(folder / "train", images[:1200], labels[:1200])
        write_records(folder / "test", images[1200:], labels[1200:])
        return
    options = {"hepcnn": ["hepcnn", "--size", "16", "--train", "800"],
               "cosmoflow": ["cosmoflow", "--size", "16", "--train", "64"],
               "resnet50": ["imagenet-like", "--size", "40", "--classes", "4", "--train", "96"]}[model]
    launcher("data", "make", *options, "--test", "64", "--shards", "2", folder / "made")
    for name in ("train", "test"):
        (folder / name).mkdir()
        for file in (folder / "made").glob(f"{name}-*"):
            file.rename(folder / name / file.name)


class Place:
    """One run folder. `language`: "c++" or "python"."""

    def __init__(self, folder, model, language, data):
        self.folder, self.model, self.language = folder, model, language
        self.checkpoints, self.stop_file = folder / "checkpoints", folder / "stop.json"
        self.checkpoints.mkdir(parents=True)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SLIPWAY_")}
        self.environment = {
            **inherited, "PYTHONPATH": str(BUILD / "lib/slipway/python"), "PYTHONDONTWRITEBYTECODE": "1",
            "SLIPWAY_DATA_TRAIN": str(data / "train"), "SLIPWAY_DATA_TEST": str(data / "test"),
            "SLIPWAY_CHECKPOINT_DIR": str(self.checkpoints), "SLIPWAY_METRICS": str(folder / "metrics.jsonl"),
            "SLIPWAY_STOP_FILE": str(self.stop_file), "SLIPWAY_RUN_DIR": str(folder),
            "SLIPWAY_MLLOG": str(folder / "mllog.txt")}

    def command(self):
        if self.language == "c++":
            return [BUILD / "libexec/slipway/trainers" / self.model]
        return [sys.executable, "-m", f"slipway.trainers.{self.model}"]

    def start(self, *arguments, ranks=1):
        """Runs the program to its end, with the arguments of ARGUMENTS before these."""
        mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
        return subprocess.run([*(mpirun if ranks > 1 else []), *self.command(), *ARGUMENTS[self.model], *arguments],
                              env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=300)

    def train(self, *arguments, ranks=1):
        done = self.start(*arguments, ranks=ranks)
        assert done.returncode == 0, done.stderr
        return done

    def metrics(self):
        """The values of each metric at the ends of epochs, in the order of their lines, but for what a clock decides."""
        values, steps = {}, {}
        for text in (self.folder / "metrics.jsonl").read_text().splitlines():
            line = json.loads(text)
            if not float(line["epoch"]).is_integer():
                continue  # of a single step, once a second
            for name, value in line["metrics"].items():
                if name == "train_loss" and steps.get(name) == line["step"]:
                    values[name].pop()  # of the epoch's last step
                steps[name] = line["step"]
                if not name.endswith("_per_second") and name != "input_wait_share":
                    values.setdefault(name, []).append(value)
        return values

    def mllog(self):
        """Event, key, value and metadata of each line, but for values that a clock decides."""
        lines = []
        for text in (self.folder / "mllog.txt").read_text().splitlines():
            line = json.loads(text.removeprefix(":::MLLOG "))
            value = None if line["key"] == "tracked_stats" else line["value"]
            lines.append((line["event_type"], line["key"], value, line["metadata"]))
        return lines

    def newest_checkpoint(self):
        return max(self.checkpoints.glob("step-*"))

    def resume(self):
        """Lets the next start go on from the newest checkpoint."""
        self.stop_file.unlink(missing_ok=True)
        self.environment["SLIPWAY_RESUME_FROM"] = str(self.newest_checkpoint())

    def ask_to_stop(self):
        self.stop_file.write_text('{"reason": "paused", "deadline": "2030-01-01T00:00:00Z"}')
