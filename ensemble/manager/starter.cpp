#include "ensemble/manager/starter.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "ensemble/manager/crash_point.h"

namespace slipway::ensemble {
namespace {

bool IsKnown(const std::vector<Changes::Start>& starts, TrialNumber trial, const ProcessIdentity& process) {
  return std::ranges::any_of(
      starts, [&](const Changes::Start& start) { return start.trial == trial && start.process == process; });
}

}  // namespace

bool HangOnSupervisors(const Changes& claimed) {
  const auto is_there = [&](const Changes::Claim& claim) {
    return std::ranges::find(claimed.starts, claim.trial, &Changes::Start::trial) != claimed.starts.end();
  };
  return !claimed.claims.empty() && std::ranges::all_of(claimed.claims, is_there);
}

Prepared Starter::Prepare(const Changes& claimed) {
  for (const auto& claim : claimed.claims) {
    if (claim.attempt > 1) RecallEarlier(claim);
  }
  Prepared prepared;
  for (const auto& claim : claimed.claims) {
    const auto process = Prepare(claim);
    if (!process) continue;
    prepared.trials.push_back(claim.trial);
    if (runner_.Queues()) {
      prepared.queued.push_back({claim.trial, claim.attempt});
    } else if (!IsKnown(claimed.starts, claim.trial, *process)) {
      prepared.starts.push_back({claim.trial, claim.attempt, process});
    }
  }
  return prepared;
}

/// Loads the history of earlier attempts. Call it after the end of the last one is in the book; that end may belong to
/// the same round.
void Starter::RecallEarlier(const Changes::Claim& claim) {
  running_.Replace(claim.trial, LiveAttempt(book_, claim.trial, claim.attempt, options_.objectives));
}

/// Nothing when it cannot be started.
std::optional<ProcessIdentity> Starter::Prepare(const Changes::Claim& claim) {
  const TrialRecord& trial = study_.at(claim.trial);
  const Json parameters = ToJson(trial.parameters);
  std::optional<ProcessIdentity> process;
  try {
    process = runner_.Prepare({claim.trial, claim.attempt, parameters, trial.repeat, trial.parent, claim.place,
                               judge_.scheduler().Limit(claim.trial)});
  } catch (const Error& error) {
    unstarted_.push_back({claim.trial, error.message()});
  }
  CrashPoint("after_prepare");
  return process;
}

/// Processes do not outlive the machine, so their identities need not survive a loss of power. Queued jobs must.
void Starter::WriteDown(const Prepared& prepared, Changes changes) {
  changes.starts = prepared.starts;
  changes.queued = prepared.queued;
  if (!changes.Empty()) book_.Write(changes, changes.queued.empty() ? Outlives::kProcess : Outlives::kPower);
  if (!prepared.trials.empty()) CrashPoint("after_running_commit");
}

const TrialRecord& Starter::Release(TrialNumber number, double now) {
  runner_.Release(number);
  TrialRecord& trial = study_.Edit(number);
  if (runner_.Queues()) {
    BecomeWaiting(trial);
  } else {
    BeginNow(trial, now);
  }
  study_.Changed(number);
  CrashPoint("after_release");
  return trial;
}

void Starter::BeginNow(TrialRecord& trial, double now) {
  BecomeRunning(trial, now);
  running_.Begin(running_.at(trial.number), now);
}

std::vector<Unstarted> Starter::TakeUnstarted() { return std::exchange(unstarted_, {}); }

}  // namespace slipway::ensemble
