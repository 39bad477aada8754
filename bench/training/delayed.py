"""What a lag of one step gains where the network is slow: two ranks, each on a node of its own behind a token bucket."""

import concurrent.futures
import json
import pathlib
import shutil
import statistics
import time

import measured
import nodes
import sides

RANKS = 2
MBIT = 1000  # the link that many clusters have beside their fast one
EXCHANGES = {"synchronous": {"mode": "sync"}, "lag 1": {"mode": "delayed", "lag": 1},
             "lag 1, sync_first": {"mode": "delayed", "lag": 1, "sync_first": "10%"}}
ALONE = "no exchange"


def make_cosmoflow(place):
    place.call(["data", "make", "cosmoflow", "--size", "32", "--train", "600", "--test", "0", "data/cosmoflow"])
    return "data/cosmoflow/train-*.tfrecord"


# HEP-CNN's gradients are one bucket, which is complete when the backward pass ends. Most of CosmoFlow's belong to the
# full layers, where it begins.
MODELS = {"hepcnn": {"make": sides.make_hepcnn, "records": "images", "args": {"batch_size": 8}},
          "cosmoflow": {"make": make_cosmoflow, "records": "volumes", "args": {"batch_size": 8, "size": 32}}}


class Training:
    """Runs of one trainer, of `steps` steps an epoch; the first epoch warms up."""

    def __init__(self, place, cluster, name, steps):
        self.place, self.cluster, self.name, self.steps = place, cluster, name, steps
        self.model = MODELS[name]
        self.source = str(place.folder / self.model["make"](place))

    def spec(self, ranks, exchange):
        args = {**self.model["args"], "epochs": sides.EPOCHS, "predictions": 0}
        args[f"train_{self.model['records']}"] = self.steps * args["batch_size"] * ranks
        return {"name": self.name,
                "data": {"train": {"source": self.source, "tier": "none", "distribute": "shard"}},
                "launch": {"engine": "local", "mpi": "openmpi", "ranks_per_node": ranks,
                           "bind": "cores" if ranks > 1 else "auto"},
                "train": {"program": self.name, "validation": {"from": "train", "fraction": 0.02}, "args": args},
                "gradients": exchange, "checkpoint": {"keep": 1}, "trace": {"every": 0, "chrome": True}}

    def run(self, ranks, exchange, cores, command=lambda words: words):
        """Metrics, what the runtime measured (none of a lone rank), spans."""
        spec = self.place.folder / f"{self.name}-{cores[0]}-{time.monotonic_ns()}.yaml"
        spec.write_text(json.dumps(self.spec(ranks, exchange)))  # JSON is YAML
        done = json.loads(self.place.measure(command([self.place.slipway, "run", spec, "--json"]), cores)[0])
        attempt = pathlib.Path(done["folder"]) / "attempt-1"
        told = [json.loads((attempt / name).read_text()) for name in ("comm.json", "trace.json")]
        shutil.rmtree(done["folder"])
        return done["metrics"], *told

    def steps_per_second(self, metrics, ranks):
        return metrics[f"{self.model['records']}_per_second"] / (ranks * self.model["args"]["batch_size"])

    def alone(self):
        """A lone rank on each core, none of which knows of the other."""
        with concurrent.futures.ThreadPoolExecutor(RANKS) as pool:
            runs = list(pool.map(lambda core: self.run(1, {}, [core])[0], self.place.cores[:RANKS]))
        return {"steps_per_second": statistics.mean(self.steps_per_second(metrics, 1) for metrics in runs),
                "exposed_s": 0.0, "parameters": runs[0]["parameters"]}

    def across(self, exchange, mbit):
        self.cluster.set_link(mbit)
        metrics, comm, trace = self.run(RANKS, exchange, self.place.cores[:RANKS], self.cluster.on_first)
        if comm["nodes"] != RANKS:
            raise sides.Missing(f"the ranks were on {comm['nodes']} of {RANKS} nodes: this needs mpirun of Open MPI 4")
        return {"steps_per_second": self.steps_per_second(metrics, RANKS),
                "exposed_s": sides.unhidden_s(trace["traceEvents"], self.steps) / self.steps}


