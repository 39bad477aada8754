"""The sides of the training bench: runs of bundled trainers, and PyTorch on its own."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

IMAGES = pathlib.Path("/usr/share/datasets/fashion-mnist")
EPOCHS = 2  # the first warms up
# A session is a group for the scheduler: its own nice value counts against others. Real-time priority would keep the
# threads of a rank from each other.
FIRST = ["sh", "-c", 'echo -20 > /proc/self/autogroup && exec nice -n -20 "$@"', "first"]


class Missing(Exception):
    """What the bench needs and this machine has not."""


class Place:
    """A folder for data and runs, the programs of this installation, and how they are started."""

    def __init__(self, folder, libexec, first):
        self.folder = folder
        self.slipway = libexec.parents[1] / "bin/slipway"
        self.plain = next(path / "plain_fashion.py" for path in (libexec / "bench-support/training", libexec)
                          if (path / "plain_fashion.py").exists())
        self.prefix = FIRST if first else []
        self.cores = sorted(os.sched_getaffinity(0))

    def call(self, words):
        """What a short command prints."""
        done = subprocess.run([self.slipway, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
        if done.returncode != 0:
            raise Missing(f"slipway {' '.join(words)} failed:\n{done.stderr}{done.stdout}")
        return done.stdout

    def measure(self, words, cores):
        """(what it prints, its CPU seconds with those of all that it started)."""
        bound = ["taskset", "-c", ",".join(str(core) for core in cores)]
        with open(self.folder / f"err-{cores[0]}", "w+") as errors:
            process = subprocess.Popen([*self.prefix, *bound, *map(str, words)], cwd=self.folder, stdout=subprocess.PIPE,
                                       stderr=errors, text=True, start_new_session=True)
            try:
                output = process.stdout.read()
            except BaseException:  # Ctrl-C is for us alone: what was started has a session of its own
                end(process)
                raise
            _, status, usage = os.wait4(process.pid, 0)
            if status != 0:
                errors.seek(0)
                raise Missing(f"{' '.join(map(str, words))} failed:\n{errors.read()}{output}")
        return output, usage.ru_utime + usage.ru_stime


def end(process):
    """`slipway run` ends its ranks, and then itself."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def make_hepcnn(place):
    place.call(["data", "make", "hepcnn", "--train", "2000", "--test", "0", "data/hepcnn"])
    return "data/hepcnn/train-*.h5"


def convert_fashion(place, of, to, name):
    if not IMAGES.exists():
        raise Missing("the Debian package dataset-fashion-mnist is not installed")
    place.call(["data", "convert", "--images", str(IMAGES / f"{of}-images-idx3-ubyte.gz"), "--labels",
                str(IMAGES / f"{of}-labels-idx1-ubyte.gz"), "--to", to, f"data/fashion/{name}"])


def make_fashion(place):
    convert_fashion(place, "train", "tfrecord", "train")
    return "data/fashion/train-*.tfrecord"


def make_fashion_test(place):
    convert_fashion(place, "t10k", "hdf5", "test.h5")


# `share`: of the steps that are asked for; those of HEP-CNN take ten times as long.
MODELS = {"fashion": {"program": "fashion", "make": make_fashion, "batch": 64, "share": 1.0},
          "hepcnn": {"program": "hepcnn", "make": make_hepcnn, "batch": 8, "share": 0.25}}


