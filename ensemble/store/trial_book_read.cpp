// The reading half of the trial book.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/number_words.h"
#include "ensemble/store/book_state.h"

namespace slipway::ensemble {
namespace {

[[noreturn]] void RefuseWord(std::string_view word) {
  throw Error(ErrorKind::kEnvironment, fmt::format("the trial book holds the unknown word '{}'", word),
              "it was changed by another program; restore it from a copy");
}

/// The value of the word in `column`.
template <class Enum>
Enum WordIn(const Query& query, int column, std::optional<Enum> (*parse)(std::string_view)) {
  const std::string word = query.Text(column);
  const auto value = parse(word);
  if (!value) RefuseWord(word);
  return *value;
}

TrialState StateIn(const Query& query, int column) { return WordIn(query, column, FromWord<TrialState>); }

Scalar ScalarIn(const Query& query, int kind_column, int value_column) {
  const std::string kind = query.Text(kind_column);
  if (kind == "real") return query.Real(value_column);
  if (kind == "int") return query.Integer(value_column);
  if (kind == "text") return query.Text(value_column);
  if (kind == "bool") return query.Integer(value_column) != 0;
  if (kind == "null") return std::monostate{};
  RefuseWord(kind);
}

double ValueIn(const Query& query, int value_column, int special_column) {
  if (query.IsNull(special_column)) return query.Real(value_column);
  return NumberOfWord(query.Text(special_column)).value_or(std::numeric_limits<double>::quiet_NaN());
}

MetricRecord MetricIn(const Query& query) {
  return {query.Integer(0),      static_cast<int>(query.Integer(1)),
          query.Text(2),         query.Integer(3),
          query.OptionalReal(4), ValueIn(query, 5, 6),
          query.OptionalReal(7)};
}

/// The columns that MetricIn reads, in its order.
const std::string kMetrics = "SELECT trial, attempt, name, step, epoch, v, special, time FROM metric ";
const std::string kMetricsOfTrial = kMetrics + "WHERE trial = ? ORDER BY attempt, step, name";
const std::string kMetricsOfAttempt = kMetrics + "WHERE trial = ? AND attempt = ? AND name = ? ORDER BY step";
const std::string kMetricsOfName = kMetrics + "WHERE name = ? ORDER BY trial, step, attempt";
const std::string kAllMetrics = kMetrics + "ORDER BY trial, name, step, attempt";

std::vector<MetricRecord> MetricsIn(Query& query) {
  std::vector<MetricRecord> metrics;
  while (query.Next()) metrics.push_back(MetricIn(query));
  return metrics;
}

TrialRecord TrialIn(const Query& query) {
  TrialRecord trial;
  trial.number = query.Integer(0);
  trial.state = StateIn(query, 1);
  trial.configuration = query.Text(2);
  trial.objective = query.OptionalReal(3);
  trial.attempts = static_cast<int>(query.Integer(4));
  trial.failures = static_cast<int>(query.Integer(5));
  trial.reason = query.Text(6);
  trial.created = query.Real(7);
  trial.started = query.OptionalReal(8);
  trial.ended = query.OptionalReal(9);
  trial.repeat = static_cast<int>(query.Integer(10));
  trial.parent = query.OptionalInteger(11);
  trial.origin = query.Text(12);
  return trial;
}

AttemptRecord AttemptIn(const Query& query) {
  AttemptRecord attempt;
  attempt.trial = query.Integer(0);
  attempt.number = static_cast<int>(query.Integer(1));
  attempt.state = StateIn(query, 2);
  if (!query.IsNull(3)) {
    attempt.process = ProcessIdentity{query.Integer(3), static_cast<std::uint64_t>(query.Integer(4)), query.Text(5)};
  }
  attempt.host = query.Text(6);
  attempt.claimed = query.Real(7);
  attempt.started = query.OptionalReal(8);
  attempt.ended = query.OptionalReal(9);
  if (!query.IsNull(10)) {
    attempt.status = ExitStatus{static_cast<int>(query.Integer(10)), static_cast<int>(query.Integer(11))};
  }
  if (!query.IsNull(12)) attempt.stop = FromWord<StopReason>(query.Text(12));
  attempt.reason = query.Text(13);
  attempt.outcome = WordIn(query, 14, FromWord<Outcome>);
  attempt.place = query.Text(15);
  attempt.nodes = static_cast<int>(query.Integer(16));
  if (!query.IsNull(17)) attempt.rank = static_cast<int>(query.Integer(17));
  attempt.missing = query.Text(18);
  return attempt;
}

/// The columns that AttemptIn reads, in its order.
const std::string kAttempts =
    "SELECT trial, n, state, pid, start_time, boot_id, host, claimed, started, ended, exit_code, signal, stop, reason, "
    "outcome, place, nodes, rank, missing FROM attempt ";
const std::string kAttemptsOfTrial = kAttempts + "WHERE trial = ? ORDER BY n";
const std::string kAllAttempts = kAttempts + "ORDER BY trial, n";
const std::string kOpenAttempts = kAttempts + "WHERE ended IS NULL ORDER BY trial, n";

std::vector<AttemptRecord> AttemptsIn(Query& query) {
  std::vector<AttemptRecord> attempts;
  while (query.Next()) attempts.push_back(AttemptIn(query));
  return attempts;
}

/// The rows of the table of further values come in the order of trial and position.
void ReadFurtherValues(Connection& connection, std::vector<TrialRecord>& trials) {
  Query query(connection.Prepared("SELECT trial, v FROM trial_value ORDER BY trial, position"));
  while (query.Next()) {
    const auto number = static_cast<std::size_t>(query.Integer(0));
    if (number < trials.size()) trials[number].further.push_back(query.Real(1));
  }
}

std::vector<Objective> ReadObjectives(Connection& connection) {
  Query query(connection.Prepared("SELECT metric, goal, counts, reach FROM objective ORDER BY position"));
  std::vector<Objective> objectives;
  while (query.Next()) {
    objectives.push_back({query.Text(0), WordIn(query, 1, FromWord<Goal>), WordIn(query, 2, FromWord<CountedValue>),
                          query.OptionalReal(3)});
  }
  if (objectives.empty()) RefuseWord("no objective");
  return objectives;
}

/// Sorts the parameters of one trial, which come by name, into the order of the space.
class PointInOrder {
 public:
  explicit PointInOrder(Connection& connection) {
    Query query(connection.Prepared("SELECT name, position FROM parameter ORDER BY name"));
    while (query.Next()) by_name_.push_back({query.Text(0), static_cast<std::size_t>(query.Integer(1))});
    values_.resize(by_name_.size());
  }

