#include "launcher/run/trials/ensemble_result.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/units.h"
#include "ensemble/schedulers/population.h"
#include "launcher/run_folder/end_reason.h"

namespace slipway::launcher {
namespace {

/// The words for states are those that `slipway status` counts by.
Json SummaryDocument(const ensemble::EnsembleSummary& summary) {
  using enum ensemble::TrialState;
  Json best = nullptr;
  if (summary.best) {
    best = Json{{"trial", summary.best->number},
                {"objective", *summary.best->objective},
                {"parameters", ensemble::ToJson(summary.best->parameters)}};
  }
  return Json{{"trials",
               {{WordOf(kComplete), summary.complete},
                {WordOf(kFailed), summary.failed},
                {WordOf(kPruned), summary.pruned},
                {WordOf(kPaused), summary.paused},
                {WordOf(kCancelled), summary.cancelled},
                {WordOf(kQueued), summary.waiting}}},
              {"best", best}};
}

/// Always the complete ones, and all others that there are.
std::string CountsText(const ensemble::EnsembleSummary& summary) {
  using enum ensemble::TrialState;
  const auto others = ListCounts({{summary.failed, WordOf(kFailed)},
                                  {summary.pruned, WordOf(kPruned)},
                                  {summary.paused, WordOf(kPaused)},
                                  {summary.cancelled, WordOf(kCancelled)},
                                  {summary.waiting, WordOf(kQueued)}});
  return fmt::format("{} {}{}{}", summary.complete, WordOf(kComplete), others.empty() ? "" : ", ", others);
}

/// "best accuracy 0.91", "best time to accuracy 0.9: 31.5 s".
std::string BestText(const ensemble::Objective& objective, double value) {
  if (!objective.reach) return fmt::format("best {} {:.6g}", objective.metric, value);
  return fmt::format("best time to {} {:.6g}: {}", objective.metric, *objective.reach, FormatDuration(Seconds(value)));
}

cause::OutOfTime OutOfTimeOf(const ensemble::Budget& budget) {
  return {budget.wall_seconds.has_value(), budget.node_seconds.has_value()};
}

/// No more trials than have begun: those that wait come to their end.
std::string PausedLeaderText(const ensemble::EnsembleSummary& summary, const ensemble::EnsembleOptions& options,
                             std::string_view run) {
  const auto& leader = *summary.leader;
  const auto& budget = options.budget;
  return fmt::format(
      "\n  trial {} leads and is paused at {} {:.6g} of {:.6g}; to bring the trials that have begun to their end: "
      "slipway resume {} --set ensemble.trials={}{}{}",
      leader.trial, options.resource, leader.reached, leader.end, run, summary.begun,
      budget.wall_seconds ? " --set ensemble.budget.time=..." : "",
      budget.node_seconds ? " --set ensemble.budget.node_hours=..." : "");
}

cause::OutOfNodes OutOfNodesOf(const ensemble::EnsembleSummary& summary, const ensemble::Need& need) {
  return {need.nodes, need.cores, need.gpus, summary.waiting, summary.paused, summary.not_begun, false};
}

/// Why it ended without all that it was to do.
EndCause CauseOf(const ensemble::EnsembleSummary& summary, const ensemble::EnsembleOptions& options) {
  if (summary.interrupted) return cause::Cancelled{};
  if (summary.out_of_nodes) return OutOfNodesOf(summary, options.need);
  if (summary.too_many_failures) return cause::TooManyFailures{summary.failed};
  if (!summary.same_failure.empty()) return cause::SameFailure{summary.same_failure};
  if (summary.out_of_time) return OutOfTimeOf(options.budget);
  if (summary.complete == 0) {
    return cause::NoTrialCompleted{summary.failed, summary.cancelled, summary.pruned, summary.paused};
  }
  return cause::Completed{};
}

Phase PhaseAfter(const EndCause& ended, const ensemble::EnsembleSummary& summary) {
  if (std::holds_alternative<cause::Cancelled>(ended)) return Phase::kCancelled;
  const bool used_its_time = std::holds_alternative<cause::OutOfTime>(ended) && summary.complete > 0;
  return used_its_time || std::holds_alternative<cause::Completed>(ended) ? Phase::kSucceeded : Phase::kFailed;
}

/// A population begins further trials only in place of those that it gives up.
std::string UnbegunText(const ensemble::EnsembleSummary& summary, const ensemble::EnsembleOptions& options) {
  auto scheduler = options.scheduler;
  scheduler.parallel = options.parallel;
  return fmt::format(
      "\n  {} of the budget never began: pbt trains {} together ('scheduler.population') and begins more only in "
      "place of trials that it gives up",
      summary.not_begun, ensemble::PopulationSize(scheduler));
}

}  // namespace

RunResult ResultOf(const ensemble::EnsembleSummary& summary, const ensemble::EnsembleOptions& options,
                   std::string_view run) {
  RunResult result;
  result.summary = SummaryDocument(summary);
  result.summary_text = "  trials  " + CountsText(summary);
  if (summary.best) {
    result.summary_text +=
        fmt::format("\n  {}  trial {}  {}", BestText(options.objectives.front(), *summary.best->objective),
                    summary.best->number, ensemble::Describe(summary.best->parameters));
  }
  result.cause = CauseOf(summary, options);
  result.phase = PhaseAfter(result.cause, summary);
  if (std::holds_alternative<cause::OutOfTime>(result.cause) && summary.leader) {
    result.summary_text += PausedLeaderText(summary, options, run);
  }
  const bool is_complete = std::holds_alternative<cause::Completed>(result.cause);
  if (is_complete && options.scheduler.type == "pbt" && summary.not_begun > 0) {
    result.summary_text += UnbegunText(summary, options);
  }
  return result;
}

}  // namespace slipway::launcher
