#!/usr/bin/python3
"""Optuna with SQLite storage, the peer of the trial book; answers one JSON document.

optuna_store.py throughput TRIALS FILE   seconds of TRIALS trials of ten floats with the random sampler
optuna_store.py fill TRIALS FILE         makes a study of so many complete trials of ten floats
optuna_store.py reopen FILE              seconds until its trials are known
"""

import json
import sqlite3
import sys
import time
import warnings


def values_of(trial):
    return [trial.suggest_float(f"x{i}", 0, 1) for i in range(10)]


def throughput(optuna, trials, path):
    study = optuna.create_study(storage=f"sqlite:///{path}", sampler=optuna.samplers.RandomSampler(seed=1))
    begun = time.perf_counter()
    study.optimize(lambda trial: sum(values_of(trial)), n_trials=trials)
    return {"seconds": time.perf_counter() - begun}


def copies(connection, table, key, times, **changed):
    """Writes the rows of trial 1 so many times more, for trials 2, 3, ..."""
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != key]
    rows = connection.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()
    made = []
    for trial in range(2, times + 2):
        for row in rows:
            values = dict(zip(names, row))
            made.append([changed[name](trial) if name in changed else values[name] for name in names])
    connection.executemany(f"INSERT INTO {table}({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", made)


def fill(optuna, trials, path):
    """One trial by Optuna, the others as copies of its rows: it would take hours with as many transactions."""
    throughput(optuna, 1, path)
    with sqlite3.connect(path) as connection:
        copies(connection, "trials", "trial_id", trials - 1, number=lambda trial: trial - 1)
        copies(connection, "trial_params", "param_id", trials - 1, trial_id=lambda trial: trial)
        copies(connection, "trial_values", "trial_value_id", trials - 1, trial_id=lambda trial: trial)
    return {}


def reopen(optuna, path):
    begun = time.perf_counter()
    study = optuna.load_study(study_name=None, storage=f"sqlite:///{path}")
    trials = study.get_trials(deepcopy=False)
    seconds = time.perf_counter() - begun
    assert all(len(trial.params) == 10 and trial.state.is_finished() for trial in trials)
    return {"seconds": seconds, "trials": len(trials)}


def main():
    warnings.simplefilter("ignore")
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    task, *words = sys.argv[1:]
    answer = {"throughput": lambda n, path: throughput(optuna, int(n), path),
              "fill": lambda n, path: fill(optuna, int(n), path),
              "reopen": lambda path: reopen(optuna, path)}[task](*words)
    print(json.dumps({"optuna": optuna.__version__, **answer}))


if __name__ == "__main__":
    try:
        main()
    except ImportError:
        sys.exit(3)
