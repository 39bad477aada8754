#include "ensemble/store/schema_texts.h"

namespace slipway::ensemble {

const char* const kSchema1 = R"sql(
CREATE TABLE study(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  objective TEXT NOT NULL,
  goal TEXT NOT NULL CHECK (goal IN ('maximize', 'minimize')),
  trials INTEGER NOT NULL CHECK (trials >= 0),
  sampler TEXT NOT NULL,
  seed INTEGER NOT NULL,
  grid_points INTEGER NOT NULL,
  spec_hash TEXT NOT NULL,
  space TEXT NOT NULL,
  created REAL NOT NULL
) STRICT;

CREATE TABLE parameter(
  position INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  definition TEXT NOT NULL
) STRICT;

CREATE TABLE trial(
  number INTEGER PRIMARY KEY CHECK (number >= 0),
  state TEXT NOT NULL CHECK (state IN
    ('queued', 'claimed', 'running', 'paused', 'complete', 'pruned', 'failed', 'lost', 'cancelled')),
  configuration TEXT NOT NULL,
  objective REAL,
  attempts INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  created REAL NOT NULL,
  started REAL,
  ended REAL,
  CHECK (state <> 'complete' OR objective IS NOT NULL)
) STRICT;
CREATE INDEX trial_rank ON trial(objective) WHERE state = 'complete';
CREATE TRIGGER trial_budget BEFORE INSERT ON trial
  WHEN NEW.number >= (SELECT trials FROM study)
  BEGIN SELECT RAISE(ABORT, 'the study has no trials left'); END;

CREATE TABLE trial_param(
  trial INTEGER NOT NULL REFERENCES trial(number),
  name TEXT NOT NULL REFERENCES parameter(name),
  kind TEXT NOT NULL CHECK (kind IN ('null', 'bool', 'int', 'real', 'text')),
  v ANY,
  PRIMARY KEY (trial, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt(
  trial INTEGER NOT NULL REFERENCES trial(number),
  n INTEGER NOT NULL CHECK (n >= 1),
  state TEXT NOT NULL CHECK (state IN
    ('claimed', 'running', 'paused', 'complete', 'pruned', 'failed', 'lost', 'cancelled')),
  pid INTEGER,
  start_time INTEGER,
  boot_id TEXT,
  host TEXT NOT NULL,
  claimed REAL NOT NULL,
  started REAL,
  ended REAL,
  exit_code INTEGER,
  signal INTEGER,
  stop TEXT CHECK (stop IN ('pruned', 'paused', 'time_limit', 'cancelled')),
  reason TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_open ON attempt(trial) WHERE ended IS NULL;

CREATE TABLE metric(
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  name TEXT NOT NULL,
  step INTEGER NOT NULL,
  epoch REAL,
  v REAL,
  special TEXT CHECK (special IN ('NaN', 'Infinity', '-Infinity')),
  PRIMARY KEY (trial, name, step, attempt),
  FOREIGN KEY (trial, attempt) REFERENCES attempt(trial, n),
  CHECK ((v IS NULL) = (special IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE event(
  seq INTEGER PRIMARY KEY,
  time REAL NOT NULL,
  kind TEXT NOT NULL,
  trial INTEGER,
  attempt INTEGER,
  detail TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE VIEW trial_overview AS
  SELECT number AS trial, state, objective, attempts, failures, reason, ended - started AS seconds,
    (SELECT json_group_object(name, CASE kind WHEN 'bool' THEN json(iif(v, 'true', 'false')) ELSE v END)
       FROM trial_param WHERE trial_param.trial = trial.number) AS parameters
  FROM trial;
CREATE VIEW leaderboard AS
  SELECT row_number() OVER (ORDER BY
      CASE (SELECT goal FROM study) WHEN 'maximize' THEN -objective ELSE objective END, trial) AS rank,
    trial, objective, parameters, seconds, attempts
  FROM trial_overview WHERE state = 'complete' ORDER BY rank;
CREATE VIEW failures AS
  SELECT trial, n AS attempt, state, exit_code, signal, host, ended - started AS seconds, reason
  FROM attempt WHERE state IN ('failed', 'lost') ORDER BY trial, n;
CREATE VIEW state_counts AS SELECT state, count(*) AS trials FROM trial GROUP BY state;
)sql";

}  // namespace slipway::ensemble
