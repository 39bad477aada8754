#include "ensemble/search/results/observations.h"

#include <algorithm>

#include "core/fnv1a.h"

namespace slipway::ensemble {
namespace {

double LowerIsBetter(double value, Goal goal) { return goal == Goal::kMinimize ? value : -value; }

bool IsPending(TrialState state) { return !IsFinal(state) && state != TrialState::kPaused; }

/// The position of a trial in a list that is sorted by number.
std::ptrdiff_t PlaceOf(TrialNumber trial, const std::vector<TrialNumber>& numbers) {
  return std::ranges::lower_bound(numbers, trial) - numbers.begin();
}

}  // namespace

Observation ObservationLog::ObservationOf(const TrialRecord& trial, Coordinates at) const {
  Observation observation{trial.number, std::move(at), LowerIsBetter(*trial.objective, goal_), {}, trial.origin};
  const auto count = std::min(further_.size(), trial.further.size());
  for (std::size_t i = 0; i < count; ++i) {
    observation.more.push_back(LowerIsBetter(trial.further[i], further_[i]));
  }
  return observation;
}

ObservationLog::List ObservationLog::Take(const TrialRecord& trial) {
  auto at = encoding_.Encode(trial.parameters);
  if (IsPending(trial.state)) {
    const auto place = PlaceOf(trial.number, pending_);
    pending_.insert(pending_.begin() + place, trial.number);
    known_.pending.insert(known_.pending.begin() + place, std::move(at));
    known_.pending_origins.insert(known_.pending_origins.begin() + place, trial.origin);
    return List::kPending;
  }
  if (trial.objective) {
    const auto place = std::ranges::lower_bound(known_.complete, trial.number, {}, &Observation::trial);
    known_.complete.insert(place, ObservationOf(trial, std::move(at)));
    return List::kComplete;
  }
  const auto place = PlaceOf(trial.number, failed_);
  failed_.insert(failed_.begin() + place, trial.number);
  known_.failed.insert(known_.failed.begin() + place, std::move(at));
  return List::kFailed;
}

void ObservationLog::Forget(TrialNumber trial, List list) {
  if (list == List::kComplete) {
    known_.complete.erase(std::ranges::lower_bound(known_.complete, trial, {}, &Observation::trial));
  } else if (list == List::kPending) {
    const auto place = PlaceOf(trial, pending_);
    pending_.erase(pending_.begin() + place);
    known_.pending.erase(known_.pending.begin() + place);
    known_.pending_origins.erase(known_.pending_origins.begin() + place);
  } else {
    const auto place = PlaceOf(trial, failed_);
    failed_.erase(failed_.begin() + place);
    known_.failed.erase(known_.failed.begin() + place);
  }
}

const Observations& ObservationLog::Update(TrialNumber asked, const TrialTable& table) {
  for (TrialNumber trial = 0; trial < std::ssize(seen_); ++trial) {
    auto& seen = seen_[static_cast<std::size_t>(trial)];
    if (seen.revision == table.Revision(trial)) continue;
    Forget(trial, seen.list);
    seen = {table.Revision(trial), Take(table.at(trial))};
  }
  const auto end = std::min(asked, table.size());
  for (TrialNumber trial = std::ssize(seen_); trial < end; ++trial) {
    seen_.push_back({table.Revision(trial), Take(table.at(trial))});
  }
  return known_;
}

namespace {

template <class Part>
std::uint64_t Mixed(std::uint64_t hash, std::span<const Part> parts) {
  const std::uint64_t more =
      Fnv1a64({reinterpret_cast<const char*>(parts.data()), parts.size_bytes()});  // NOLINT: the bytes are meant
  return (hash ^ more) * 0x100000001b3 + parts.size();
}

std::uint64_t Mixed(std::uint64_t hash, const std::vector<Coordinates>& places) {
  for (const auto& at : places) hash = Mixed(hash, std::span<const double>(at));
  return hash + places.size();
}

}  // namespace

std::uint64_t Fingerprint(std::span<const Observation> results) {
  std::uint64_t hash = results.size();
  for (const auto& result : results) {
    hash = Mixed(hash, std::span<const TrialNumber>(&result.trial, 1));
    hash = Mixed(hash, std::span<const double>(&result.value, 1));
  }
  return hash | 1;
}

std::uint64_t Fingerprint(const Observations& known) {
  return Mixed(Mixed(Fingerprint(std::span(known.complete)), known.pending) * 3, known.failed);
}

}  // namespace slipway::ensemble
