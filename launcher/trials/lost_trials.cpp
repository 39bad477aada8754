#include "launcher/trials/lost_trials.h"

#include <algorithm>

#include "core/process_identity.h"
#include "ensemble/store/holder.h"
#include "ensemble/store/trial_book.h"

namespace slipway::launcher {
namespace {

bool IsAtWork(ensemble::TrialState state) {
  return state == ensemble::TrialState::kClaimed || state == ensemble::TrialState::kRunning;
}

/// Jobs of a batch system have no process of this machine.
bool IsGone(const ensemble::AttemptRecord& attempt) {
  const auto& process = attempt.process;
  return process && process->pid > 0 && attempt.host == HostName() && !IsAlive(*process);
}

}  // namespace

void MarkLost(const std::filesystem::path& run_folder, std::vector<ensemble::TrialRecord>& trials) {
  if (std::ranges::none_of(trials, IsAtWork, &ensemble::TrialRecord::state)) return;
  if (ensemble::HasManager(run_folder / ensemble::kLockName)) return;
  // A manager that has just ended may have written since `trials` were read.
  for (const auto& attempt : ensemble::TrialBook::OpenForReading(run_folder).OpenAttempts()) {
    const auto row = static_cast<std::size_t>(attempt.trial);
    if (row >= trials.size() || !IsAtWork(trials[row].state) || !IsGone(attempt)) continue;
    trials[row].state = ensemble::TrialState::kLost;
  }
}

}  // namespace slipway::launcher
