#include "launcher/cli/explain/waiting.h"

#include <fmt/format.h>

#include "core/clock.h"
#include "core/units.h"
#include "launcher/cluster/wait_reasons.h"

namespace slipway::launcher {
namespace {

void AddReason(const SlurmJob& job, Explanation& explanation) {
  const auto words = ExplainWait(job);
  explanation.because.push_back(fmt::format("{} ({})", words.sentence, job.reason));
  if (!job.reason_text.empty()) explanation.because.push_back("in its own words: " + job.reason_text);
  if (!words.next_step.empty()) explanation.next.push_back(words.next_step);
}

void AddWhatItAsksFor(const SlurmJob& job, Explanation& explanation) {
  auto& because = explanation.because;
  if (!job.dependency.empty()) because.push_back(fmt::format("it waits for: {}", job.dependency));
  if (!job.burst_buffer.empty()) {
    const auto state = job.burst_buffer_state.empty() ? "not begun" : job.burst_buffer_state;
    because.push_back(fmt::format("its burst buffer: {}", state));
  }
  const auto limit = job.time_limit_minutes > 0 ? FormatDuration(Seconds(std::chrono::minutes(job.time_limit_minutes)))
                                                : std::string("none");
  because.push_back(fmt::format("partition {}, time limit {}", job.partition, limit));
}

void AddProspect(const SlurmJob& job, Explanation& explanation) {
  auto& because = explanation.because;
  because.push_back(job.priority > 0 ? fmt::format("its priority is {}", job.priority)
                                     : std::string("it is held: its priority is 0"));
  because.push_back(job.start ? fmt::format("Slurm expects it to start at {}", FormatUtc(*job.start))
                              : std::string("Slurm has not said yet when it expects it to start"));
}

}  // namespace

void ExplainWaiting(const RunFacts& facts, Explanation& explanation) {
  const auto& job = *facts.job;
  explanation.headline = fmt::format("waits in the queue as job {}", job.id);
  if (job.submitted) explanation.headline += fmt::format(", submitted {}", FormatUtc(*job.submitted));
  AddReason(job, explanation);
  AddWhatItAsksFor(job, explanation);
  AddProspect(job, explanation);
  if (job.restarts > 0) {
    explanation.because.push_back(
        fmt::format("it has begun before, and went back into the queue; in all {} times", job.restarts));
  }
  explanation.next.push_back(fmt::format("take it out of the queue: slipway cancel {}", facts.selector));
}

}  // namespace slipway::launcher
