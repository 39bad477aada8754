"""The run of a made trial book, which the benchmarks of views look at."""

import json
import pathlib
import sqlite3
import subprocess

LIBEXEC = pathlib.Path(__file__).absolute().parents[2]
PROGRAM = LIBEXEC.parents[1] / "bin" / "slipway"
NOOP = LIBEXEC / "bench-support" / "noop"
PARAMETERS = 10
REPORTS = 20


def slipway(place, *words, **options):
    return subprocess.run([PROGRAM, "--runs-dir", place / "runs", "-q", *words], cwd=place, check=True,
                          stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **options)


def ensemble(place, trials, parallel, command, parameters=PARAMETERS):
    spec = {"name": "bench", "launch": {"engine": "local"},
            "train": {"command": command, "metrics": {"from": "stdout", "pattern": r"FoM: (?<objective>\S+)"}},
            "ensemble": {"objective": {"metric": "objective"}, "trials": trials, "parallel": parallel,
                         "sampler": "random",
                         "space": {f"x{i}": {"uniform": [0, 1]} for i in range(parameters)}}}
    (place / "exp.yaml").write_text(json.dumps(spec))


def made_book(place, trials):
    """The run of one trial, whose rows are then multiplied."""
    place.mkdir()
    ensemble(place, 1, 1, [str(NOOP)])
    slipway(place, "run", "exp.yaml")
    run, = (place / "runs").iterdir()
    book = sqlite3.connect(run / "trials.db")
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {trials - 1}) "

    def multiply(table, **changes):
        columns = [row[1] for row in book.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(changes.get(column, f"{table}.{column}") for column in columns)
        number = "number" if table == "trial" else "trial"
        book.execute(f"{numbers} INSERT INTO {table}({', '.join(columns)}) SELECT {values} FROM n, {table} "
                     f"WHERE {table}.{number} = 0 AND n.i < {trials}")

    book.execute("UPDATE study SET trials = ?", (trials,))
    if trials > 1:
        multiply("trial", number="i", objective="(i * 7919 % 10007) / 10007.0", started="trial.started + i",
                 ended="trial.ended + i")
        multiply("trial_param", trial="i",
                 v="(i * (31 + 14 * CAST(substr(trial_param.name, 2) AS INTEGER)) % 9973) / 9973.0")
        multiply("attempt", trial="i", pid="NULL", start_time="NULL", boot_id="NULL")
    book.execute(f"WITH RECURSIVE s(j) AS (SELECT 100 UNION ALL SELECT j + 1 FROM s WHERE j < {100 + REPORTS}) "
                 "INSERT INTO metric(trial, attempt, name, step, v) "
                 "SELECT trial, n, 'objective', j, 1.0 / j FROM attempt, s")
    book.commit()
    book.close()
    return run
