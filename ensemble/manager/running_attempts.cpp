#include "ensemble/manager/running_attempts.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace slipway::ensemble {

RunningAttempts::RunningAttempts(const EnsembleOptions& options, const Usage& used, Clock& clock)
    : options_(options),
      clock_(clock),
      begun_(clock.Steady()),
      meter_(options.budget, used, 0),
      packer_(options.nodes, options.need) {}

LiveAttempt* RunningAttempts::Present(TrialNumber trial, int attempt) {
  const auto found = attempts_.find(trial);
  return found != attempts_.end() && found->second.number() == attempt ? &found->second : nullptr;
}

void RunningAttempts::Add(TrialNumber trial, LiveAttempt attempt) { attempts_.emplace(trial, std::move(attempt)); }

void RunningAttempts::Replace(TrialNumber trial, LiveAttempt attempt) {
  const auto before = attempts_.extract(trial);
  attempt.place = before.mapped().place;
  Add(trial, std::move(attempt));
}

LiveAttempt RunningAttempts::Remove(TrialNumber trial) {
  auto attempt = std::move(attempts_.extract(trial).mapped());
  packer_.GiveBack(attempt.place);
  if (attempt.started()) meter_.AddNodes(-options_.need.nodes, SecondsUp());
  return attempt;
}

void RunningAttempts::Begin(LiveAttempt& attempt, double time) {
  const auto since = std::chrono::duration<double>(std::max(0.0, UnixSeconds(clock_.Now()) - time));
  attempt.Start(time, clock_.Steady() - std::chrono::duration_cast<SteadyTime::duration>(since));
  Count(attempt);
}

void RunningAttempts::CountAnew(double ended) {
  meter_.Restart(ended, SecondsUp());
  for (const auto& [trial, attempt] : attempts_) {
    if (attempt.started()) Count(attempt);
  }
}

/// Counts an attempt from its begin, which may lie before this manager began or received the event.
void RunningAttempts::Count(const LiveAttempt& attempt) {
  meter_.AddNodes(options_.need.nodes, SecondsUp());
  meter_.Charge(options_.need.nodes * attempt.SecondsUp(clock_.Steady()));
}

std::optional<std::vector<AllocatedNode>> RunningAttempts::TakePlace() {
  if (options_.nodes.empty()) return std::vector<AllocatedNode>{};
  return packer_.Take();
}

double RunningAttempts::SecondsLeft() const {
  const double left = meter_.SecondsLeft(SecondsUp());
  return options_.manager_time_limit ? std::min(left, *options_.manager_time_limit - SecondsUp()) : left;
}

double RunningAttempts::SecondsToTrialLimit() const {
  double left = std::numeric_limits<double>::infinity();
  if (!options_.trial_time_limit) return left;
  for (const auto& [trial, attempt] : attempts_) {
    if (!attempt.stop) left = std::min(left, *options_.trial_time_limit - attempt.Elapsed(clock_.Steady()));
  }
  return left;
}

double RunningAttempts::SecondsUp() const { return std::chrono::duration<double>(clock_.Steady() - begun_).count(); }

}  // namespace slipway::ensemble
