"""Synthetic documents `slipway.view/1`: what the page of `slipway report` gets, made without any run."""

import math
import random

START = 1795363200.0


def rounded(value, digits=7):
    """As the document is written: seven significant digits."""
    return float(f"{value:.{digits}g}")


def common(run, kind, phase, **more):
    """The members that each run has."""
    document = {
        "run": run, "folder": f"/scratch/runs/{run}", "name": run.split("-")[0], "kind": kind, "engine": "slurm",
        "nodes": 2, "ranks": 8,
        "description": "Learning rates of the small network, with warm-up", "tags": ["paper", "v2"], "phase": phase,
        "created": START,
        "started": START + 40, "ended": None, "attempt": 1, "cause": None, "reason": "", "progress": {}, "best": None,
        "phases": [{"phase": "queued", "from": START, "to": START + 40, "attempt": 1},
                   {"phase": "staging", "from": START + 40, "to": START + 95, "attempt": 1},
                   {"phase": "running", "from": START + 95, "to": None, "attempt": 1}],
        "attempts": [], "datasets": [], "checkpoints": [], "steps": None, "curves": [], "objectives": [], "space": [],
        "trials": None, "scheduler": "", "sampler": "", "importance": [], "pareto": [], "selection": None,
        "failures": [],
        "events": events(60), "events_left_out": 12, "gpus": [], "accounting": accounting(), "provenance": provenance(),
        "spec": SPEC, "warnings": []}
    return {**document, **more}


SPEC = """name: fashion
description: Learning rates of the small network, with warm-up
launch: {nodes: 2, ranks_per_node: 4}
data:
  train: {from: /datasets/fashion, tier: ram}
train:
  command: [python3, train.py, --lr, "{lr}"]
  args: {lr: 0.001, batch: 64}
  checkpoint: {each: 500 steps, keep: 3}
"""


def events(count):
    kinds = [("staged", "train: 30.2 MiB in ram, 1.2 s"), ("started", "8 ranks on n1, n2"),
             ("checkpoint", "step {}: 12.4 MiB"), ("epoch", "epoch {} of 40")]
    return [{"time": START + 40 + 9 * i, "event": kinds[i % 4][0], "text": kinds[i % 4][1].format(i * 25)}
            for i in range(count)]


def accounting():
    parts = {"queue": 80, "staging": 110, "start": 12, "input": 30, "compute": 900, "wait": 85, "exchange": 140,
             "checkpoint": 20, "lost": 60, "idle": 63}
    return {"node_seconds": sum(parts.values()), "queue_s": 40.0,
            "parts": [{"part": part, "node_seconds": seconds} for part, seconds in parts.items()],
            "node_hours": 0.4167, "core_hours": 26.7, "gpu_hours": 1.667, "energy_j": 742000.0,
            "cpu_energy_j": 92000.0, "gpu_energy_j": 650000.0,
            "gpu_memory_peak_bytes": 71_000_000_000, "gpu_utilisation": 0.5,
            "advice": "Ranks wait 6 % of the time for rank 5 on n2: check that node."}


def gpus():
    """Two of each node; the second of n2 computes hardly anything."""
    use = {"n1": (0.9, 0.8), "n2": (0.7, 0.02)}
    return [{"host": host, "gpu": f"GPU-{host}-{i}", "mean_utilisation": busy, "measured_s": 600.0}
            for host, each in use.items() for i, busy in enumerate(each)]


def provenance():
    return {"command": "slipway run fashion.yaml", "commit": "3f1c9d2a77be", "is_dirty": True,
            "diff": "@@ -1,2 +1,2 @@\n-lr = 0.01\n+lr = 0.001\n batch = 64",
            "untracked": ["notes.txt"], "versions": {"slipway": "0.1.0", "Open MPI": "4.1.4", "HDF5": "1.10.8",
                                                     "python": "3.11.2"}, "modules": ["gcc/12", "openmpi/4.1"],
            "hosts": [{"host": "n1", "cpu": "AMD EPYC 7763 64-Core Processor", "gpus": ["NVIDIA A100-SXM4-40GB"] * 4},
                      {"host": "n2", "cpu": "AMD EPYC 7763 64-Core Processor", "gpus": ["NVIDIA A100-SXM4-40GB"] * 4}]}


def curve(metric, random_, points, low, high, trial=None, attempt=1, start=START + 95, step=10):
    rate = random_.uniform(2, 6)
    values = [rounded(low + (high - low) * math.exp(-rate * i / points) + random_.gauss(0, 0.015 * abs(high - low)))
              for i in range(points)]
    return {"metric": metric, "trial": trial, "attempt": attempt, "count": points * 20, "not_finite": 0,
            "lowest": min(values), "highest": max(values), "step": [i * step for i in range(points)], "value": values,
            "time": [round(start + i * step * 0.11, 2) for i in range(points)]}


