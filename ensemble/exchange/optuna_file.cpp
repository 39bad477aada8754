#include "ensemble/exchange/optuna_file.h"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "ensemble/exchange/optuna_schema.h"
#include "ensemble/store/connection.h"
#include "ensemble/store/query.h"

namespace slipway::ensemble {
namespace {

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
    for (const auto& [name, json] : study.user_attributes) {
      Prepare(R"(INSERT INTO study_user_attributes(study_id, "key", value_json) VALUES (?, ?, ?))")
          .Bind(kStudyId, name, json)
          .Run();
    }
    for (const auto& [name, json] : study.system_attributes) {
      Prepare(R"(INSERT INTO study_system_attributes(study_id, "key", value_json) VALUES (?, ?, ?))")
          .Bind(kStudyId, name, json)
          .Run();
    }
  }

  void Write(const OptunaTrial& trial) {
    const std::int64_t id = trial.number + 1;
    Prepare(
        "INSERT INTO trials(trial_id, number, study_id, state, datetime_start, datetime_complete) VALUES (?, ?, ?, ?, "
        "strftime('%Y-%m-%d %H:%M:%f', ?, 'unixepoch', 'localtime') || '000', "
        "strftime('%Y-%m-%d %H:%M:%f', ?, 'unixepoch', 'localtime') || '000')")
        .Bind(id, trial.number, kStudyId, OptunaStateName(trial.state), trial.started, trial.ended)
        .Run();
    WriteParameters(id, trial);
    WriteValues(id, trial);
    WriteAttributes(id, trial);
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

  void WriteAttributes(std::int64_t id, const OptunaTrial& trial) {
    for (const auto& [name, json] : trial.user_attributes) {
      Prepare(R"(INSERT INTO trial_user_attributes(trial_id, "key", value_json) VALUES (?, ?, ?))")
          .Bind(id, name, json)
          .Run();
    }
    for (const auto& [name, json] : trial.system_attributes) {
      Prepare(R"(INSERT INTO trial_system_attributes(trial_id, "key", value_json) VALUES (?, ?, ?))")
          .Bind(id, name, json)
          .Run();
    }
  }
};

OptunaFileWriter::OptunaFileWriter(const std::filesystem::path& empty_file, std::filesystem::path shown_as,
                                   const OptunaStudy& study) {
  WritingOptuna(shown_as, [&] {
    state_ = std::make_unique<State>(State{Connection::ForWriting(empty_file), shown_as});
    // Whoever reads the file finds it whole or not at all, so a journal would only cost.
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