class Trainer:
    """Runs of a bundled trainer, as a user has them: slipway run."""

    def __init__(self, place, model, steps):
        self.place = place
        self.model = model
        self.steps = max(4, int(steps * model["share"]))
        self.source = str(place.folder / model["make"](place))
        self.start_cpu_s = {}

    def spec(self, ranks, epochs):
        images = self.steps * self.model["batch"] * ranks
        return {"name": self.model["program"], "data": {"train": {"source": self.source, "tier": "none",
                                                                  "distribute": "shard"}},
                "launch": {"engine": "local", "ranks_per_node": ranks, "bind": "cores" if ranks > 1 else "auto"},
                "train": {"program": self.model["program"], "validation": {"from": "train", "fraction": 0.005},
                          "args": {"epochs": epochs, "batch_size": self.model["batch"], "train_images": images,
                                   "predictions": 0}},
                "checkpoint": {"keep": 1}, "trace": {"every": 0, "chrome": True}}

    def run(self, ranks, cores, epochs=EPOCHS):
        """What a run says, and its CPU seconds."""
        name = f"{self.model['program']}-{ranks}-{cores[0]}-{time.monotonic_ns()}"
        spec = self.place.folder / f"{name}.yaml"
        spec.write_text(json.dumps(self.spec(ranks, epochs)))  # JSON is YAML
        return self.place.measure([self.place.slipway, "run", spec, "--json"], cores)

    def figures(self, ranks, cores):
        """Rate of the last epoch, shares of a step, CPU seconds without those of a run that only starts."""
        key = (ranks, tuple(cores))
        if key not in self.start_cpu_s:
            self.start_cpu_s[key] = self.run(ranks, cores, epochs=0)[1]
        output, cpu_s = self.run(ranks, cores)
        done = json.loads(output)
        folder = pathlib.Path(done["folder"])
        spans = json.loads((folder / "attempt-1/trace.json").read_text())["traceEvents"]
        shutil.rmtree(folder)
        images = self.steps * self.model["batch"] * ranks
        per_second = done["metrics"]["images_per_second"]
        return {"per_second": per_second, "input_share": done["metrics"]["input_wait_share"],
                "exchange_share": unhidden_s(spans, self.steps) / (images / per_second),
                "cpu_s": cpu_s - self.start_cpu_s[key], "images": EPOCHS * images}


def unhidden_s(spans, last_steps):
    """What the exchange took of the last steps: from the moment when the last rank waits for it until all go on. Before
    that, ranks wait for each other's computing."""
    waits = {}
    for span in spans:
        if span["name"] == "wait":
            waits.setdefault(span["args"]["step"], []).append((span["ts"], span["ts"] + span["dur"]))
    return sum(max(end for _, end in waits[step]) - max(begin for begin, _ in waits[step])
               for step in sorted(waits)[-last_steps:]) / 1e6


def added(several):
    """Of runs beside each other: their rates and their work."""
    return {name: sum(figures[name] for figures in several) for name in ("per_second", "cpu_s", "images")}


class Scaling:
    def __init__(self, place, model, steps):
        if len(place.cores) < 2:
            raise Missing("two ranks need two cores")
        self.trainer = Trainer(place, model, steps)
        self.cores = place.cores[:2]

    def sides(self):
        return {"one rank": lambda: self.trainer.figures(1, self.cores[:1]),
                "two ranks": lambda: self.trainer.figures(2, self.cores),
                "two runs": self.two_runs}

    def two_runs(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return added(list(pool.map(lambda core: self.trainer.figures(1, [core]), self.cores)))


class PerCore:
    """The same network, the same batches, one core: all that either needs for it counts."""

    def __init__(self, place, steps):
        self.place = place
        self.trainer = Trainer(place, MODELS["fashion"], 4 * steps)
        self.cores = place.cores[:1]
        self.start_cpu_s = None

    def sides(self):
        return {"slipway": lambda: self.trainer.figures(1, self.cores), "pytorch": self.pytorch}

    def plain(self, epochs):
        images = self.trainer.steps * self.trainer.model["batch"]
        words = [sys.executable, self.place.plain, IMAGES, str(images), str(self.trainer.model["batch"]), str(epochs)]
        return self.place.measure(words, self.cores)

    def pytorch(self):
        if self.start_cpu_s is None:
            self.start_cpu_s = self.plain(0)[1]
        output, cpu_s = self.plain(EPOCHS)
        figures = json.loads(output)
        return {"per_second": figures["per_second"], "cpu_s": cpu_s - self.start_cpu_s,
                "images": EPOCHS * self.trainer.steps * self.trainer.model["batch"]}
