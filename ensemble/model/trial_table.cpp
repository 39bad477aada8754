#include "ensemble/model/trial_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace slipway::ensemble {

TrialTable::TrialTable(std::vector<TrialRecord> rows) {
  trials_.reserve(rows.size());
  for (auto& row : rows) Add(std::move(row));
}

TrialRecord& TrialTable::Add(TrialRecord trial) {
  if (trial.number != size()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("the trial book is damaged: trial {} stands where {} belongs", trial.number, size()),
                "restore the book from a copy");
  }
  configurations_.insert(trial.configuration);
  revisions_.push_back(0);
  return trials_.emplace_back(std::move(trial));
}

TrialRecord& TrialTable::Edit(TrialNumber trial) {
  ++revisions_.at(static_cast<std::size_t>(trial));
  return trials_.at(static_cast<std::size_t>(trial));
}

int TrialTable::Count(TrialState state) const {
  return static_cast<int>(
      std::count_if(trials_.begin(), trials_.end(), [&](const auto& trial) { return trial.state == state; }));
}

int TrialTable::CountOwnFailures() const {
  const auto is_own = [](const TrialRecord& trial) { return trial.state == TrialState::kFailed && trial.attempts > 0; };
  return static_cast<int>(std::count_if(trials_.begin(), trials_.end(), is_own));
}

const TrialRecord* TrialTable::Best(Goal goal) const {
  const TrialRecord* best = nullptr;
  for (const auto& trial : trials_) {
    if (trial.state != TrialState::kComplete || !trial.objective) continue;
    if (best == nullptr || IsBetter(*trial.objective, *best->objective, goal)) best = &trial;
  }
  return best;
}

}  // namespace slipway::ensemble