def single(phase="running", seed=1, run="fashion-20261125-101010-ab12"):
    """One training with two attempts and a straggler."""
    draw = random.Random(seed)
    curves = [curve(metric, draw, 400, low, high) for metric, low, high in
              (("loss", .12, 2.3), ("validation loss", .21, 2.2), ("accuracy", .96, .1),
               ("validation accuracy", .91, .12), ("learning rate", 1e-5, 1e-3))]
    first = curve("loss", random.Random(7), 120, .3, 2.3, start=START + 10)
    curves[0]["attempt"] = curves[1]["attempt"] = curves[2]["attempt"] = curves[3]["attempt"] = 2
    curves[1]["value"][150] = curves[1]["value"][151] = None
    curves[1]["not_finite"] = 2
    ranks = [{"rank": i, "host": f"n{1 + i // 4}", "step_s": .11,
              "compute_s": .08 + (.018 if i == 5 else .001 * (i % 3)),
              "wait_s": .004 if i == 5 else .02 - .001 * (i % 3), "exchange_s": .007, "input_s": .002}
             for i in range(8)]
    ended = START + 560 if phase != "running" else None
    document = common(run, "single", phase, ended=ended, attempt=2, curves=[first] + curves,
                      reason="rank 5 on n2 ended with exit code 1" if phase == "failed" else "",
                      cause={"kind": "rank_failed", "rank": 5, "host": "n2", "status": {"exit_code": 1, "signal": 0}} if phase == "failed" else None,
                      progress={"done": 3990, "total": 8000, "unit": "steps", "left_s": 445.0},
                      steps={"team": "default", "steps": 3990, "way": "staged", "without_direct": "clip_norm is set",
                             "ranks": ranks})
    document["attempts"] = [
        {"number": 1, "started": START + 40, "ended": START + 93, "reason": "rank 3 was killed by signal 9 (SIGKILL)",
         "ranks": [{"rank": i, "exit_code": None if i == 3 else 0, "signal": 9 if i == 3 else None} for i in range(8)]},
        {"number": 2, "started": START + 95, "ended": ended, "reason": "", "ranks": []}]
    document["datasets"] = [
        {"name": "train", "tier": "ram", "directory": "/dev/shm/slipway/train", "from": START + 41, "to": START + 80,
         "bytes": 31_457_280_000, "seconds": 39.0, "found": False},
        {"name": "validation", "tier": "ssd", "directory": "/local/validation", "from": START + 41, "to": START + 55,
         "bytes": 5_242_880_000, "seconds": 14.0, "found": False}]
    document["checkpoints"] = [{"step": 500 * i, "bytes": 13_002_342, "seconds": .4, "time": START + 95 + 55 * i}
                               for i in range(1, 8)]
    document["failures"] = [{"what": "killed by signal 9 (SIGKILL)", "count": 1, "trials": [], "trial": None, "rank": 3,
                             "host": "n1", "lines": ["step 410 loss 0.61", "\x1b[31mRuntimeError\x1b[0m: out of memory",
                                       "  at train.py:88"]}]
    return document


SPACE = [("lr", "log", 1e-5, .1, []), ("momentum", "uniform", .5, .99, []), ("weight_decay", "log", 1e-6, 1e-2, []),
         ("dropout", "uniform", 0, .6, []), ("layers", "int", 2, 12, []), ("width", "int_log", 32, 1024, []),
         ("optimizer", "choice", None, None, ["adam", "sgd", "lamb"]),
         ("warmup", "int", 0, 1000, []), ("smoothing", "uniform", 0, .2, []),
         ("augment", "choice", None, None, [True, False])]


def draw_parameter(kind, low, high, values, draw):
    if kind == "choice":
        return draw.choice(values)
    if kind == "uniform":
        return rounded(draw.uniform(low, high))
    if kind == "int":
        return draw.randint(low, high)
    value = math.exp(draw.uniform(math.log(low), math.log(high)))
    return round(value) if kind == "int_log" else rounded(value)


def score(parameters, draw):
    loss = .1 + .08 * (math.log10(parameters["lr"]) + 2.7) ** 2
    loss += .3 * (parameters["dropout"] - .2) ** 2 + .01 * abs(parameters["layers"] - 7)
    loss += {"adam": 0, "sgd": .05, "lamb": .02}[parameters["optimizer"]] + abs(draw.gauss(0, .02))
    return rounded(loss)


def state_of(i, count, phase, draw):
    if i >= count - 8 and phase == "running" and count > 20:
        return "running"
    return draw.choices(["complete", "pruned", "failed"], [78, 16, 6])[0]


