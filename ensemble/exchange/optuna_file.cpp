#include "ensemble/exchange/optuna_file.h"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "ensemble/store/connection.h"
#include "ensemble/store/query.h"

namespace slipway::ensemble {
namespace {

// The tables, with their versions, as Optuna 3.1 creates them. Optuna's migrations alter these tables, so types and
// constraints are exactly those that it declares itself.
constexpr const char* kOptunaSchema = R"sql(
CREATE TABLE studies(
  study_id INTEGER NOT NULL PRIMARY KEY,
  study_name VARCHAR(512) NOT NULL
);
CREATE UNIQUE INDEX ix_studies_study_name ON studies(study_name);
CREATE TABLE version_info(
  version_info_id INTEGER NOT NULL PRIMARY KEY CHECK (version_info_id = 1),
  schema_version INTEGER,
  library_version VARCHAR(256)
);
CREATE TABLE study_directions(
  study_direction_id INTEGER NOT NULL PRIMARY KEY,
  direction VARCHAR(8) NOT NULL,
  study_id INTEGER NOT NULL REFERENCES studies(study_id),
  objective INTEGER NOT NULL,
  UNIQUE (study_id, objective)
);
CREATE TABLE study_user_attributes(
  study_user_attribute_id INTEGER NOT NULL PRIMARY KEY,
  study_id INTEGER REFERENCES studies(study_id),
  "key" VARCHAR(512),
  value_json TEXT,
  UNIQUE (study_id, "key")
);
CREATE TABLE study_system_attributes(
  study_system_attribute_id INTEGER NOT NULL PRIMARY KEY,
  study_id INTEGER REFERENCES studies(study_id),
  "key" VARCHAR(512),
  value_json TEXT,
  UNIQUE (study_id, "key")
);
CREATE TABLE trials(
  trial_id INTEGER NOT NULL PRIMARY KEY,
  number INTEGER,
  study_id INTEGER REFERENCES studies(study_id),
  state VARCHAR(8) NOT NULL,
  datetime_start DATETIME,
  datetime_complete DATETIME
);
CREATE TABLE trial_user_attributes(
  trial_user_attribute_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER REFERENCES trials(trial_id),
  "key" VARCHAR(512),
  value_json TEXT,
  UNIQUE (trial_id, "key")
);
CREATE TABLE trial_system_attributes(
  trial_system_attribute_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER REFERENCES trials(trial_id),
  "key" VARCHAR(512),
  value_json TEXT,
  UNIQUE (trial_id, "key")
);
CREATE TABLE trial_params(
  param_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER REFERENCES trials(trial_id),
  param_name VARCHAR(512),
  param_value FLOAT,
  distribution_json TEXT,
  UNIQUE (trial_id, param_name)
);
CREATE TABLE trial_values(
  trial_value_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trials(trial_id),
  objective INTEGER NOT NULL,
  value FLOAT,
  value_type VARCHAR(7) NOT NULL,
  UNIQUE (trial_id, objective)
);
CREATE TABLE trial_intermediate_values(
  trial_intermediate_value_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trials(trial_id),
  step INTEGER NOT NULL,
  intermediate_value FLOAT,
  intermediate_value_type VARCHAR(7) NOT NULL,
  UNIQUE (trial_id, step)
);
CREATE TABLE trial_heartbeats(
  trial_heartbeat_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER NOT NULL UNIQUE REFERENCES trials(trial_id),
  heartbeat DATETIME NOT NULL
);
CREATE TABLE alembic_version(
  version_num VARCHAR(32) NOT NULL PRIMARY KEY
);
INSERT INTO version_info(version_info_id, schema_version, library_version) VALUES (1, 12, '3.1.0');
INSERT INTO alembic_version(version_num) VALUES ('v3.0.0.d');
)sql";

template <class Action>
auto WritingOptuna(const std::filesystem::path& path, Action&& action) -> decltype(action()) {
  try {
    return std::forward<Action>(action)();
  } catch (const SQLite::Exception& error) {
    throw Error(ErrorKind::kEnvironment, fmt::format("cannot write '{}': {}", path.string(), error.what()),
                "check the disk and the folder's permissions");
  }
}

/// SQLite knows neither NaN nor infinities: Optuna stores a word beside NULL.
std::string_view TypeOf(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INF_POS" : "INF_NEG";
  return "FINITE";
}

std::optional<double> IfFinite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

constexpr std::int64_t kStudyId = 1;

}  // namespace