  /// Names ascend. Parameters that are not in the space come last.
  void Add(std::string name, Scalar value) {
    while (next_ < by_name_.size() && by_name_[next_].name < name) ++next_;
    const bool known = next_ < by_name_.size() && by_name_[next_].name == name;
    if (known && by_name_[next_].position < values_.size()) {
      values_[by_name_[next_].position].emplace(std::move(name), std::move(value));
    } else {
      others_.emplace_back(std::move(name), std::move(value));
    }
  }

  Point Take() {
    Point point;
    point.reserve(values_.size());
    for (auto& value : values_) {
      if (auto member = std::exchange(value, std::nullopt)) point.push_back(std::move(*member));
    }
    std::ranges::move(others_, std::back_inserter(point));
    others_.clear();
    next_ = 0;
    return point;
  }

 private:
  struct Place {
    std::string name;
    std::size_t position;
  };
  std::vector<Place> by_name_;
  std::size_t next_ = 0;
  std::vector<std::optional<Point::value_type>> values_;  // by position
  Point others_;
};

/// Both lists are ordered by trial, so one walk over each is enough.
void ReadParameters(Connection& connection, std::vector<TrialRecord>& trials) {
  PointInOrder point(connection);
  Query query(connection.Prepared("SELECT trial, name, kind, v FROM trial_param ORDER BY trial, name"));
  auto trial = trials.begin();
  while (query.Next()) {
    const auto number = query.Integer(0);
    while (trial != trials.end() && trial->number < number) (trial++)->parameters = point.Take();
    if (trial == trials.end()) return;
    if (trial->number == number) point.Add(query.Text(1), ScalarIn(query, 2, 3));
  }
  if (trial != trials.end()) trial->parameters = point.Take();
}

}  // namespace

std::optional<StudyRecord> TrialBook::Study() {
  return Translating(state_->connection.path(), [&]() -> std::optional<StudyRecord> {
    auto query = state_->Prepare(
        "SELECT trials, repeats, scheduler, sampler, seed, grid_points, spec_hash, space, created FROM study");
    if (!query.Next()) return std::nullopt;
    StudyRecord study;
    study.objectives = ReadObjectives(state_->connection);
    study.trials = query.Integer(0);
    study.repeats = static_cast<int>(query.Integer(1));
    study.scheduler = query.Text(2);
    study.sampler = query.Text(3);
    study.seed = static_cast<std::uint64_t>(query.Integer(4));
    study.grid_points = static_cast<int>(query.Integer(5));
    study.spec_hash = query.Text(6);
    study.space = query.Text(7);
    study.created = query.Real(8);
    return study;
  });
}

std::vector<TrialRecord> TrialBook::TrialStates() {
  return Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare(
        "SELECT number, state, configuration, objective, attempts, failures, reason, created, started, ended, "
        "repeat, parent, origin FROM trial ORDER BY number");
    std::vector<TrialRecord> trials;
    while (query.Next()) trials.push_back(TrialIn(query));
    return trials;
  });
}

