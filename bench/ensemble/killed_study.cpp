#include "bench/ensemble/killed_study.h"

#include <SQLiteCpp/Database.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/ensemble/process_runner.h"
#include "core/error.h"
#include "core/files.h"
#include "ensemble/manager/requests.h"

namespace slipway::ensemble {
namespace {

namespace fs = std::filesystem;

/// Longer than any wait for a manager takes, even on a busy machine.
constexpr auto kPatience = std::chrono::seconds(120);

using Line = std::vector<std::string>;

std::vector<Line> LinesOf(const fs::path& file) {
  std::vector<Line> lines;
  std::istringstream text(ReadFileIfPresent(file).value_or(""));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    lines.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return lines;
}

/// How often each trial came to its end.
std::map<TrialNumber, int> Completions(const fs::path& folder) {
  std::map<TrialNumber, int> done;
  for (const auto& line : LinesOf(folder / "log")) {
    if (line.front() == "done") ++done[std::stoll(line.at(1))];
  }
  return done;
}

std::string Describe(const TrialRecord& trial) {
  return fmt::format("trial {} is {} with {}, chosen by {}: {}", trial.number, WordOf(trial.state),
                     trial.objective ? fmt::format("{}", *trial.objective) : "no value", trial.origin,
                     ToJson(trial.parameters).dump());
}

std::string Describe(const RungRecord& rung) {
  return fmt::format("trial {} at rung {} of bracket {} ({}): {}, {}", rung.trial, rung.rung, rung.bracket,
                     rung.resource, rung.value, rung.decision);
}

template <class Row>
void CompareRows(const std::vector<Row>& left, const std::vector<Row>& right, Violations& found) {
  if (left.size() != right.size()) found.push_back(fmt::format("{} rows instead of {}", left.size(), right.size()));
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    const auto one = Describe(left[i]), other = Describe(right[i]);
    if (one != other) found.push_back(one + " -- instead of -- " + other);
  }
}

/// Each line "T STATE VALUE" is a result that a manager has acknowledged as durable.
void CheckAcknowledged(const fs::path& folder, const std::vector<TrialRecord>& rows, Violations& found) {
  for (const auto& line : LinesOf(folder / "acknowledged")) {
    const auto number = std::stoul(line.at(0));
    const bool is_there = number < rows.size() && WordOf(rows[number].state) == line.at(1) &&
                          rows[number].objective.value_or(-1) == std::stod(line.at(2));
    if (!is_there) found.push_back(fmt::format("lost: trial {} was acknowledged as {}", number, line.at(1)));
  }
}

void CheckRuns(const fs::path& folder, Violations& found) {
  std::set<Line> begun;
  for (const auto& line : LinesOf(folder / "log")) {
    if (line.front() == "overlap") found.push_back(fmt::format("two attempts of trial {} met", line.at(1)));
    if (line.front() == "start" && !begun.insert(line).second) {
      found.push_back(fmt::format("attempt {} of trial {} ran twice", line.at(2), line.at(1)));
    }
  }
  for (const auto& [trial, times] : Completions(folder)) {
    if (times > 1) found.push_back(fmt::format("trial {} came to its end {} times", trial, times));
  }
}

void CheckDatabase(const fs::path& book, Violations& found) {
  SQLite::Database database(book, SQLite::OPEN_READONLY);
  const std::string verdict = database.execAndGet("PRAGMA integrity_check").getString();
  if (verdict != "ok") found.push_back("integrity_check: " + verdict);
}

void CheckResult(const TrialRecord& row, int completions, int steps, Violations& found) {
  const bool complete = row.state == TrialState::kComplete;
  const bool settled = complete || row.state == TrialState::kPaused || row.state == TrialState::kPruned;
  if (!settled) found.push_back(fmt::format("trial {} is {} ({})", row.number, WordOf(row.state), row.reason));
  if (completions != (complete ? 1 : 0)) {
    found.push_back(
        fmt::format("trial {} is {} but came to its end {} times", row.number, WordOf(row.state), completions));
  }
  if (complete && row.objective != AccuracyOf(ToJson(row.parameters), steps)) {
    found.push_back(fmt::format("trial {} has the wrong result {}", row.number, *row.objective));
  }
}

}  // namespace

KilledStudy::KilledStudy(fs::path program, fs::path folder, KillPlan plan)
    : program_(std::move(program)), folder_(std::move(folder)), plan_(std::move(plan)) {
  MakeDirectories(folder_);
}

ChildProcess KilledStudy::Start(const std::string& crash_at) const {
  SpawnOptions options;
  options.argv = {program_.string(), "manage", folder_.string(), ToJson(plan_).dump()};
  options.environment = Environment::Inherited();
  if (!crash_at.empty()) options.environment->Set("SLIPWAY_CRASH_AT", crash_at);
  return ChildProcess::Spawn(options);
}

ExitStatus KilledStudy::Run(const std::string& crash_at) {
  auto manager = Start(crash_at);
  const auto status = manager.WaitFor(kPatience);
  if (!status) throw Error(ErrorKind::kFailed, "a manager does not end", "run the benchmark again on an idle machine");
  return *status;
}

ExitStatus KilledStudy::RunFor(std::chrono::nanoseconds delay) {
  auto manager = Start({});
  if (const auto status = manager.WaitFor(delay)) return *status;
  ::kill(manager.pid(), SIGKILL);
  return manager.Wait();
}

void KilledStudy::Enqueue() {
  const bool has_budget = static_cast<int>(Trials().size()) < plan_.trials;  // else it is refused, and rightly
  if (enqueued_ == plan_.enqueued || !has_budget) return;
  PostRequest(folder_, ensemble::Enqueue{{{"x", 0.01 * ++enqueued_}}});
}

/// A manager that was killed in its first moments leaves none.
std::vector<TrialRecord> KilledStudy::Trials() const try {
  return TrialBook::OpenForReading(folder_).Trials();
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kUsage) throw;
  return {};
}

Violations KilledStudy::Check() const {
  Violations found;
  const auto rows = Trials();
  CheckAcknowledged(folder_, rows, found);
  CheckRuns(folder_, found);
  if (!rows.empty()) CheckDatabase(folder_ / kBookName, found);
  if (static_cast<int>(rows.size()) > plan_.trials) found.push_back("the budget is exceeded");
  return found;
}

Violations KilledStudy::CheckAtEnd() const {
  auto found = Check();
  auto book = TrialBook::OpenForReading(folder_);
  const auto rows = book.Trials();
  auto completions = Completions(folder_);
  int enqueued = 0;
  for (const auto& row : rows) {
    CheckResult(row, completions[row.number], plan_.steps, found);
    if (row.origin == "enqueued") ++enqueued;
  }
  if (static_cast<int>(rows.size()) != plan_.trials) {
    found.push_back(fmt::format("{} trials instead of {}", rows.size(), plan_.trials));
  }
  if (enqueued != enqueued_) found.push_back(fmt::format("{} of {} requests carried out", enqueued, enqueued_));
  if (!WaitingRequests(folder_).empty()) found.push_back("a request still waits");
  if (!book.OpenAttempts().empty()) found.push_back("an attempt is still open");
  return found;
}

Violations KilledStudy::Compare(const KilledStudy& other) const {
  Violations found;
  auto one = TrialBook::OpenForReading(folder_), another = TrialBook::OpenForReading(other.folder_);
  CompareRows(one.Trials(), another.Trials(), found);
  CompareRows(one.Rungs(), another.Rungs(), found);
  return found;
}

std::size_t KilledStudy::Acknowledged() const { return LinesOf(folder_ / "acknowledged").size(); }

}  // namespace slipway::ensemble
