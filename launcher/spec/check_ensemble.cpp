#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "ensemble/samplers/first_points.h"
#include "ensemble/search/cube/free_points.h"
#include "ensemble/space/space.h"
#include "launcher/spec/checks.h"
#include "launcher/spec/scheduler_settings.h"

namespace slipway::launcher {
namespace {

std::string SamplerOf(const Draft& draft) {
  return draft.Has("ensemble.sampler") ? draft.At("ensemble.sampler").get<std::string>() : "";
}

void ReportSpace(Report& report, const Place& place, const Error& error) {
  const std::string next = error.next_step().empty() ? "" : "; " + error.next_step();
  report.Error(place, error.message() + next);
}

/// Nothing when one was reported.
std::optional<ensemble::SearchSpace> CheckConstraints(Report& report, const Draft& draft,
                                                      const std::vector<ensemble::Parameter>& parameters) {
  std::vector<std::string> right;
  const Json& constraints = draft.At("ensemble.constraints");
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    try {
      ensemble::Constraint(constraints[i].get<std::string>(), parameters);
      right.push_back(constraints[i].get<std::string>());
    } catch (const Error& error) {
      ReportSpace(report, draft.PlaceOf(fmt::format("ensemble.constraints[{}]", i)), error);
    }
  }
  if (right.size() != constraints.size()) return std::nullopt;
  try {
    auto space = ensemble::MakeSearchSpace(parameters, right);
    ensemble::CheckFeasible(space);
    return space;
  } catch (const Error& error) {
    ReportSpace(report, draft.PlaceOf("ensemble.constraints"), error);
    return std::nullopt;
  }
}

void CheckPoints(Report& report, const Draft& draft, const ensemble::SearchSpace& space) {
  const Json& points = draft.At("ensemble.points");
  for (std::size_t i = 0; i < points.size(); ++i) {
    try {
      ensemble::CompletedPoint(space, ensemble::PointFromJson(points[i]), /*seed=*/1, /*trial=*/0);
    } catch (const Error& error) {
      ReportSpace(report, draft.PlaceOf(fmt::format("ensemble.points[{}]", i)), error);
    }
  }
  const Json& trials = draft.At("ensemble.trials");
  if (!trials.is_number() || points.size() <= trials.get<std::size_t>()) return;
  report.Error(draft.PlaceOf("ensemble.points"), fmt::format("more points than trials, which is {}", trials.dump()));
}

void CheckSpace(Report& report, const Draft& draft) {
  const Json& space = draft.At("ensemble.space");
  if (space.is_null()) return;
  const bool all_given = draft.failed.count("ensemble.space") == 0;
  if (space.empty() && all_given) report.Error(draft.PlaceOf("ensemble.space"), "the space has no parameter");
  std::vector<ensemble::Parameter> parameters;
  for (const auto& [name, definition] : space.items()) {
    try {
      parameters.push_back(ensemble::ParseParameter(name, definition));
    } catch (const Error& error) {
      ReportSpace(report, draft.PlaceOf("ensemble.space." + name), error);
    }
  }
  if (!all_given || parameters.size() != space.size()) return;
  try {
    ensemble::MakeSearchSpace(parameters);
  } catch (const ensemble::ParameterError& error) {
    return ReportSpace(report, draft.PlaceOf("ensemble.space." + error.parameter()), error);
  } catch (const Error& error) {
    return ReportSpace(report, draft.PlaceOf("ensemble.space"), error);
  }
  if (const auto constrained = CheckConstraints(report, draft, parameters)) CheckPoints(report, draft, *constrained);
}

void CheckTrials(Report& report, const Draft& draft) {
  if (draft.failed.count("ensemble") + draft.failed.count("ensemble.trials") > 0) return;
  const Json& trials = draft.At("ensemble.trials");
  if (trials.is_null()) {
    if (SamplerOf(draft) != "grid") {
      report.Error(draft.PlaceOf("ensemble"), "'ensemble' needs 'trials', the number of trials, unless sampler: grid");
    }
    return;
  }
  const Json& parallel = draft.At("ensemble.parallel");
  if (parallel.is_number() && parallel > trials) {
    report.Error(draft.PlaceOf("ensemble.parallel"),
                 fmt::format("'parallel' is larger than the number of trials: 'ensemble.trials' is {}",
                             trials.get<std::int64_t>()));
  }
  const Json& top = draft.At("ensemble.select.top");
  if (top.is_number() && top > trials) {
    report.Error(draft.PlaceOf("ensemble.select.top"),
                 fmt::format("more members than trials, which is {}", trials.get<std::int64_t>()));
  }
}

/// There is no allocation that could say how many trials fit, nor any nodes in it.
void CheckPlacement(Report& report, const Draft& draft) {
  if (!TrialsAreJobs(draft)) return;
  if (draft.At("ensemble.parallel") == "auto") {
    report.Error(draft.PlaceOf("ensemble.parallel"),
                 "with 'placement: job' it says how many jobs may be in the queue at a time; give a number");
  }
  if (draft.Has("launch.nodes") && draft.At("launch.nodes") != 1) {
    report.Warn(draft.PlaceOf("launch.nodes"),
                "with 'placement: job' each trial has 'ensemble.nodes_per_trial' nodes; this is not used");
  }
}

void CheckNodes(Report& report, const Draft& draft) {
  if (TrialsAreJobs(draft)) return;
  const Json& wanted = draft.At("ensemble.nodes_per_trial");
  const Json& nodes = draft.At("launch.nodes");
  if (!wanted.is_number() || !nodes.is_number() || wanted <= nodes) return;
  report.Error(draft.PlaceOf("ensemble.nodes_per_trial"),
               fmt::format("more than 'launch.nodes', which is {}", nodes.get<std::int64_t>()));
}

/// Fields that were reported already would only be reported again.
bool SchedulerIsWhole(const Draft& draft) {
  if (!draft.Has("ensemble.scheduler.type")) return false;
  return std::ranges::none_of(draft.failed,
                              [](const std::string& path) { return path.starts_with("ensemble.scheduler"); });
}

void CheckSettings(Report& report, const Draft& draft, const ensemble::SchedulerSettings& settings) {
  if (settings.max && settings.min > *settings.max) {
    return report.Error(draft.PlaceOf("ensemble.scheduler.min"), "'min' is larger than 'max'");
  }
  try {
    ensemble::MakeScheduler(settings);
    const auto why = ensemble::WhyTooFewTrials(settings);
    if (why && draft.At("ensemble.trials").is_number()) report.Warn(draft.PlaceOf("ensemble.trials"), *why);
  } catch (const Error& error) {
    report.Error(draft.PlaceOf("ensemble.scheduler.type"), error.message());
  }
}

void CheckScheduler(Report& report, const Draft& draft) {
  if (!SchedulerIsWhole(draft)) return;
  const auto place = draft.PlaceOf("ensemble.scheduler.type");
  auto settings = SchedulerSettingsFrom(draft.At("ensemble.scheduler"));
  if (draft.At("ensemble.trials").is_number()) settings.trials = draft.At("ensemble.trials").get<std::int64_t>();
  const Json& parallel = draft.At("ensemble.parallel");
  SetParallel(settings, parallel.is_number() ? std::optional(parallel.get<int>()) : std::nullopt);
  CheckSettings(report, draft, settings);
  const auto& type = settings.type;
  if (SamplerOf(draft) == "grid" && (type == "hyperband" || type == "pbt")) {
    report.Error(place, type +
                            " chooses how many trials there are and with which values; it cannot work with sampler: "
                            "grid");
  }
  const bool repeated = draft.At("ensemble.repeats") > 1;
  if (repeated && (type == "asha" || type == "hyperband" || type == "pbt")) {
    report.Error(place, type + " compares single trials; it cannot work with 'repeats'");
  }
  if (!repeated && type == "wilcoxon") {
    report.Error(place, "wilcoxon compares the repeats of configurations; give 'repeats', 5 or more");
  }
}

/// A time to accuracy is known when it is reached: no value on the way tells how a trial stands.
void CheckReach(Report& report, const Draft& draft) {
  const Json& reach = draft.At("ensemble.objective.reach");
  if (!reach.is_number() || !draft.Has("ensemble.objective.value")) return;
  if (draft.At("ensemble.objective.value") == "best") {
    report.Warn(draft.PlaceOf("ensemble.objective.reach"), "with 'reach' the first time counts; 'value' is not used");
  }
}

void WarnOfTestScores(Report& report, const Draft& draft) {
  const Json& metric = draft.At("ensemble.objective.metric");
  if (!metric.is_string() || !metric.get<std::string>().starts_with("test")) return;
  report.Warn(draft.PlaceOf("ensemble.objective.metric"),
              "ranks the trials by a test score; select on validation records and keep the test for the end");
}

/// A bundled trainer that sets no records aside has nothing to say of them.
void CheckValidationRecords(Report& report, const Draft& draft) {
  const Json& fraction = draft.At("train.validation.fraction");
  if (!draft.Has("train.program") || !fraction.is_number() || fraction.get<double>() != 0) return;
  const Json& metric = draft.At("ensemble.objective.metric");
  if (metric.is_string() && metric.get<std::string>().starts_with("validation")) {
    report.Error(draft.PlaceOf("ensemble.objective.metric"),
                 "nothing reports it: 'train.validation.fraction' is 0, so no records are set aside");
  }
  if (draft.Has("ensemble.select")) {
    report.Error(draft.PlaceOf("ensemble.select"),
                 "nothing to select on: 'train.validation.fraction' is 0, so no records are set aside");
  }
}

}  // namespace

bool TrialsAreJobs(const Draft& draft) {
  return draft.Has("ensemble.placement") && draft.At("ensemble.placement") == "job";
}

void CheckEnsemble(Report& report, const Draft& draft) {
  if (!draft.Has("ensemble")) return;
  CheckSpace(report, draft);
  CheckTrials(report, draft);
  CheckPlacement(report, draft);
  CheckNodes(report, draft);
  CheckScheduler(report, draft);
  CheckReach(report, draft);
  CheckValidationRecords(report, draft);
  WarnOfTestScores(report, draft);
}

}  // namespace slipway::launcher