std::vector<TrialRecord> TrialBook::Trials() {
  auto trials = TrialStates();
  return Translating(state_->connection.path(), [&] {
    ReadParameters(state_->connection, trials);
    ReadFurtherValues(state_->connection, trials);
    return trials;
  });
}

std::vector<AttemptRecord> TrialBook::Attempts(TrialNumber trial) {
  return Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare(kAttemptsOfTrial);
    return AttemptsIn(query.Bind(trial));
  });
}

std::vector<AttemptRecord> TrialBook::Attempts() {
  return Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare(kAllAttempts);
    return AttemptsIn(query);
  });
}

std::vector<AttemptRecord> TrialBook::OpenAttempts() {
  return Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare(kOpenAttempts);
    return AttemptsIn(query);
  });
}

std::vector<MetricRecord> TrialBook::Metrics(TrialNumber trial) {
  return Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare(kMetricsOfTrial);
    return MetricsIn(query.Bind(trial));
  });
}

std::vector<MetricRecord> TrialBook::Metrics(TrialNumber trial, int attempt, const std::string& name) {
  return Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare(kMetricsOfAttempt);
    return MetricsIn(query.Bind(trial, attempt, name));
  });
}

void TrialBook::ForEachMetric(const std::string& name, const std::function<void(const MetricRecord&)>& take) {
  Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare(kMetricsOfName);
    query.Bind(name);
    while (query.Next()) take(MetricIn(query));
  });
}

void TrialBook::ForEachMetric(const std::function<void(const MetricRecord&)>& take) {
  Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare(kAllMetrics);
    while (query.Next()) take(MetricIn(query));
  });
}

std::vector<RungRecord> TrialBook::Rungs() {
  return Translating(state_->connection.path(), [&] {
    auto query =
        state_->Prepare("SELECT trial, bracket, rung, resource, v, special, decision FROM rung ORDER BY trial, rung");
    std::vector<RungRecord> rungs;
    while (query.Next()) {
      rungs.push_back({query.Integer(0), static_cast<int>(query.Integer(1)), static_cast<int>(query.Integer(2)),
                       query.Real(3), ValueIn(query, 4, 5), query.Text(6)});
    }
    return rungs;
  });
}

Usage TrialBook::Used() {
  return Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare("SELECT wall_seconds, node_seconds FROM usage");
    query.Next();
    return Usage{query.Real(0), query.Real(1)};
  });
}

std::optional<ClockReading> TrialBook::LastReading() {
  return Translating(state_->connection.path(), [&]() -> std::optional<ClockReading> {
    auto query = state_->Prepare(
        "SELECT started, boot_id, since_boot FROM session WHERE EXISTS (SELECT * FROM attempt WHERE ended IS NULL) "
        "ORDER BY n DESC LIMIT 1");
    if (!query.Next()) return std::nullopt;
    const double time = query.Real(0);
    auto boot_id = query.Text(1);
    return ClockReading{time, std::move(boot_id), query.Real(2)};
  });
}

std::optional<double> TrialBook::LastSignOfManagerAt(double time) {
  return Translating(state_->connection.path(), [&]() -> std::optional<double> {
    auto query = state_->Prepare(
        "SELECT last_seen FROM session WHERE started <= ? AND n < (SELECT max(n) FROM session) "
        "ORDER BY n DESC LIMIT 1");
    if (!query.Bind(time).Next()) return std::nullopt;
    return query.Real(0);
  });
}

std::optional<RequestAnswer> TrialBook::AnswerTo(const std::string& request) {
  return Translating(state_->connection.path(), [&]() -> std::optional<RequestAnswer> {
    auto query = state_->Prepare("SELECT accepted, what FROM request WHERE name = ?");
    if (!query.Bind(request).Next()) return std::nullopt;
    return RequestAnswer{query.Integer(0) != 0, query.Text(1)};
  });
}

}  // namespace slipway::ensemble
