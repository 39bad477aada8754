#include "launcher/cli/explain/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/text.h"
#include "core/units.h"
#include "launcher/cli/explain/ending.h"
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

/// `facts.job` must be a waiting job.
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

constexpr std::size_t kGroupsShown = 5;
constexpr std::size_t kTrialsNamed = 5;

std::string Counts(const RunFacts& facts) {
  const auto text = [](const auto& state) { return fmt::format("{} {}", state.second, state.first); };
  return "trials: " + JoinEach(facts.trials, ", ", text);
}

std::string Line(const FailureGroup& group) {
  const std::vector<ensemble::TrialNumber> named(
      group.trials.begin(),
      group.trials.begin() + static_cast<std::ptrdiff_t>(std::min(kTrialsNamed, group.trials.size())));
  return fmt::format("{} {} ({}{})", Counted(group.trials.size(), "trial"), group.what, fmt::join(named, ", "),
                     group.trials.size() > named.size() ? ", ..." : "");
}

std::string HowToReport(const std::string& metric) {
  const Json line{{"step", 1}, {"metrics", {{metric, 0.5}}}};
  return fmt::format(
      "have it report '{}': lines such as {} in the file of $SLIPWAY_METRICS, or a pattern of what it "
      "prints (train.metrics)",
      metric, line.dump());
}

void AddFailure(const FailureGroup& group, Explanation& explanation) {
  const auto about = fmt::format("  trial {}: ", group.trials.front());
  explanation.because.push_back(Line(group));
  if (group.unmatched) AddUnmatched(*group.unmatched, about, explanation);
  for (const auto& unread : group.unread) explanation.because.push_back(about + Describe(unread));
  if (!group.last_line.empty()) {
    explanation.because.push_back(
        fmt::format("  the last words of trial {}: {}", group.trials.front(), group.last_line));
  }
}

/// Of the commonest failure.
void AddNextSteps(const FailureGroup& group, const RunFacts& facts, Explanation& explanation) {
  if (!group.unreported.empty()) {
    explanation.next.insert(explanation.next.begin(), HowToReport(group.unreported));  // before they are tried again
  }
  if (group.unmatched && !facts.has_results) {
    explanation.next.push_back(
        fmt::format("if it is in the pattern: slipway trials retry --failed {0} && slipway resume "
                    "{0} --set train.metrics.pattern='PATTERN'",
                    facts.selector));
  }
  const auto first = group.trials.front();
  explanation.next.push_back(
      group.has_folder ? fmt::format("read what it wrote: slipway logs {} --trial {}", facts.selector, first)
                       : fmt::format("see what is known of it: slipway trials show {} {}", first, facts.selector));
}

/// The number of trials in each state, and of each cause of failure; or why they cannot be read.
void ExplainTrials(const RunFacts& facts, Explanation& explanation) {
  if (!facts.trials_trouble.empty()) {
    explanation.because.push_back("its trials cannot be read: " + facts.trials_trouble);
    if (!facts.trials_remedy.empty()) explanation.next.push_back("to see the trials: " + facts.trials_remedy);
  }
  if (facts.trials.empty()) return;
  explanation.because.push_back(Counts(facts));
  const auto shown = std::min(kGroupsShown, facts.failures.size());
  for (std::size_t i = 0; i < shown; ++i) AddFailure(facts.failures[i], explanation);
  if (shown < facts.failures.size()) {
    explanation.because.push_back(fmt::format("and {} other ways to fail", facts.failures.size() - shown));
  }
  if (!facts.failures.empty()) AddNextSteps(facts.failures.front(), facts, explanation);
}

bool WaitsInQueue(const RunFacts& facts) {
  return !HasEnded(facts.state.phase) && facts.job && facts.job->phase() == JobPhase::kWaiting;
}

