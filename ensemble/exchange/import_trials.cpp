#include "ensemble/exchange/import_trials.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/process.h"

namespace slipway::ensemble {
namespace {

TrialRecord ToRecord(const ImportedTrial& imported, TrialNumber number) {
  TrialRecord record;
  record.number = number;
  record.state = imported.state;
  record.parameters = imported.parameters;
  record.configuration = ConfigurationHash(imported.parameters);
  record.objective = imported.objective;
  record.further = imported.further;
  record.origin = kImportedOrigin;
  record.reason = imported.reason;
  record.started = imported.started;
  record.ended = imported.ended;
  return record;
}

/// Another run of the same configuration, which will never be.
TrialRecord RepeatOf(const TrialRecord& first, int repeat) {
  TrialRecord record;
  record.number = first.number + repeat;
  record.repeat = repeat;
  record.state = TrialState::kCancelled;
  record.parameters = first.parameters;
  record.configuration = first.configuration;
  record.origin = first.origin;
  record.reason = "its configuration was imported with one run";
  return record;
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
  auto next = static_cast<TrialNumber>(present.size());
  for (const auto& imported : trials) {
    const auto record = ToRecord(imported, next);
    if (known.contains(record.configuration)) {
      ++count.known;
      continue;
    }
    ++count.added;
    next += study.repeats;
    changes.finished.push_back(record);
    for (int repeat = 1; repeat < study.repeats; ++repeat) changes.finished.push_back(RepeatOf(record, repeat));
  }
  if (count.added == 0) return count;
  // The book takes no trials beyond the budget; a budget that grew for nothing is set right by the next manager.
  book.BeginSession(now, changes.host);
  book.SetBudget(study.trials + count.added);
  book.Write(changes);
  return count;
}

}  // namespace slipway::ensemble
