#include "ensemble/search/results/observations.h"

#include <algorithm>

namespace slipway::ensemble {
namespace {

double LowerIsBetter(double value, Goal goal) { return goal == Goal::kMinimize ? value : -value; }

bool IsPending(TrialState state) { return !IsFinal(state) && state != TrialState::kPaused; }

}  // namespace

void ObservationLog::TakeValue(const TrialRecord& trial, Coordinates at) {
  Observation observation{trial.number, std::move(at), LowerIsBetter(*trial.objective, goal_), {}, trial.origin};
  const auto count = std::min(further_.size(), trial.further.size());
  for (std::size_t i = 0; i < count; ++i) {
    observation.more.push_back(LowerIsBetter(trial.further[i], further_[i]));
  }
  const auto place = std::ranges::upper_bound(known_.complete, trial.number, {}, &Observation::trial);
  known_.complete.insert(place, std::move(observation));
}

void ObservationLog::Take(const TrialRecord& trial) {
  if (trial.state != TrialState::kComplete) open_.push_back({trial.number, trial.state, trial.objective});
  if (IsPending(trial.state)) return;
  auto at = encoding_.Encode(trial.parameters);
  if (trial.objective) return TakeValue(trial, std::move(at));
  const auto place = std::ranges::upper_bound(failed_, trial.number);
  known_.failed.insert(known_.failed.begin() + (place - failed_.begin()), std::move(at));
  failed_.insert(place, trial.number);
}

void ObservationLog::Forget(const Open& open) {
  if (IsPending(open.state)) return;
  if (open.objective) {
    known_.complete.erase(std::ranges::lower_bound(known_.complete, open.trial, {}, &Observation::trial));
    return;
  }
  const auto place = std::ranges::lower_bound(failed_, open.trial);
  known_.failed.erase(known_.failed.begin() + (place - failed_.begin()));
  failed_.erase(place);
}

void ObservationLog::CollectPending(const TrialTable& table) {
  known_.pending.clear();
  known_.pending_origins.clear();
  for (const auto& open : open_) {
    if (!IsPending(open.state)) continue;
    known_.pending.push_back(encoding_.Encode(table.at(open.trial).parameters));
    known_.pending_origins.push_back(table.at(open.trial).origin);
  }
}

const Observations& ObservationLog::Update(TrialNumber asked, const TrialTable& table) {
  for (const auto& open : std::exchange(open_, {})) {
    const auto& row = table.at(open.trial);
    if (row.state == open.state && row.objective == open.objective) {
      open_.push_back(open);
    } else {
      Forget(open);
      Take(row);
    }
  }
  for (const auto end = std::min(asked, table.size()); next_ < end; ++next_) Take(table.at(next_));
  CollectPending(table);
  return known_;
}

}  // namespace slipway::ensemble