void ExplainRunning(const RunFacts& facts, Explanation& explanation) {
  const auto& state = facts.state;
  explanation.headline = fmt::format("{}, attempt {}", PhaseName(state.phase), state.attempt);
  if (!state.host.empty() && state.phase != Phase::kQueued) explanation.headline += " on " + state.host;
  if (!state.started.empty()) explanation.headline += ", since " + state.started;
  if (!state.reason.empty()) explanation.because.push_back(state.reason);
  if (facts.job && facts.job->end) {
    explanation.because.push_back(
        fmt::format("the time limit of job {} ends it at {}", facts.job->id, FormatUtc(*facts.job->end)));
  }
  explanation.next.push_back(fmt::format("see what it does: slipway logs -f {}", facts.selector));
}

Json LogDocument(const LogEnd& log) {
  if (log.lines.empty()) return nullptr;
  return Json{{"file", log.file.string()}, {"lines", log.lines}};
}

Json JobDocument(const std::optional<SlurmJob>& job) {
  if (!job) return nullptr;
  return Json{
      {"id", job->id},
      {"state", WordOf(job->state)},
      {"reason", job->reason},
      {"priority", job->priority},
      {"restarts", job->restarts},
      {"expected_start", job->phase() == JobPhase::kWaiting && job->start ? Json(FormatUtc(*job->start)) : Json()}};
}

Json RanksDocument(const RunFacts& facts) {
  Json list = Json::array();
  for (const auto& end : facts.ends) {
    list.push_back({{"rank", end.rank}, {"exit_code", end.status.code}, {"signal", end.status.signal}});
  }
  return list;
}

Json FailuresDocument(const RunFacts& facts) {
  Json list = Json::array();
  for (const auto& group : facts.failures) {
    list.push_back({{"what", group.what},
                    {"trials", group.trials},
                    {"last_line", group.last_line},
                    {"unread_metrics", ToJson(group.unread)}});
  }
  return list;
}

}  // namespace

Explanation Explain(const RunFacts& facts) {
  Explanation explanation;
  if (WaitsInQueue(facts)) {
    ExplainWaiting(facts, explanation);
  } else if (HasEnded(facts.state.phase)) {
    ExplainEnd(facts, explanation);
  } else {
    ExplainRunning(facts, explanation);
  }
  if (facts.restarts > 0) {
    explanation.because.push_back("its ranks were started again " + Counted(facts.restarts, "time"));
  }
  if (!facts.slurm_trouble.empty()) {
    explanation.because.push_back("what Slurm says is not known: " + facts.slurm_trouble);
  }
  ExplainTrials(facts, explanation);
  return explanation;
}

void AddUnmatched(const UnmatchedPattern& unmatched, std::string_view indent, Explanation& explanation) {
  auto& because = explanation.because;
  because.push_back(fmt::format("{}{}", indent, WhatIsWrong(unmatched.tally)));
  because.push_back(fmt::format("{}the pattern: {}", indent, unmatched.pattern));
  for (const auto& line : unmatched.nearest) because.push_back(fmt::format("{}a line near it: {}", indent, line));
}

Json ToJson(const Explanation& explanation, const RunFacts& facts) {
  return Json{{"schema", "slipway.explain/1"},
              {"run", facts.state.run},
              {"phase", PhaseName(facts.state.phase)},
              {"headline", explanation.headline},
              {"because", explanation.because},
              {"log", LogDocument(explanation.log)},
              {"next", explanation.next},
              {"job", JobDocument(facts.job)},
              {"ranks", RanksDocument(facts)},
              {"failures", FailuresDocument(facts)},
              {"unmatched", facts.unmatched ? ToJson(*facts.unmatched) : Json()}};
}

std::string Describe(const Explanation& explanation, const RunFacts& facts) {
  auto text = fmt::format("{}  {}\n", facts.state.run, explanation.headline);
  for (const auto& line : explanation.because) text += fmt::format("  {}\n", line);
  if (!explanation.log.lines.empty()) {
    text += fmt::format("\nlast lines of {}:\n{}\n", explanation.log.file.string(), explanation.log.lines);
  }
  if (!explanation.next.empty()) text += "\nnext:\n";
  for (const auto& line : explanation.next) text += fmt::format("  {}\n", line);
  return text;
}

}  // namespace slipway::launcher
