// The reading half of the trial book.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "ensemble/store/book_state.h"

namespace slipway::ensemble {
namespace {

[[noreturn]] void RefuseWord(std::string_view word) {
  throw Error(ErrorKind::kEnvironment, fmt::format("the trial book holds the unknown word '{}'", word),
              "it was changed by another program; restore it from a copy");
}

TrialState StateIn(const Query& query, int column) {
  const std::string word = query.Text(column);
  const auto state = ParseTrialState(word);
  if (!state) RefuseWord(word);
  return *state;
}

Goal GoalIn(const Query& query, int column) {
  const std::string word = query.Text(column);
  if (word == GoalName(Goal::kMaximize)) return Goal::kMaximize;
  if (word == GoalName(Goal::kMinimize)) return Goal::kMinimize;
  RefuseWord(word);
}

Scalar ScalarIn(const Query& query, int kind_column, int value_column) {
  const std::string kind = query.Text(kind_column);
  if (kind == "real") return query.Real(value_column);
  if (kind == "int") return query.Integer(value_column);
  if (kind == "text") return query.Text(value_column);
  if (kind == "bool") return query.Integer(value_column) != 0;
  if (kind == "null") return std::monostate{};
  RefuseWord(kind);
}

double MetricIn(const Query& query, int value_column, int special_column) {
  if (query.IsNull(special_column)) return query.Real(value_column);
  const std::string word = query.Text(special_column);
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
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
  if (!query.IsNull(12)) attempt.stop = ParseStopReason(query.Text(12));
  attempt.reason = query.Text(13);
  return attempt;
}

constexpr std::string_view kAttemptsOfTrial =
    "SELECT trial, n, state, pid, start_time, boot_id, host, claimed, started, ended, exit_code, signal, stop, reason "
    "FROM attempt WHERE trial = ? ORDER BY n";
constexpr std::string_view kOpenAttempts =
    "SELECT trial, n, state, pid, start_time, boot_id, host, claimed, started, ended, exit_code, signal, stop, reason "
    "FROM attempt WHERE ended IS NULL ORDER BY trial, n";

std::vector<AttemptRecord> AttemptsIn(Query& query) {
  std::vector<AttemptRecord> attempts;
  while (query.Next()) attempts.push_back(AttemptIn(query));
  return attempts;
}

using Positions = std::map<std::string, std::int64_t, std::less<>>;

Positions ParameterPositions(Connection& connection) {
  Query query(connection.Prepared("SELECT name, position FROM parameter"));
  Positions positions;
  while (query.Next()) positions.emplace(query.Text(0), query.Integer(1));
  return positions;
}

/// Both lists are ordered by trial, so one walk over each is enough.
void ReadParameters(Connection& connection, std::vector<TrialRecord>& trials) {
  Query query(connection.Prepared("SELECT trial, name, kind, v FROM trial_param ORDER BY trial, name"));
  auto trial = trials.begin();
  while (query.Next()) {
    while (trial != trials.end() && trial->number < query.Integer(0)) ++trial;
    if (trial == trials.end()) return;
    if (trial->number == query.Integer(0)) trial->parameters.emplace_back(query.Text(1), ScalarIn(query, 2, 3));
  }
}

void OrderAsInSpace(Point& point, const Positions& positions) {
  const auto position = [&](const auto& member) {
    const auto found = positions.find(member.first);
    return found == positions.end() ? std::numeric_limits<std::int64_t>::max() : found->second;
  };
  std::sort(point.begin(), point.end(), [&](const auto& a, const auto& b) { return position(a) < position(b); });
}

}  // namespace

std::optional<StudyRecord> TrialBook::Study() {
  return Translating(state_->connection.path(), [&]() -> std::optional<StudyRecord> {
    auto query = state_->Prepare(
        "SELECT objective, goal, trials, sampler, seed, grid_points, spec_hash, space, created FROM study");
    if (!query.Next()) return std::nullopt;
    return StudyRecord{query.Text(0),
                       GoalIn(query, 1),
                       query.Integer(2),
                       query.Text(3),
                       static_cast<std::uint64_t>(query.Integer(4)),
                       static_cast<int>(query.Integer(5)),
                       query.Text(6),
                       query.Text(7),
                       query.Real(8)};
  });
}

std::vector<TrialRecord> TrialBook::Trials() {
  return Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare(
        "SELECT number, state, configuration, objective, attempts, failures, reason, created, started, ended "
        "FROM trial ORDER BY number");
    std::vector<TrialRecord> trials;
    while (query.Next()) trials.push_back(TrialIn(query));
    ReadParameters(state_->connection, trials);
    const auto positions = ParameterPositions(state_->connection);
    for (auto& trial : trials) OrderAsInSpace(trial.parameters, positions);
    return trials;
  });
}

std::vector<AttemptRecord> TrialBook::Attempts(TrialNumber trial) {
  return Translating(state_->connection.path(), [&] {
    auto query = state_->Prepare(kAttemptsOfTrial);
    return AttemptsIn(query.Bind(trial));
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
    auto query = state_->Prepare(
        "SELECT attempt, name, step, epoch, v, special FROM metric WHERE trial = ? ORDER BY attempt, step, name");
    query.Bind(trial);
    std::vector<MetricRecord> metrics;
    while (query.Next()) {
      metrics.push_back({trial, static_cast<int>(query.Integer(0)), query.Text(1), query.Integer(2),
                         query.OptionalReal(3), MetricIn(query, 4, 5)});
    }
    return metrics;
  });
}

std::optional<MetricRecord> TrialBook::LastMetric(TrialNumber trial, int attempt, const std::string& name) {
  return Translating(state_->connection.path(), [&]() -> std::optional<MetricRecord> {
    auto query = state_->Prepare(
        "SELECT step, epoch, v, special FROM metric WHERE trial = ? AND attempt = ? AND name = ? ORDER BY step DESC "
        "LIMIT 1");
    query.Bind(trial, attempt, name);
    if (!query.Next()) return std::nullopt;
    return MetricRecord{trial, attempt, name, query.Integer(0), query.OptionalReal(1), MetricIn(query, 2, 3)};
  });
}

}  // namespace slipway::ensemble
