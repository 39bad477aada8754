#include "launcher/cli/explain/explanation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/text.h"
#include "launcher/cli/explain/ending.h"
#include "launcher/cli/explain/trials.h"
#include "launcher/cli/explain/waiting.h"

namespace slipway::launcher {
namespace {

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