def link_of_half(parameters, compute_s):
    """Mbit/s with which the exchange takes half as long as the computing."""
    return max(10, 10 * round(link_bits(parameters) / 1e7 / (compute_s / 2)))


def link_bits(parameters):
    """What each of two ranks sends, and receives, in a step: 2 (P-1)/P of its gradients, in float32."""
    return 2 * (RANKS - 1) / RANKS * parameters * 32


def row(name, side, figures, mbit=None, link_s=None):
    rates = [each["steps_per_second"] for each in figures]
    return {"part": f"delayed {name}", "side": side, "link_mbit": mbit, "steps_per_second": statistics.median(rates),
            "min": min(rates), "max": max(rates), "exposed_ms": 1e3 * measured.median(figures, "exposed_s"),
            "link_ms": None if link_s is None else 1e3 * link_s}


def goals_of(name, mbit, step_s, compute_s, link_s):
    """step_s: of each exchange. No step is shorter than its computing, or than what the link needs for its bytes."""
    limit_s = max(compute_s, link_s)
    where = f"{name}, {mbit} Mbit/s"
    return [measured.goal(f"{where}: exchange / computing", link_s / compute_s),
            *(measured.goal(f"{where}: steps a second, {side} / synchronous", step_s["synchronous"] / step_s[side])
              for side in EXCHANGES if side != "synchronous"),
            measured.goal(f"{where}: of the fastest possible, synchronous", limit_s / step_s["synchronous"]),
            measured.goal(f"{where}: of the fastest possible, lag 1", limit_s / step_s["lag 1"])]


def measure(place, cluster, name, arguments):
    training = Training(place, cluster, name, arguments.steps)
    first = training.alone()
    links = sorted({*(arguments.mbit or [MBIT, link_of_half(first["parameters"], 1 / first["steps_per_second"])])})
    runs = {(ALONE, None): training.alone}
    runs |= {(side, mbit): lambda exchange=exchange, mbit=mbit: training.across(exchange, mbit)
             for mbit in links for side, exchange in EXCHANGES.items()}
    figures = measured.in_turns(runs, arguments.rounds)
    compute_s = 1 / measured.median(figures[ALONE, None], "steps_per_second")
    rows, goals = [row(name, ALONE, figures[ALONE, None])], []
    for mbit in links:
        link_s = link_bits(first["parameters"]) / (mbit * 1e6)
        rows += [row(name, side, figures[side, mbit], mbit, link_s) for side in EXCHANGES]
        step_s = {side: 1 / measured.median(figures[side, mbit], "steps_per_second") for side in EXCHANGES}
        goals += goals_of(name, mbit, step_s, compute_s, link_s)
    return rows, goals


def obstacle(place):
    if not (place.slipway.parents[1] / "lib/slipway/openmpi").exists():
        return "this installation has no libslipway for Open MPI"
    if len(place.cores) < RANKS:
        return f"{RANKS} ranks need {RANKS} cores"
    return nodes.obstacle()


def print_rows(rows):
    print(f"\n{'PART':<18} {'SIDE':<18} {'MBIT/S':>7} {'STEPS/S':>8} {'MIN':>7} {'MAX':>7} {'EXPOSED MS':>11} {'LINK MS':>8}")
    for each in rows:
        link, link_ms = (("", "") if each["link_mbit"] is None else (each["link_mbit"], f"{each['link_ms']:.1f}"))
        print(f"{each['part']:<18} {each['side']:<18} {link:>7} {each['steps_per_second']:>8.2f} {each['min']:>7.2f} "
              f"{each['max']:>7.2f} {each['exposed_ms']:>11.1f} {link_ms:>8}")
