#include "launcher/run/trials/ensemble_options.h"

#include <algorithm>
#include <numeric>

#include "launcher/plan/grid_trials.h"
#include "launcher/plan/trials_at_a_time.h"
#include "launcher/ranks/monitor/pattern.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {
namespace {

/// Nodes as they look to trials that share cores: each takes an equal part of those that run at a time.
std::vector<ensemble::AllocatedNode> SharedNodes(std::vector<ensemble::AllocatedNode> nodes, int shares) {
  const auto count = static_cast<int>(nodes.size());
  for (auto& node : nodes) {
    node.cores.resize(static_cast<std::size_t>((shares + count - 1) / count));
    std::iota(node.cores.begin(), node.cores.end(), 0);
  }
  return nodes;
}

/// Places trials that share cores by their GPUs, or by the number of cores they would use. A single node needs no
/// placement.
void PlaceSharingCores(std::vector<ensemble::AllocatedNode> nodes, ensemble::EnsembleOptions& options) {
  if (options.need.gpus > 0) {
    options.need.cores = 0;
    options.nodes = std::move(nodes);
  } else if (nodes.size() > 1) {
    options.need.cores = 1;
    options.nodes = SharedNodes(std::move(nodes), options.parallel * options.need.nodes);
  }
}

void Place(const Spec& spec, std::vector<ensemble::AllocatedNode> nodes, ensemble::EnsembleOptions& options) {
  options.parallel = spec.ensemble->parallel.value_or(1);
  options.need = NeedOf(spec);
  if (nodes.empty()) return;
  const auto fit = FitTrials(spec, nodes);
  options.parallel = fit.count;
  if (fit.share_cores) return PlaceSharingCores(std::move(nodes), options);
  options.nodes = std::move(nodes);
}

ensemble::Budget BudgetFrom(const BudgetSpec& spec) {
  constexpr double kSecondsAnHour = 3600;
  ensemble::Budget budget;
  if (spec.time) budget.wall_seconds = spec.time->count();
  if (spec.node_hours) budget.node_seconds = *spec.node_hours * kSecondsAnHour;
  return budget;
}

/// When trials end, and when all of them do.
void Limit(const Spec& spec, ensemble::EnsembleOptions& options) {
  const auto& ensemble = *spec.ensemble;
  options.retries = spec.resilience.max_restarts;
  options.max_failures = ensemble.max_failures;
  options.stop_on_same_failure = ensemble.stop_on_same_failure;
  if (ensemble.time_limit) options.trial_time_limit = ensemble.time_limit->count();
  // That of jobs is each trial's.
  if (spec.launch.time_limit && !TrialsAreJobs(spec)) options.manager_time_limit = spec.launch.time_limit->count();
  if (ensemble.budget) options.budget = BudgetFrom(*ensemble.budget);
  if (!ensemble.scheduler) return;
  options.scheduler = ensemble.scheduler->settings;
  options.resource = ensemble.scheduler->resource;
}

ensemble::StepSource StepsOf(const MetricsSpec& metrics) {
  if (metrics.from != MetricsSource::kStdout) return ensemble::StepSource::kProgram;
  const auto names = InspectPattern(metrics.pattern).names;
  const bool has_step = std::ranges::find(names, "step") != names.end();
  return has_step ? ensemble::StepSource::kProgram : ensemble::StepSource::kCount;
}

}  // namespace

ensemble::EnsembleOptions EnsembleOptionsFor(const Plan& plan, std::vector<ensemble::AllocatedNode> nodes) {
  const auto& spec = *plan.spec().ensemble;
  ensemble::EnsembleOptions options;
  options.objectives = {spec.objective};
  options.objectives.insert(options.objectives.end(), spec.more_objectives.begin(), spec.more_objectives.end());
  options.space = ensemble::MakeSearchSpace(spec.space, spec.constraints);
  options.points = spec.points;
  Place(plan.spec(), std::move(nodes), options);
  Limit(plan.spec(), options);
  options.steps = StepsOf(plan.spec().train.metrics);
  options.repeats = spec.repeats;
  options.sampler = spec.sampler;
  options.seed = spec.seed;
  options.trials = spec.trials ? *spec.trials : CountGridTrials(spec);
  options.spec_hash = plan.document.spec_hash;
  return options;
}

}  // namespace slipway::launcher
