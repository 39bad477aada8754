#include "ensemble/exchange/import_trials.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

#include "core/process.h"

namespace slipway::ensemble {
namespace {

using Runs = std::vector<const ImportedTrial*>;

struct Configuration {
  std::string hash;
  Runs runs;  // complete ones first
};

/// Configurations in the order of their first trials.
std::vector<Configuration> GroupByConfiguration(const std::vector<ImportedTrial>& trials) {
  std::vector<Configuration> configurations;
  std::unordered_map<std::string, std::size_t> places;
  for (const auto& trial : trials) {
    auto hash = ConfigurationHash(trial.parameters);
    const auto [place, is_new] = places.try_emplace(hash, configurations.size());
    if (is_new) configurations.push_back({std::move(hash), {}});
    configurations[place->second].runs.push_back(&trial);
  }
  for (auto& configuration : configurations) {
    std::ranges::stable_partition(configuration.runs,
                                  [](const auto* run) { return run->state == TrialState::kComplete; });
  }
  return configurations;
}

TrialRecord ToRecord(const ImportedTrial& imported, const std::string& configuration, TrialNumber first, int repeat) {
  TrialRecord record;
  record.number = first + repeat;
  record.repeat = repeat;
  record.state = imported.state;
  record.parameters = imported.parameters;
  record.configuration = configuration;
  record.objective = imported.objective;
  record.further = imported.further;
  record.origin = kImportedOrigin;
  record.reason = imported.reason;
  record.started = imported.started;
  record.ended = imported.ended;
  return record;
}

/// A cancelled repeat: the imported configuration has fewer runs.
TrialRecord MissingRun(const TrialRecord& first, int repeat) {
  TrialRecord record;
  record.number = first.number + repeat;
  record.repeat = repeat;
  record.state = TrialState::kCancelled;
  record.parameters = first.parameters;
  record.configuration = first.configuration;
  record.origin = first.origin;
  record.reason = "its configuration was imported with fewer runs";
  return record;
}

/// Adds all `repeats` runs of a configuration. `first`: the number of its first run.
void Add(const Configuration& configuration, TrialNumber first, int repeats, std::vector<TrialRecord>& records) {
  const auto& runs = configuration.runs;
  const auto head = ToRecord(*runs.front(), configuration.hash, first, 0);
  records.push_back(head);
  for (int repeat = 1; repeat < repeats; ++repeat) {
    const auto place = static_cast<std::size_t>(repeat);
    const bool was_run = place < runs.size();
    records.push_back(was_run ? ToRecord(*runs[place], configuration.hash, first, repeat) : MissingRun(head, repeat));
  }
}

}  // namespace

std::int64_t CountImported(const std::vector<TrialRecord>& trials) {
  return std::ranges::count_if(
      trials, [](const TrialRecord& trial) { return trial.repeat == 0 && trial.origin == kImportedOrigin; });
}

ImportCount ImportTrials(TrialBook& book, const std::vector<ImportedTrial>& trials, double now) {
  const auto study = book.Study().value();
  const auto present = book.Trials();
  std::set<std::string> known;
  for (const auto& trial : present) known.insert(trial.configuration);
  Changes changes;
  changes.time = now;
  changes.host = HostName();
  changes.remark = "imported";
  ImportCount count;
  std::int64_t configurations = 0;
  auto next = static_cast<TrialNumber>(present.size());
  for (const auto& configuration : GroupByConfiguration(trials)) {
    const auto runs = std::ssize(configuration.runs);
    const auto added = known.contains(configuration.hash) ? 0 : std::min<std::int64_t>(runs, study.repeats);
    count.added += added;
    count.known += runs - added;
    if (added == 0) continue;
    ++configurations;
    Add(configuration, next, study.repeats, changes.finished);
    next += study.repeats;
  }
  if (configurations == 0) return count;
  // The book accepts no trials beyond the budget. If the write fails, the next manager corrects the budget.
  book.BeginSession({now, {}, 0}, changes.host);
  book.SetBudget(study.trials + configurations);
  book.Write(changes);
  return count;
}

}  // namespace slipway::ensemble
