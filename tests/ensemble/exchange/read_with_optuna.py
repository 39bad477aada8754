#!/usr/bin/python3
"""Loads a study with Optuna, tells what it holds, goes on with it, and tells how that went: one JSON line each."""

import json
import sys
import warnings

import optuna

warnings.simplefilter("error")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def told(trial):
    return {
        "state": trial.state.name,
        "values": trial.values,
        "params": trial.params,
        "distributions": {name: repr(value) for name, value in trial.distributions.items()},
        "reports": {str(step): repr(value) for step, value in trial.intermediate_values.items()},
        "user": trial.user_attrs,
        "seconds": trial.duration.total_seconds() if trial.duration else None,
        "started": trial.datetime_start.timestamp() if trial.datetime_start else None,
    }


def objective(trial):
    """Asks for the parameters of the sample book, as a program that goes on with its study does."""
    trial.suggest_float("lr", 1e-5, 1, log=True)
    trial.suggest_float("dropout", 0, 0.7, step=0.1)
    trial.suggest_int("width", 8, 64, step=8)
    trial.suggest_int("units", 8, 1024, log=True)
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam", None, True, 3, 2.5])
    if optimizer == "sgd":
        trial.suggest_float("momentum", 0, 0.99)
    trial.report(0.5, 1)
    return 0.9


study = optuna.load_study(study_name=None, storage="sqlite:///" + sys.argv[1])
print(json.dumps({
    "name": study.study_name,
    "direction": study.direction.name,
    "best": [study.best_trial.number, study.best_value],
    "user": study.user_attrs,
    "trials": [told(trial) for trial in study.get_trials()],
}, sort_keys=True))

begun = len(study.get_trials())
waiting = len(study.get_trials(states=[optuna.trial.TrialState.WAITING]))
study.sampler = optuna.samplers.TPESampler(seed=1, n_startup_trials=2)
study.optimize(objective, n_trials=waiting + 2)
asked = study.ask()
study.tell(asked, 0.95)
print(json.dumps({
    "taken": [told(study.get_trials()[number]) for number in (5, 7)],
    "new": len(study.get_trials()) - begun,
    "best": study.best_value,
}, sort_keys=True))
