#include "launcher/trials/lost_trials.h"

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
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

/// Processes of another user or container may look gone from here; a lock that they hold does not look free.
bool MayBeHeld(const std::filesystem::path& lock) try {
  return !FileLock::TryLook(lock);
} catch (const SystemError&) {  // it cannot be looked at
  return true;
}

}  // namespace

void MarkLost(const std::filesystem::path& run_folder, std::vector<ensemble::TrialRecord>& trials) {
  if (std::ranges::none_of(trials, IsAtWork, &ensemble::TrialRecord::state)) return;
  const auto lock = run_folder / ensemble::kLockName;
  if (ensemble::HasManager(lock)) return;
  const auto holder = ensemble::ReadHolder(lock);
  // A manager that has just ended may have written since `trials` were read.
  auto open = ensemble::TrialBook::OpenForReading(run_folder).OpenAttempts();
  std::erase_if(open, [](const ensemble::AttemptRecord& attempt) { return !IsGone(attempt); });
  // One that has come meanwhile may have left these attempts for a moment.
  if (open.empty() || MayBeHeld(lock) || ensemble::ReadHolder(lock) != holder) return;
  for (const auto& attempt : open) {
    const auto row = static_cast<std::size_t>(attempt.trial);
    if (row < trials.size() && IsAtWork(trials[row].state)) trials[row].state = ensemble::TrialState::kLost;
  }
}

}  // namespace slipway::launcher
