#!/usr/bin/python3
"""Fills a file as a user of Optuna would: the studies "one" (7 trials, all states, minimize) and "two" (empty)."""

import sys

import optuna

optuna.logging.set_verbosity(optuna.logging.CRITICAL)
storage = "sqlite:///" + sys.argv[1]
study = optuna.create_study(storage=storage, study_name="one", sampler=optuna.samplers.RandomSampler(seed=1))
optuna.create_study(storage=storage, study_name="two", directions=["maximize", "minimize"])


def objective(trial):
    trial.suggest_float("lr", 1e-5, 1, log=True)
    trial.suggest_float("dropout", 0, 0.7, step=0.1)
    trial.suggest_int("units", 8, 1024, log=True)
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam", None, True, 3, 2.5])
    if optimizer == "sgd":
        trial.suggest_float("momentum", 0, 0.9)
    trial.report(0.5, 1)
    if trial.number == 1:
        raise optuna.TrialPruned()
    if trial.number == 2:
        raise ValueError("as planned")
    return float("inf") if trial.number == 3 else 0.25 * trial.number


study.enqueue_trial({"lr": 0.01, "dropout": 0.3, "units": 100, "optimizer": "sgd", "momentum": 0.9})
study.optimize(objective, n_trials=5, catch=(ValueError,))
study.ask()
study.enqueue_trial({"lr": 0.5})
