#include "launcher/run/batch/batch_state.h"

#include <fmt/format.h>

#include <sstream>

#include "core/clock.h"
#include "launcher/cluster/wait_reasons.h"

namespace slipway::launcher {
namespace {

/// What tools say ends with a line break, and may have several.
std::string WithSingleBlanks(const std::string& text) {
  std::string line;
  std::istringstream words(text);
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// A job whose stage-in failed is held, and only an operator may release it.
ReasonInWords WhyItWaits(const SlurmJob& job, const std::string& run) {
  if (job.reason_text.empty()) return ExplainWait(job);
  ReasonInWords said{fmt::format("{} ({})", WithSingleBlanks(job.reason_text), job.reason), ""};
  if (job.IsHeld()) {
    said.next_step =
        fmt::format("Slurm holds it. When that is mended: slipway cancel {}, then slipway resume {}", run, run);
  }
  return said;
}

RunState Waiting(RunState state, const SlurmJob& job, const std::string& selector) {
  state.phase = Phase::kQueued;
  state.reason = DescribeWait(job, std::to_string(job.id), WhyItWaits(job, selector.empty() ? state.run : selector));
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
                              ended.detail.empty() ? "" : "\n\n", job, WithSingleBlanks(reason));
  return ended;
}

RunState WithJob(RunState stored, const std::optional<SlurmJob>& job, const std::string& selector) {
  if (HasEnded(stored.phase)) return stored;
  if (!job) return Forgotten(std::move(stored));
  switch (job->phase()) {
    case JobPhase::kWaiting: return Waiting(std::move(stored), *job, selector);
    case JobPhase::kOver: return Ended(std::move(stored), *job);
    case JobPhase::kRunning:
    case JobPhase::kEnding: break;
  }
  if (job->state == JobState::kSuspended) {
    stored.reason = DescribeSuspended(std::to_string(job->id));
  } else if (stored.phase == Phase::kQueued) {
    stored.reason = fmt::format("job {} is starting on {}", job->id, job->batch_host);
  }
  return stored;
}

}  // namespace slipway::launcher
