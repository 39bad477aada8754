#include "launcher/run/batch_state.h"

#include <fmt/format.h>

#include "core/clock.h"
#include "launcher/engines/slurm/wait_reasons.h"

namespace slipway::launcher {
namespace {

/// "waits for resources (Resources)", and what to do about it.
std::string WhyItWaits(const SlurmJob& job) {
  if (!job.reason_text.empty()) return fmt::format("{} ({})", job.reason_text, job.reason);
  const auto words = ExplainReason(job.reason);
  return words.next_step.empty() ? words.sentence : fmt::format("{}; {}", words.sentence, words.next_step);
}

RunState Waiting(RunState state, const SlurmJob& job) {
  state.phase = Phase::kQueued;
  state.reason = fmt::format("job {} waits: {}", job.id, WhyItWaits(job));
  if (job.start) state.reason += fmt::format(" (expected to start {})", FormatUtc(*job.start));
  return state;
}

/// Its manager cannot say any more how it ended.
RunState Ended(RunState state, const SlurmJob& job) {
  state.phase = job.state == JobState::kCancelled ? Phase::kCancelled : Phase::kFailed;
  state.reason =
      fmt::format("job {} {}; continue with: slipway resume {}", job.id, InWords(job.state, job.flags), state.run);
  if (!job.reason_text.empty()) state.detail = job.reason_text;
  if (job.end) state.ended = FormatUtc(*job.end);
  return state;
}

RunState Forgotten(RunState state) {
  state.phase = Phase::kLost;
  state.reason =
      fmt::format("Slurm does not know job {} any more; continue with: slipway resume {}", state.batch_job, state.run);
  return state;
}

}  // namespace

RunState WithJob(RunState stored, const std::optional<SlurmJob>& job) {
  if (HasEnded(stored.phase)) return stored;
  if (!job) return Forgotten(std::move(stored));
  switch (job->phase()) {
    case JobPhase::kWaiting: return Waiting(std::move(stored), *job);
    case JobPhase::kOver: return Ended(std::move(stored), *job);
    case JobPhase::kRunning:
    case JobPhase::kEnding: break;
  }
  if (stored.phase == Phase::kQueued) stored.reason = fmt::format("job {} is starting on {}", job->id, job->batch_host);
  return stored;
}

}  // namespace slipway::launcher
