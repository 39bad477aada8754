#include "ensemble/search/observations.h"

#include <algorithm>

namespace slipway::ensemble {

void ObservationLog::Take(const TrialRecord& trial) {
  auto at = encoding_.Encode(trial.parameters);
  if (trial.state == TrialState::kComplete && trial.objective) {
    const double value = goal_ == Goal::kMinimize ? *trial.objective : -*trial.objective;
    const auto place = std::ranges::upper_bound(known_.complete, trial.number, {}, &Observation::trial);
    known_.complete.insert(place, {trial.number, std::move(at), value, {}, trial.origin});
  } else if (IsFinal(trial.state)) {
    const auto place = std::ranges::upper_bound(failed_, trial.number);
    known_.failed.insert(known_.failed.begin() + (place - failed_.begin()), std::move(at));
    failed_.insert(place, trial.number);
  } else {
    known_.pending.push_back(std::move(at));
    open_.push_back(trial.number);
  }
}

const Observations& ObservationLog::Update(TrialNumber asked, const TrialTable& table) {
  const auto open = std::exchange(open_, {});
  known_.pending.clear();
  for (const auto trial : open) Take(table.at(trial));
  for (const auto end = std::min(asked, table.size()); next_ < end; ++next_) Take(table.at(next_));
  return known_;
}

}  // namespace slipway::ensemble
