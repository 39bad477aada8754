// The reading half of Optuna's storage. The file is untrusted.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/error.h"
#include "ensemble/exchange/optuna_file.h"
#include "ensemble/store/query.h"

namespace slipway::ensemble {
namespace {

namespace fs = std::filesystem;

/// version_info.schema_version of every Optuna 2 and 3; what changed since stands in alembic_version.
constexpr std::int64_t kOptunaSchemaVersion = 12;
/// alembic_version of Optuna 3.0 and 3.1, and since 3.2; the tables that are read here are the same.
constexpr std::string_view kOptunaRevision30 = "v3.0.0.d";
constexpr std::string_view kOptunaRevision32 = "v3.2.0.a";

constexpr int kOptunaBusyTimeoutMs = 5000;
constexpr int kLongestTextBytes = 1 << 20;
constexpr std::int64_t kStepsBetweenLooks = 1'000'000;
constexpr std::size_t kBytesOfARow = 64;  // what a row costs beside its texts

[[noreturn]] void Refuse(const fs::path& file, std::string_view why, std::string next_step = {}) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' {}", file.string(), why), std::move(next_step));
}

/// A text of the file for messages: it could hold control sequences of a terminal.
std::string ShownText(const std::string& text) { return Describe(Scalar{text}); }

constexpr const char* kTryOptuna = "check that Optuna itself can load it";

/// The open file, and how much may still be read of it.
class Reader {
 public:
  Reader(const fs::path& file, const ReadLimits& limits)
      : file_(file), limits_(limits), database_(file.string(), SQLite::OPEN_READONLY, kOptunaBusyTimeoutMs) {
    auto* handle = database_.getHandle();
    ::sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestTextBytes);
    ::sqlite3_progress_handler(handle, static_cast<int>(std::min(kStepsBetweenLooks, limits.steps)), &Reader::Look,
                               this);
    database_.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON; BEGIN");
  }

  ReadOptunaStudy Read(const std::optional<std::string>& name) {
    CheckTables();
    CheckVersion();
    ReadOptunaStudy read;
    const auto id = FindStudy(name, read.study);
    ReadGoals(id, read.study);
    ReadTrials(id, read.trials);
    ReadParameters(read.trials);
    ReadValues(read.trials);
    std::ranges::sort(read.trials, {}, &OptunaTrial::number);
    return read;
  }

 private:
  static int Look(void* reader) {
    auto& self = *static_cast<Reader*>(reader);
    self.steps_ += kStepsBetweenLooks;
    return self.steps_ > self.limits_.steps ? 1 : 0;
  }

  /// Counts the bytes of a row. A file whose pages refer to each other in circles has endless rows.
  void Charge(std::size_t text_bytes = 0) {
    bytes_ += kBytesOfARow + text_bytes;
    if (bytes_ > limits_.bytes) Refuse(file_, "holds more than can be imported, or is damaged", kTryOptuna);
  }

  std::string Text(const Query& query, int column) {
    auto text = query.Text(column);
    Charge(text.size());
    return text;
  }

  /// Views and virtual tables could do anything when they are read.
  void CheckTables() {
    static constexpr std::string_view kNeeded[] = {"studies",      "version_info", "study_directions", "trials",
                                                   "trial_params", "trial_values", "alembic_version"};
    SQLite::Statement statement(
        database_, "SELECT count(*) FROM sqlite_schema WHERE name = ? AND type = 'table' AND rootpage > 0");
    for (const auto table : kNeeded) {
      Query query(statement);
      query.Bind(table).Next();
      if (query.Integer(0) != 1)
        Refuse(file_, "is no storage of Optuna", "name an SQLite file that Optuna 3 has written");
    }
  }

  void CheckVersion() {
    SQLite::Statement schema(database_, "SELECT schema_version, library_version FROM version_info LIMIT 1");
    SQLite::Statement revision(database_, "SELECT version_num FROM alembic_version LIMIT 1");
    Query version(schema), alembic(revision);
    const bool told = version.Next() && alembic.Next();
    const auto number = told ? version.Integer(0) : 0;
    const std::string library = told ? Text(version, 1) : "";
    const std::string stored = told ? Text(alembic, 0) : "";
    if (number == kOptunaSchemaVersion && (stored == kOptunaRevision30 || stored == kOptunaRevision32)) return;
    const bool older = number < kOptunaSchemaVersion || stored < kOptunaRevision30;
    Refuse(
        file_,
        fmt::format("was written by Optuna {} (schema {}, {}), which is {} than what is known here", ShownText(library),
                    number, ShownText(stored), older ? "older" : "newer"),
        older ? fmt::format("bring it to Optuna 3 first: optuna storage upgrade --storage sqlite:///{}", file_.string())
              : "export it with a version of Optuna 3, or use a newer Slipway");
  }

  std::int64_t FindStudy(const std::optional<std::string>& name, OptunaStudy& study) {
    SQLite::Statement statement(database_, "SELECT study_id, study_name FROM studies");
    Query query(statement);
    std::vector<std::pair<std::int64_t, std::string>> found;
    std::vector<std::string> names;
    while (query.Next()) {
      auto each = Text(query, 1);
      names.push_back(ShownText(each));
      if (!name || each == *name) found.emplace_back(query.Integer(0), std::move(each));
    }
    if (found.size() == 1) {
      study.name = found.front().second;
      return found.front().first;
    }
    throw Error(ErrorKind::kUsage,
                name ? fmt::format("'{}' has no study {}", file_.string(), ShownText(*name))
                     : fmt::format("'{}' has {} studies", file_.string(), names.size()),
                names.empty() ? "there is nothing to import" : NameOneOf(names));
  }

