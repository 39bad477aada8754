#include "launcher/run/ensemble_options.h"

#include <algorithm>

#include "core/process_identity.h"
#include "ensemble/samplers/sampler.h"
#include "launcher/engines/local/bound_to_cores.h"

namespace slipway::launcher {
namespace {

/// One trial's ranks stay together on this machine.
ensemble::Need NeedOf(const Spec& spec) { return {1, spec.launch.ranks() * spec.launch.cpus_per_rank, 0}; }

/// As many trials at a time as the machine has cores for, each with cores of its own; more only where the user wants
/// it, and then they share all cores.
void Place(const Spec& spec, ensemble::EnsembleOptions& options) {
  const std::vector<ensemble::NodeShare> nodes = {{HostName(), UsableCores(), {}}};
  const int slots = ensemble::Packer(nodes, NeedOf(spec)).Slots();
  options.parallel = spec.ensemble->parallel.value_or(std::max(1, slots));
  if (options.parallel > slots) return;
  options.nodes = nodes;
  options.need = NeedOf(spec);
}

ensemble::Objective ObjectiveFrom(const ObjectiveSpec& spec) {
  return {spec.metric, spec.goal == Goal::kMaximize ? ensemble::Goal::kMaximize : ensemble::Goal::kMinimize,
          spec.value == ObjectiveValue::kBest ? ensemble::CountedValue::kBest : ensemble::CountedValue::kLast,
          spec.reach};
}

ensemble::Budget BudgetFrom(const BudgetSpec& spec) {
  constexpr double kSecondsAnHour = 3600;
  ensemble::Budget budget;
  if (spec.time) budget.wall_seconds = spec.time->count();
  if (spec.node_hours) budget.node_seconds = *spec.node_hours * kSecondsAnHour;
  return budget;
}

std::int64_t GridTrials(const ensemble::EnsembleOptions& options) {
  ensemble::SamplerSettings settings{"grid", options.seed, options.grid_points};
  settings.points = options.points;
  return ensemble::GridSize(settings, options.space);
}

/// When trials end, and when all of them do.
void Limit(const Spec& spec, ensemble::EnsembleOptions& options) {
  const auto& ensemble = *spec.ensemble;
  options.retries = spec.resilience.max_restarts;
  options.max_failures = ensemble.max_failures;
  if (ensemble.time_limit) options.trial_time_limit = ensemble.time_limit->count();
  if (spec.launch.time_limit) options.manager_time_limit = spec.launch.time_limit->count();
  if (ensemble.budget) options.budget = BudgetFrom(*ensemble.budget);
  if (!ensemble.scheduler) return;
  options.scheduler = ensemble.scheduler->settings;
  options.resource = ensemble.scheduler->resource;
}

}  // namespace

ensemble::EnsembleOptions EnsembleOptionsFor(const Plan& plan) {
  const auto& spec = *plan.spec().ensemble;
  ensemble::EnsembleOptions options;
  options.objectives = {ObjectiveFrom(spec.objective)};
  for (const auto& further : spec.more_objectives) options.objectives.push_back(ObjectiveFrom(further));
  options.space = ensemble::MakeSearchSpace(spec.space, spec.constraints);
  options.points = spec.points;
  Place(plan.spec(), options);
  Limit(plan.spec(), options);
  options.repeats = spec.repeats;
  options.sampler = spec.sampler;
  options.seed = spec.seed;
  options.trials = spec.trials ? *spec.trials : GridTrials(options);
  options.spec_hash = plan.document.spec_hash;
  return options;
}

}  // namespace slipway::launcher
