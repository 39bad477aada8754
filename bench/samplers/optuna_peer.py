#!/usr/bin/python3
"""Optuna's samplers behind a pipe: one JSON document a line in, one out.

{"do": "study", "sampler": "tpe", "seed": 1, "parallel": 1, "space": [["lr", {"log": [1e-4, 1]}], ...]}  -> {}
{"do": "ask"}                                  -> {"number": 0, "point": {"lr": 0.1}, "wall_s": 0.001, "cpu_s": 0.001}
{"do": "tell", "number": 0, "value": 1.5}      -> {}

The first line out is {"optuna": VERSION}. The functions are evaluated on the other side, so that all samplers see the
same numbers; an ask counts from creating the trial until all its parameters are known.
"""

import json
import sys
import time
import warnings


def make_sampler(optuna, name, seed, parallel):
    samplers = optuna.samplers
    makers = {
        "tpe": lambda: samplers.TPESampler(seed=seed, constant_liar=parallel > 1),
        "tpe-multivariate": lambda: samplers.TPESampler(
            seed=seed, multivariate=True, group=True, constant_liar=parallel > 1, warn_independent_sampling=False),
        "cmaes": lambda: samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False),
        "qmc": lambda: samplers.QMCSampler(
            seed=seed, scramble=True, warn_independent_sampling=False, warn_asynchronous_seeding=False),
        "random": lambda: samplers.RandomSampler(seed=seed),
    }
    return makers[name]()


def is_active(definition, point):
    return all(name in point and point[name] in values for name, values in definition.get("when", {}).items())


def suggest(trial, name, definition):
    kind, value = next((kind, value) for kind, value in definition.items() if kind not in ("when", "step"))
    step = definition.get("step")
    if kind == "uniform":
        return trial.suggest_float(name, *value, step=step)
    if kind == "log":
        return trial.suggest_float(name, *value, log=True)
    if kind == "int":
        return trial.suggest_int(name, *value, step=step or 1)
    if kind == "int_log":
        return trial.suggest_int(name, *value, log=True)
    if kind == "choice":
        return trial.suggest_categorical(name, value)
    if kind == "ordinal":
        return value[trial.suggest_int(name, 0, len(value) - 1)]
    return value


def ask(study, space):
    wall, cpu = time.perf_counter(), time.process_time()
    trial = study.ask()
    point = {}
    for name, definition in space:
        if is_active(definition, point):
            point[name] = suggest(trial, name, definition)
    return {"number": trial.number, "point": point,
            "wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def main():
    warnings.simplefilter("ignore")
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print(json.dumps({"optuna": optuna.__version__}), flush=True)
    study, space = None, []
    for line in sys.stdin:
        request = json.loads(line)
        answer = {}
        if request["do"] == "study":
            sampler = make_sampler(optuna, request["sampler"], request["seed"], request["parallel"])
            study, space = optuna.create_study(sampler=sampler), request["space"]
        elif request["do"] == "ask":
            answer = ask(study, space)
        else:
            study.tell(request["number"], request["value"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    try:
        main()
    except ImportError:
        sys.exit(3)
