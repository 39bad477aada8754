#include "launcher/run/trials/ensemble_result.h"

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/units.h"
#include "ensemble/schedulers/population.h"

namespace slipway::launcher {
namespace {

Json SummaryDocument(const ensemble::EnsembleSummary& summary) {
  Json best = nullptr;
  if (summary.best) {
    best = Json{{"trial", summary.best->number},
                {"objective", *summary.best->objective},
                {"parameters", ensemble::ToJson(summary.best->parameters)}};
  }
  return Json{{"trials",
               {{"complete", summary.complete},
                {"failed", summary.failed},
                {"pruned", summary.pruned},
                {"paused", summary.paused},
                {"cancelled", summary.cancelled},
                {"waiting", summary.waiting}}},
              {"best", best}};
}

/// "1 failed, 3 pruned": only what there is.
std::string Listed(std::initializer_list<std::pair<std::int64_t, const char*>> counts) {
  std::string text;
  for (const auto& [count, word] : counts) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  }
  return text;
}

/// Always the complete ones, and all others that there are.
std::string CountsText(const ensemble::EnsembleSummary& summary) {
  const auto others = Listed({{summary.failed, "failed"},
                              {summary.pruned, "pruned"},
                              {summary.paused, "paused"},
                              {summary.cancelled, "cancelled"},
                              {summary.waiting, "waiting"}});
  return fmt::format("{} complete{}{}", summary.complete, others.empty() ? "" : ", ", others);
}

/// "best accuracy 0.91", "best time to accuracy 0.9: 31.5 s".
std::string BestText(const ensemble::Objective& objective, double value) {
  if (!objective.reach) return fmt::format("best {} {:.6g}", objective.metric, value);
  return fmt::format("best time to {} {:.6g}: {}", objective.metric, *objective.reach, FormatDuration(Seconds(value)));
}

/// The time limit begins anew with each resume, a budget does not.
std::string WhatIsUsedUp(const ensemble::EnsembleOptions& options) {
  std::string fields;
  for (const auto& [limit, name] : {std::pair{options.budget.wall_seconds, "ensemble.budget.time"},
                                    {options.budget.node_seconds, "ensemble.budget.node_hours"}}) {
    if (limit) fields += fmt::format("{}--set {}=...", fields.empty() ? "" : " ", name);
  }
  return fields.empty() ? "; 'slipway resume' goes on" : fmt::format("; with more of it: slipway resume {}", fields);
}

/// "a trial needs 2 nodes with 8 cores and 1 GPU each, and too few such nodes are left (3 waiting); ..."
std::string OutOfNodesText(const ensemble::EnsembleSummary& summary, const ensemble::Need& need) {
  auto text = need.nodes == 1 ? "a trial needs a node" : fmt::format("a trial needs {} nodes", need.nodes);
  text += fmt::format(" with {} core{}", need.cores, need.cores == 1 ? "" : "s");
  if (need.gpus > 0) text += fmt::format(" and {} GPU{}", need.gpus, need.gpus == 1 ? "" : "s");
  text += need.nodes == 1 ? ", and no such node is left" : " each, and too few such nodes are left";
  const auto left =
      Listed({{summary.waiting, "waiting"}, {summary.paused, "paused"}, {summary.not_begun, "not begun"}});
  return fmt::format("{} ({}); 'slipway resume' goes on with other nodes", text, left);
}

/// What failed alike once will again: the cause is to be mended first.
std::string SameFailureText(const std::string& what) {
  return what +
         "; no further trial began ('ensemble.stop_on_same_failure'); when that is mended: slipway trials retry "
         "--failed && slipway resume";
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

RunResult ResultOf(const ensemble::EnsembleSummary& summary, const ensemble::EnsembleOptions& options) {
  RunResult result;
  result.summary = SummaryDocument(summary);
  result.summary_text = "  trials  " + CountsText(summary);
  if (summary.best) {
    result.summary_text +=
        fmt::format("\n  {}  trial {}  {}", BestText(options.objectives.front(), *summary.best->objective),
                    summary.best->number, ensemble::Describe(summary.best->parameters));
  }
  if (summary.interrupted) {
    result.phase = Phase::kCancelled;
    result.reason = "cancelled by the user";
  } else if (summary.out_of_nodes) {
    result.reason = OutOfNodesText(summary, options.need);
  } else if (summary.too_many_failures) {
    result.reason = fmt::format("{} trials failed, more than max_failures", summary.failed);
  } else if (!summary.same_failure.empty()) {
    result.reason = SameFailureText(summary.same_failure);
  } else if (summary.out_of_time) {
    if (summary.complete > 0) result.phase = Phase::kSucceeded;
    result.reason = fmt::format("its time is used up{}", WhatIsUsedUp(options));
  } else if (summary.complete == 0) {
    result.reason = fmt::format("none of {} trials succeeded", summary.failed + summary.cancelled);
  } else {
    result.phase = Phase::kSucceeded;
    const bool is_population = options.scheduler.type == "pbt";
    if (is_population && summary.not_begun > 0) result.summary_text += UnbegunText(summary, options);
  }
  return result;
}

}  // namespace slipway::launcher
