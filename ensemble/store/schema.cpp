#include "ensemble/store/schema.h"

#include <fmt/format.h>

#include "core/error.h"
#include "ensemble/store/connection.h"

namespace slipway::ensemble {
namespace {

constexpr const char* kTables = R"sql(
CREATE TABLE study(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  trials INTEGER NOT NULL CHECK (trials >= 0),
  repeats INTEGER NOT NULL DEFAULT 1 CHECK (repeats >= 1),
  scheduler TEXT NOT NULL DEFAULT 'none',
  sampler TEXT NOT NULL,
  seed INTEGER NOT NULL,
  grid_points INTEGER NOT NULL,
  spec_hash TEXT NOT NULL,
  space TEXT NOT NULL,
  created REAL NOT NULL
) STRICT;

CREATE TABLE objective(
  position INTEGER PRIMARY KEY CHECK (position >= 0),
  metric TEXT NOT NULL,
  goal TEXT NOT NULL CHECK (goal IN ('maximize', 'minimize')),
  counts TEXT NOT NULL CHECK (counts IN ('last', 'best')),
  reach REAL
) STRICT;

CREATE TABLE parameter(
  position INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  definition TEXT NOT NULL
) STRICT;

CREATE TABLE trial(
  number INTEGER PRIMARY KEY CHECK (number >= 0),
  state TEXT NOT NULL CHECK (state IN
    ('queued', 'claimed', 'waiting', 'running', 'paused', 'complete', 'pruned', 'failed', 'lost', 'cancelled')),
  configuration TEXT NOT NULL,
  objective REAL,
  attempts INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  created REAL NOT NULL,
  started REAL,
  ended REAL,
  repeat INTEGER NOT NULL DEFAULT 0,
  parent INTEGER REFERENCES trial(number),
  origin TEXT NOT NULL DEFAULT '',
  CHECK (state <> 'complete' OR objective IS NOT NULL)
) STRICT;
CREATE INDEX trial_rank ON trial(objective) WHERE state = 'complete';
CREATE TRIGGER trial_budget BEFORE INSERT ON trial
  WHEN NEW.number >= (SELECT trials * repeats FROM study)
  BEGIN SELECT RAISE(ABORT, 'the study has no trials left'); END;

CREATE TABLE trial_param(
  trial INTEGER NOT NULL REFERENCES trial(number),
  name TEXT NOT NULL REFERENCES parameter(name),
  kind TEXT NOT NULL CHECK (kind IN ('null', 'bool', 'int', 'real', 'text')),
  v ANY,
  PRIMARY KEY (trial, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial_value(
  trial INTEGER NOT NULL REFERENCES trial(number),
  position INTEGER NOT NULL REFERENCES objective(position),
  v REAL NOT NULL,
  PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt(
  trial INTEGER NOT NULL REFERENCES trial(number),
  n INTEGER NOT NULL CHECK (n >= 1),
  state TEXT NOT NULL CHECK (state IN
    ('claimed', 'waiting', 'running', 'paused', 'complete', 'pruned', 'failed', 'lost', 'cancelled')),
  pid INTEGER,
  start_time INTEGER,
  boot_id TEXT,
  host TEXT NOT NULL,
  claimed REAL NOT NULL,
  started REAL,
  ended REAL,
  exit_code INTEGER,
  signal INTEGER,
  rank INTEGER CHECK (rank >= 0),
  stop TEXT CHECK (stop IN ('pruned', 'paused', 'time_limit', 'cancelled', 'trial_time_limit')),
  reason TEXT NOT NULL DEFAULT '',
  outcome TEXT NOT NULL DEFAULT '',
  missing TEXT NOT NULL DEFAULT '',
  place TEXT NOT NULL DEFAULT '',
  nodes INTEGER NOT NULL DEFAULT 1,
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
  time REAL,
  PRIMARY KEY (trial, name, step, attempt),
  FOREIGN KEY (trial, attempt) REFERENCES attempt(trial, n),
  CHECK ((v IS NULL) = (special IS NOT NULL))
) STRICT, WITHOUT ROWID;

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
  last_seen REAL NOT NULL,
  boot_id TEXT NOT NULL,
  since_boot REAL NOT NULL
) STRICT;

CREATE TABLE request(
  name TEXT PRIMARY KEY,
  accepted INTEGER NOT NULL,
  what TEXT NOT NULL,
  time REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE event(
  seq INTEGER PRIMARY KEY,
  time REAL NOT NULL,
  kind TEXT NOT NULL,
  trial INTEGER,
  attempt INTEGER,
  detail TEXT NOT NULL DEFAULT ''
) STRICT;
)sql";

constexpr const char* kViews = R"sql(
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
CREATE VIEW state_counts AS SELECT state, count(*) AS trials FROM trial GROUP BY state;
)sql";

}  // namespace

bool IsEmptyDatabase(Connection& connection) {
  return connection.Integer("SELECT count(*) FROM sqlite_schema") == 0 &&
         connection.Integer("PRAGMA application_id") == 0;
}

void CheckSchema(Connection& connection) {
  if (IsEmptyDatabase(connection)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' holds no trials yet: its ensemble was only begun", connection.path().string()),
                "wait a moment; when its manager has ended, resume the run");
  }
  if (connection.Integer("PRAGMA application_id") != kBookApplicationId) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' is an SQLite database, but not a trial book", connection.path().string()),
                "move it away, or name the folder of an ensemble run");
  }
  const auto version = connection.Integer("PRAGMA user_version");
  if (version == kBookSchemaVersion) return;
  const bool is_newer = version > kBookSchemaVersion;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' was written by {} Slipway (schema {}; this one knows {})", connection.path().string(),
                          is_newer ? "a newer" : "an older", version, kBookSchemaVersion),
              is_newer ? "use the version that wrote it, or a newer one"
                       : "use the version that wrote it, or start the ensemble again with: slipway run");
}

void CreateSchema(Connection& connection) {
  Transaction transaction(connection);
  connection.Execute(kTables);
  connection.Execute(kViews);
  connection.Execute(fmt::format("PRAGMA application_id = {}", kBookApplicationId));
  connection.Execute(fmt::format("PRAGMA user_version = {}", kBookSchemaVersion));
  transaction.Commit();
}

}  // namespace slipway::ensemble
