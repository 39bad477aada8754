#include "launcher/run/batch/batch_state.h"

#include <fmt/format.h>

#include <sstream>

#include "core/clock.h"
#include "launcher/cluster/wait_reasons.h"

namespace slipway::launcher {
namespace {

/// What tools say ends with a line break, and may have several.
std::string WordsOnOneLine(const std::string& text) {
  std::string line;
  std::istringstream words(text);
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

bool IsHeld(const SlurmJob& job) { return job.priority == 0; }

/// "waits for resources (Resources)", and what to do about it. A job whose stage-in failed is held, and only an
/// operator may release it.
std::string WhyItWaits(const SlurmJob& job, const std::string& run) {
  if (!job.reason_text.empty()) {
    const auto said = fmt::format("{} ({})", WordsOnOneLine(job.reason_text), job.reason);
    if (!IsHeld(job)) return said;
    return fmt::format("{}; Slurm holds it. When that is mended: slipway cancel {}, then slipway resume {}", said, run,
                       run);
  }
  const auto words = ExplainReason(job.reason);
  return words.next_step.empty() ? words.sentence : fmt::format("{}; {}", words.sentence, words.next_step);
}

RunState Waiting(RunState state, const SlurmJob& job) {
  state.phase = Phase::kQueued;
  state.reason = fmt::format("job {} waits: {}", job.id, WhyItWaits(job, state.run));
  if (job.start && !IsHeld(job)) state.reason += fmt::format(" (expected to start {})", FormatUtc(*job.start));
  return state;
}

EndCause CauseOfJob(const SlurmJob& job) {
  if (job.HadNoOutput()) return cause::JobWithoutOutput{job.id, job.batch_host, job.output};
  return cause::JobEnded{job.id, job.state, job.state == JobState::kFailed ? job.status() : ExitStatus{}};
}

/// Its manager cannot say any more how it ended.
RunState Ended(RunState state, const SlurmJob& job) {
  EndAs(state, job.state == JobState::kCancelled ? Phase::kCancelled : Phase::kFailed, CauseOfJob(job));
  if (!job.reason_text.empty()) state.detail = job.reason_text;
  if (job.end) state.ended = FormatUtc(*job.end);
  return state;
}

RunState Forgotten(RunState state) {
  EndAs(state, Phase::kLost, cause::JobForgotten{state.batch_job});
  return state;
}

}  // namespace

RunState WhileStagingOut(RunState ended, const SlurmJob& job) {
  ended.reason = fmt::format("{}; job {} copies results out of the burst buffer",
                             ended.reason.empty() ? std::string(PhaseName(ended.phase)) : ended.reason, job.id);
  ended.phase = Phase::kRunning;
  ended.ended.clear();
  return ended;
}

RunState WithLostResults(RunState ended, JobId job, const std::string& reason) {
  ended.detail += fmt::format("{}job {}: not all results were copied out of the burst buffer, which is gone by now: {}",
                              ended.detail.empty() ? "" : "\n\n", job, WordsOnOneLine(reason));
  return ended;
}

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
