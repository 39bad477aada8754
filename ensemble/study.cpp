#include "ensemble/study.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "ensemble/samplers/first_points.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/search/free_points.h"

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

}  // namespace

StudyRecord DescribeStudy(const EnsembleOptions& options, double now) {
  CheckPositive("trials", options.trials);
  CheckPositive("parallel", options.parallel);
  if (options.objective.empty()) throw Error(ErrorKind::kUsage, "ensemble: the objective names no metric");
  const SamplerSettings settings{options.sampler, options.seed, options.grid_points,
                                 options.trials,  options.goal, options.points};
  CheckFeasible(options.space);
  CompletedPoints(options.space, options.points, options.seed);
  return {options.objective,
          options.goal,
          options.trials,
          ResolveSampler(settings, options.space),
          options.seed,
          options.grid_points,
          options.spec_hash,
          ToJson(options.space).dump(),
          now};
}

void CheckSameStudy(const StudyRecord& stored, const EnsembleOptions& options) {
  CheckPositive("parallel", options.parallel);
  CheckSame("the objective", stored.objective, options.objective);
  CheckSame("the goal", GoalName(stored.goal), GoalName(options.goal));
  CheckSame("seed", stored.seed, options.seed);
  CheckSame("grid_points", stored.grid_points, options.grid_points);
  CheckSame("the space", stored.space, ToJson(options.space).dump());
  if (options.sampler != "auto") CheckSame("sampler", stored.sampler, options.sampler);
}

}  // namespace slipway::ensemble