struct OptunaFileWriter::State {
  Connection connection;
  std::filesystem::path shown_as;

  Query Prepare(std::string_view sql) { return Query(connection.Prepared(sql)); }

  void Write(const OptunaStudy& study) {
    Prepare("INSERT INTO studies(study_id, study_name) VALUES (?, ?)").Bind(kStudyId, study.name).Run();
    int objective = 0;
    for (const Goal goal : study.goals) {
      Prepare("INSERT INTO study_directions(direction, study_id, objective) VALUES (?, ?, ?)")
          .Bind(goal == Goal::kMaximize ? "MAXIMIZE" : "MINIMIZE", kStudyId, objective++)
          .Run();
    }
    WriteAttributes(R"(INSERT INTO study_user_attributes(study_id, "key", value_json) VALUES (?, ?, ?))", kStudyId,
                    study.user_attributes);
    WriteAttributes(R"(INSERT INTO study_system_attributes(study_id, "key", value_json) VALUES (?, ?, ?))", kStudyId,
                    study.system_attributes);
  }

  void Write(const OptunaTrial& trial) {
    const std::int64_t id = trial.number + 1;
    Prepare(
        "INSERT INTO trials(trial_id, number, study_id, state, datetime_start, datetime_complete) VALUES (?, ?, ?, ?, "
        "strftime('%Y-%m-%d %H:%M:%f', ?, 'unixepoch', 'localtime') || '000', "
        "strftime('%Y-%m-%d %H:%M:%f', ?, 'unixepoch', 'localtime') || '000')")
        .Bind(id, trial.number, kStudyId, WordOf(trial.state), trial.started, trial.ended)
        .Run();
    WriteParameters(id, trial);
    WriteValues(id, trial);
    WriteAttributes(R"(INSERT INTO trial_user_attributes(trial_id, "key", value_json) VALUES (?, ?, ?))", id,
                    trial.user_attributes);
    WriteAttributes(R"(INSERT INTO trial_system_attributes(trial_id, "key", value_json) VALUES (?, ?, ?))", id,
                    trial.system_attributes);
  }

  void WriteParameters(std::int64_t id, const OptunaTrial& trial) {
    for (const auto& parameter : trial.parameters) {
      Prepare("INSERT INTO trial_params(trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?)")
          .Bind(id, parameter.name, parameter.value, parameter.distribution)
          .Run();
    }
  }

  void WriteValues(std::int64_t id, const OptunaTrial& trial) {
    int objective = 0;
    for (const double value : trial.values) {
      Prepare("INSERT INTO trial_values(trial_id, objective, value, value_type) VALUES (?, ?, ?, ?)")
          .Bind(id, objective++, IfFinite(value), TypeOf(value))
          .Run();
    }
    for (const auto& [step, value] : trial.reports) {
      Prepare(
          "INSERT INTO trial_intermediate_values(trial_id, step, intermediate_value, intermediate_value_type) "
          "VALUES (?, ?, ?, ?)")
          .Bind(id, step, IfFinite(value), TypeOf(value))
          .Run();
    }
  }

  /// `id`: of the study or trial.
  void WriteAttributes(std::string_view insert, std::int64_t id, const OptunaAttributes& attributes) {
    for (const auto& [name, json] : attributes) Prepare(insert).Bind(id, name, json).Run();
  }
};

OptunaFileWriter::OptunaFileWriter(const std::filesystem::path& empty_file, std::filesystem::path shown_as,
                                   const OptunaStudy& study) {
  WritingOptuna(shown_as, [&] {
    state_ = std::make_unique<State>(State{Connection::ForWriting(empty_file), shown_as});
    // Readers find the file complete or not at all, so a journal would only cost time.
    state_->connection.Text("PRAGMA journal_mode = OFF");
    state_->connection.Execute("PRAGMA synchronous = OFF; BEGIN IMMEDIATE");
    state_->connection.Execute(kOptunaSchema);
    state_->Write(study);
  });
}

OptunaFileWriter::~OptunaFileWriter() = default;

void OptunaFileWriter::Add(const OptunaTrial& trial) {
  WritingOptuna(state_->shown_as, [&] { state_->Write(trial); });
}

void OptunaFileWriter::Finish() {
  const auto state = std::move(state_);
  WritingOptuna(state->shown_as, [&] { state->connection.Execute("COMMIT"); });
}

}  // namespace slipway::ensemble