def add_trial(trials, i, count, phase, free, draw):
    """Trial `i` of `count`, in the slot that is free first."""
    slot = free.index(min(free))
    own = {name: draw_parameter(kind, low, high, values, draw) for name, kind, low, high, values in SPACE}
    loss = score(own, draw) + (.4 if i < count / 10 else 0) * draw.random()
    state = state_of(i, count, phase, draw)
    if own["optimizer"] != "sgd":
        own["momentum"] = None
    for name, column in trials["parameters"].items():
        column.append(own[name])
    took = draw.uniform(20, 90) * (.4 if state == "pruned" else 1)
    trials["state"].append(state)
    trials["started"].append(round(free[slot], 2))
    free[slot] += took
    trials["ended"].append(None if state == "running" else round(free[slot] - 1, 2))
    trials["attempts"].append(2 if draw.random() < .03 else 1)
    trials["origin"].append("random" if i < count / 10 else "gp")
    trials["place"].append(f"n{1 + slot // 4}:{slot % 4}")
    trials["reason"].append("exit code 1" if state == "failed" else "")
    trials["value"][0].append(rounded(loss) if state == "complete" else None)
    for column in trials["value"][1:]:
        cost = rounded(5 + own["layers"] * math.log2(own["width"]) / 3 + draw.random()) if state == "complete" else None
        column.append(cost)


def columns_of(count, objectives, phase, draw):
    """The trials of a search, and when the last of them ends."""
    trials = {"number": list(range(count)), "state": [], "value": [[] for _ in range(objectives)],
              "rank": [None] * count, "started": [], "ended": [], "attempts": [], "repeat": [0] * count,
              "parent": [None] * count, "origin": [], "place": [], "reason": [],
              "parameters": {name: [] for name, *_ in SPACE}}
    free = [START + 95] * 16
    for i in range(count):
        add_trial(trials, i, count, phase, free, draw)
    return trials, max(free)


def ensemble(count=200, objectives=1, seed=1, run="search-20261125-101010-cd34", curve_points=24000, phase="running"):
    """A search over ten parameters; some trials fail, are pruned or still run."""
    draw = random.Random(seed)
    trials, end = columns_of(count, objectives, phase, draw)
    order = sorted((i for i in range(count) if trials["value"][0][i] is not None), key=lambda i: trials["value"][0][i])
    for place, i in enumerate(order):
        trials["rank"][i] = place + 1
    best = {"metric": "loss", "goal": "minimize", "value": trials["value"][0][order[0]], "trial": order[0],
            "step": None} if order else None
    members = [{"trial": i, "weight": 1 / (2 + place)} for place, i in enumerate(order[:5])]
    shares = zip((name for name, *_ in SPACE), (.58, .02, .03, .12, .1, .04, .08, .01, .01, .01))
    return common(
        run, "ensemble", phase, trials=trials, ended=None if phase == "running" else end,
        curves=trial_curves(trials, draw, curve_points), best=best, scheduler="asha", sampler="gp",
        progress={"done": sum(state != "running" for state in trials["state"]), "total": count + count // 5,
                  "unit": "trials", "left_s": 5400.0},
        objectives=[{"metric": "loss", "goal": "minimize", "name": "loss"},
                    {"metric": "ms", "goal": "minimize", "name": "latency"},
                    {"metric": "mb", "goal": "minimize", "name": "memory"}][:objectives],
        space=[{"name": name, "kind": kind, "low": low, "high": high, "values": values}
               for name, kind, low, high, values in SPACE],
        pareto=front(trials) if objectives == 2 else [], failures=failures(trials),
        importance=[{"parameter": name, "share": share, "low": share * .8, "high": share * 1.25}
                    for name, share in shares] if count > 3 else [],
        selection={"method": "greedy", "metric": "loss", "value": .118, "members": members} if order else None)


def trial_curves(trials, draw, budget):
    """Curves of the best and of the running trials: as many as the budget of points allows."""
    order = sorted(trials["number"], key=lambda i: (trials["value"][0][i] is None, trials["value"][0][i] or 0))
    shown = order[:max(1, budget // 60)] if budget else []
    return [curve("loss", draw, 20 if trials["state"][i] == "pruned" else 60, trials["value"][0][i] or .4, 2.3, trial=i,
                  start=trials["started"][i]) for i in shown]


def front(trials):
    pairs = [(x, y, i) for i, (x, y) in enumerate(zip(*trials["value"])) if x is not None and y is not None]
    chosen, lowest = [], math.inf
    for _, y, i in sorted(pairs):
        if y < lowest:
            chosen.append(i)
            lowest = y
    return chosen


def failures(trials):
    failed = [i for i in trials["number"] if trials["state"][i] == "failed"]
    if not failed:
        return []
    return [{"what": "exit code 1: RuntimeError: CUDA out of memory", "count": len(failed), "trials": failed[:20],
             "trial": failed[0], "rank": 0, "host": "n1",
             "lines": ["Traceback (most recent call last):", '  File "train.py", line 88, in <module>',
                       "RuntimeError: CUDA out of memory"]}]


def view(*runs, differences=()):
    """`differences`: (key, values) of the fields in which the specs differ."""
    return {"schema": "slipway.view/1", "made": START + 600.5, "runs": list(runs),
            "spec_differences": [{"key": key, "values": list(values)} for key, values in differences]}
