#include "ensemble/store/schema_texts.h"

namespace slipway::ensemble {

const char* const kSchema2 = R"sql(
DROP VIEW trial_overview;
DROP VIEW leaderboard;
DROP VIEW failures;
DROP TRIGGER trial_budget;

CREATE TABLE objective(
  position INTEGER PRIMARY KEY CHECK (position >= 0),
  metric TEXT NOT NULL,
  goal TEXT NOT NULL CHECK (goal IN ('maximize', 'minimize')),
  counts TEXT NOT NULL CHECK (counts IN ('last', 'best')),
  reach REAL
) STRICT;
INSERT INTO objective SELECT 0, objective, goal, 'last', NULL FROM study;
ALTER TABLE study DROP COLUMN objective;
ALTER TABLE study DROP COLUMN goal;
ALTER TABLE study ADD COLUMN repeats INTEGER NOT NULL DEFAULT 1 CHECK (repeats >= 1);
ALTER TABLE study ADD COLUMN scheduler TEXT NOT NULL DEFAULT 'none';

ALTER TABLE trial ADD COLUMN repeat INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN parent INTEGER REFERENCES trial(number);
ALTER TABLE trial ADD COLUMN origin TEXT NOT NULL DEFAULT '';
CREATE TRIGGER trial_budget BEFORE INSERT ON trial
  WHEN NEW.number >= (SELECT trials * repeats FROM study)
  BEGIN SELECT RAISE(ABORT, 'the study has no trials left'); END;

CREATE TABLE trial_value(
  trial INTEGER NOT NULL REFERENCES trial(number),
  position INTEGER NOT NULL REFERENCES objective(position),
  v REAL NOT NULL,
  PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt_2(
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
  stop TEXT CHECK (stop IN ('pruned', 'paused', 'time_limit', 'cancelled', 'trial_time_limit')),
  reason TEXT NOT NULL DEFAULT '',
  outcome TEXT NOT NULL DEFAULT '',
  place TEXT NOT NULL DEFAULT '',
  nodes INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;
INSERT INTO attempt_2 SELECT *, CASE state
    WHEN 'complete' THEN 'complete' WHEN 'pruned' THEN 'pruned' WHEN 'paused' THEN 'paused'
    WHEN 'cancelled' THEN 'cancelled' WHEN 'lost' THEN 'manager_lost'
    WHEN 'failed' THEN CASE WHEN exit_code IS NULL THEN 'not_started' WHEN signal > 0 THEN 'killed'
      WHEN exit_code > 0 THEN 'failed' ELSE 'no_objective' END
    ELSE '' END, '', 1 FROM attempt;
DROP TABLE attempt;
ALTER TABLE attempt_2 RENAME TO attempt;
CREATE INDEX attempt_open ON attempt(trial) WHERE ended IS NULL;

ALTER TABLE metric ADD COLUMN time REAL;

CREATE TABLE rung(
  trial INTEGER NOT NULL REFERENCES trial(number),
  rung INTEGER NOT NULL,
  bracket INTEGER NOT NULL,
  resource REAL NOT NULL,
  v REAL,
  special TEXT CHECK (special IN ('NaN', 'Infinity', '-Infinity')),
  decision TEXT NOT NULL,
  time REAL NOT NULL,
  PRIMARY KEY (trial, rung),
  CHECK ((v IS NULL) = (special IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE session(
  n INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started REAL NOT NULL,
  last_seen REAL NOT NULL
) STRICT;
INSERT INTO session(host, pid, started, last_seen)
  SELECT (SELECT host FROM attempt LIMIT 1), 0, min(time), max(time) FROM event HAVING count(*) > 0
    AND EXISTS (SELECT * FROM attempt);

CREATE TABLE request(
  name TEXT PRIMARY KEY,
  what TEXT NOT NULL,
  time REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE VIEW trial_overview AS
  SELECT number AS trial, state, objective, attempts, failures, reason, max(0.0, ended - started) AS seconds,
    (SELECT json_group_object(name, CASE kind WHEN 'bool' THEN json(iif(v, 'true', 'false')) ELSE v END)
       FROM trial_param WHERE trial_param.trial = trial.number) AS parameters,
    number / (SELECT repeats FROM study) AS configuration, repeat, parent, origin
  FROM trial;
CREATE VIEW leaderboard AS
  SELECT row_number() OVER (ORDER BY CASE WHEN goal = 'maximize' AND reach IS NULL THEN -objective ELSE objective END,
      trial) AS rank, trial, objective, parameters, seconds, attempts, repeats, least, most
  FROM (SELECT min(trial) AS trial, avg(objective) AS objective, parameters, avg(seconds) AS seconds,
      sum(attempts) AS attempts, count(*) AS repeats, min(objective) AS least, max(objective) AS most
      FROM trial_overview WHERE state = 'complete' GROUP BY configuration),
    (SELECT goal, reach FROM objective WHERE position = 0)
  ORDER BY rank;
CREATE VIEW failures AS
  SELECT trial, n AS attempt, state, outcome, exit_code, signal, host, max(0.0, ended - started) AS seconds, reason
  FROM attempt WHERE state IN ('failed', 'lost') ORDER BY trial, n;
CREATE VIEW rungs AS
  SELECT bracket, rung, resource, count(*) AS trials, sum(decision = 'stop') AS stopped FROM rung
  GROUP BY bracket, rung, resource ORDER BY bracket, rung;
CREATE VIEW usage AS
  SELECT (SELECT count(*) FROM trial) AS trials,
    (SELECT coalesce(sum(max(0.0, ended - started) * nodes), 0) FROM attempt WHERE ended IS NOT NULL) AS node_seconds,
    (SELECT coalesce(sum(max(0.0, last_seen - started)), 0) FROM session) AS wall_seconds;
)sql";

}  // namespace slipway::ensemble