  static std::string NameOneOf(std::vector<std::string> names) {
    constexpr std::size_t kMostShown = 20;
    if (names.size() > kMostShown) names.resize(kMostShown);
    return fmt::format("name one with --study: {}", fmt::join(names, ", "));
  }

  void ReadGoals(std::int64_t study_id, OptunaStudy& study) {
    SQLite::Statement statement(database_, "SELECT study_id, objective, direction FROM study_directions");
    Query query(statement);
    std::vector<std::pair<std::int64_t, Goal>> goals;
    while (query.Next()) {
      Charge();
      if (query.Integer(0) != study_id) continue;
      goals.emplace_back(query.Integer(1), Text(query, 2) == "MAXIMIZE" ? Goal::kMaximize : Goal::kMinimize);
    }
    std::ranges::sort(goals);
    for (const auto& [objective, goal] : goals) study.goals.push_back(goal);
  }

  OptunaState StateIn(const Query& query, int column) {
    const auto word = Text(query, column);
    const auto state = FromWord<OptunaState>(word);
    if (!state) Refuse(file_, fmt::format("holds a trial in the unknown state {}", ShownText(word)), kTryOptuna);
    return *state;
  }

  void ReadTrials(std::int64_t study_id, std::vector<OptunaTrial>& trials) {
    SQLite::Statement statement(
        database_,
        "SELECT study_id, trial_id, number, state, (julianday(datetime_start, 'utc') - 2440587.5) * 86400.0, "
        "(julianday(datetime_complete, 'utc') - 2440587.5) * 86400.0 FROM trials");
    Query query(statement);
    while (query.Next()) {
      Charge();
      if (query.Integer(0) != study_id) continue;
      places_[query.Integer(1)] = trials.size();
      OptunaTrial& trial = trials.emplace_back();
      trial.number = query.Integer(2);
      trial.state = StateIn(query, 3);
      trial.started = query.OptionalReal(4);
      trial.ended = query.OptionalReal(5);
    }
  }

  /// The trial that a row belongs to; null for one of another study.
  OptunaTrial* TrialOf(const Query& query, std::vector<OptunaTrial>& trials) {
    Charge();
    const auto place = places_.find(query.Integer(0));
    return place == places_.end() ? nullptr : &trials[place->second];
  }

  void ReadParameters(std::vector<OptunaTrial>& trials) {
    SQLite::Statement statement(database_,
                                "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params");
    Query query(statement);
    while (query.Next()) {
      OptunaTrial* trial = TrialOf(query, trials);
      if (trial == nullptr) continue;
      trial->parameters.push_back({Text(query, 1), query.Real(2), Text(query, 3)});
    }
  }

  static double ValueIn(const Query& query, int value_column, std::string_view type) {
    if (type == "INF_POS") return std::numeric_limits<double>::infinity();
    if (type == "INF_NEG") return -std::numeric_limits<double>::infinity();
    return type == "FINITE" && !query.IsNull(value_column) ? query.Real(value_column)
                                                           : std::numeric_limits<double>::quiet_NaN();
  }

  void ReadValues(std::vector<OptunaTrial>& trials) {
    SQLite::Statement statement(database_, "SELECT trial_id, objective, value, value_type FROM trial_values");
    Query query(statement);
    std::vector<std::vector<std::pair<std::int64_t, double>>> values(trials.size());
    while (query.Next()) {
      const OptunaTrial* trial = TrialOf(query, trials);
      if (trial == nullptr) continue;
      values[static_cast<std::size_t>(trial - trials.data())].emplace_back(query.Integer(1),
                                                                           ValueIn(query, 2, Text(query, 3)));
    }
    for (std::size_t i = 0; i < trials.size(); ++i) {
      std::ranges::sort(values[i], {}, &std::pair<std::int64_t, double>::first);
      for (const auto& [objective, value] : values[i]) trials[i].values.push_back(value);
    }
  }

  const fs::path& file_;
  const ReadLimits& limits_;
  SQLite::Database database_;
  std::unordered_map<std::int64_t, std::size_t> places_;  // of trials, by Optuna's key
  std::size_t bytes_ = 0;
  std::int64_t steps_ = 0;
};

[[noreturn]] void RefuseFor(const SQLite::Exception& error, const fs::path& file) {
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB: Refuse(file, "is no SQLite file", "name an SQLite file that Optuna 3 has written");
    case SQLITE_CANTOPEN: Refuse(file, "cannot be opened", "check that it exists and its permissions");
    case SQLITE_INTERRUPT:
    case SQLITE_TOOBIG: Refuse(file, "holds more than can be imported, or is damaged", kTryOptuna);
    default: Refuse(file, fmt::format("cannot be read: {}", error.what()), kTryOptuna);
  }
}

}  // namespace

ReadOptunaStudy ReadOptunaFile(const fs::path& file, const std::optional<std::string>& name, const ReadLimits& limits) {
  // Opening a pipe would wait for its writer.
  if (!fs::is_regular_file(file)) Refuse(file, "is no file", "name an SQLite file that Optuna 3 has written");
  try {
    return Reader(file, limits).Read(name);
  } catch (const SQLite::Exception& error) {
    RefuseFor(error, file);
  }
}

}  // namespace slipway::ensemble
