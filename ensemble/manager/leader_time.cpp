#include "ensemble/manager/leader_time.h"

#include <algorithm>

namespace slipway::ensemble {
namespace {

/// Factor on the expected time of the leader. Steps take different times, and the last checkpoint takes time too.
constexpr double kReserve = 1.25;

}  // namespace

void LeaderTime::Begin(TrialNumber trial) {
  if (scheduler_ != nullptr) begun_[trial] = scheduler_->Reached(trial);
}

void LeaderTime::End(TrialNumber trial, double seconds) {
  const auto begun = begun_.extract(trial);
  if (begun.empty()) return;
  const double gained = scheduler_->Reached(trial) - begun.mapped();
  if (gained <= 0) return;
  seconds_ += seconds;
  resource_ += gained;
  longest_ = std::max(longest_, seconds);
}

std::optional<Leader> LeaderTime::Paused() const {
  return scheduler_ != nullptr ? scheduler_->PausedLeader() : std::nullopt;
}

std::optional<TrialNumber> LeaderTime::GoOn(double seconds_left) {
  const auto leader = Paused();
  if (!leader || !HasCome(*leader, seconds_left)) return std::nullopt;
  scheduler_->GoOn(*leader);
  return leader->trial;
}

bool LeaderTime::HasCome(const Leader& leader, double seconds_left) const {
  if (resource_ <= 0) return false;
  const double needed = (leader.end - leader.reached) * seconds_ / resource_;
  return needed <= seconds_left && seconds_left <= kReserve * needed + longest_;
}

}  // namespace slipway::ensemble
