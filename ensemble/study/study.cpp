#include "ensemble/study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "ensemble/exchange/stored_space.h"
#include "ensemble/samplers/first_points.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/search/cube/free_points.h"

namespace slipway::ensemble {
namespace {

void CheckPositive(std::string_view name, std::int64_t value) {
  if (value >= 1) return;
  throw Error(ErrorKind::kUsage, fmt::format("ensemble: '{}' must be at least 1, not {}", name, value));
}

template <class Value>
void CheckSame(std::string_view what, const Value& stored, const Value& given) {
  if (stored == given) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("the ensemble was started with {} {}, but the spec now says {}", what, stored, given),
              "start a new run for a changed experiment, or undo the change");
}

void CheckObjectives(const std::vector<Objective>& objectives) {
  const bool named = std::ranges::none_of(objectives, &std::string::empty, &Objective::metric);
  if (!objectives.empty() && named) return;
  throw Error(ErrorKind::kUsage, "ensemble: an objective names no metric");
}

/// "maximize accuracy, minimize the best loss"
std::string Describe(const std::vector<Objective>& objectives) {
  std::string text;
  for (const auto& objective : objectives) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", GoalName(objective.goal),
                        objective.counts == CountedValue::kBest ? "the best " : "", objective.metric);
    if (objective.reach) text += fmt::format(" to {}", *objective.reach);
  }
  return text;
}

}  // namespace

SamplerSettings SamplerSettingsOf(const EnsembleOptions& options) {
  SamplerSettings settings;
  settings.name = options.sampler;
  settings.seed = options.seed;
  settings.grid_points = options.grid_points;
  settings.trials = options.trials;
  settings.goal = options.objectives.front().ValueGoal();
  settings.points = options.points;
  for (std::size_t i = 1; i < options.objectives.size(); ++i) {
    settings.further.push_back(options.objectives[i].ValueGoal());
  }
  return settings;
}

StudyRecord DescribeStudy(const EnsembleOptions& options, double now) {
  CheckPositive("trials", options.trials);
  CheckPositive("parallel", options.parallel);
  CheckPositive("repeats", options.repeats);
  CheckObjectives(options.objectives);
  CheckFeasible(options.space);
  CompletedPoints(options.space, options.points, options.seed);
  StudyRecord study;
  study.objectives = options.objectives;
  study.trials = options.trials;
  study.repeats = options.repeats;
  study.scheduler = options.scheduler.type;
  study.sampler = ResolveSampler(SamplerSettingsOf(options), options.space);
  study.seed = options.seed;
  study.grid_points = options.grid_points;
  study.spec_hash = options.spec_hash;
  study.space = ToJson(options.space).dump();
  study.created = now;
  return study;
}

void CheckSameStudy(const StudyRecord& stored, const EnsembleOptions& options) {
  CheckPositive("parallel", options.parallel);
  CheckObjectives(options.objectives);
  CheckSame("the objectives", Describe(stored.objectives), Describe(options.objectives));
  CheckSame("repeats", stored.repeats, options.repeats);
  CheckSame("scheduler", stored.scheduler, options.scheduler.type);
  CheckSame("seed", stored.seed, options.seed);
  CheckSame("grid_points", stored.grid_points, options.grid_points);
  CheckSame("the space", ToJson(StoredSpace(stored)).dump(), ToJson(options.space).dump());
  if (options.sampler != "auto") CheckSame("sampler", stored.sampler, options.sampler);
}

}  // namespace slipway::ensemble
