#include "launcher/workflow/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "launcher/workflow/job_graph.h"
#include "launcher/workflow/step_spec.h"

namespace slipway::launcher {
namespace {

using Steps = std::vector<StepIndex>;

/// How much longer than before a step may take.
constexpr double kReserve = 3;
/// For what is around the steps.
constexpr Seconds kAroundSteps{60};
constexpr Seconds kShortestPack{600};

/// Steps that may run at once.
struct Level {
  int cpus = 0;
  int gpus = 0;
  std::uint64_t memory = 0;
  std::optional<Seconds> longest = Seconds(0);
};

std::optional<Seconds> LimitOf(const Step& step) {
  if (!step.time_limit) return {};
  return *step.time_limit * (step.retries + 1);
}

std::optional<Seconds> BoundOf(const Step& step, const std::optional<Seconds>& took) {
  const auto limit = LimitOf(step);
  if (!took) return limit;
  return limit ? std::min(*limit, *took * kReserve) : *took * kReserve;
}

/// By the longest chain of needs inside of the pack.
std::vector<Level> LevelsOf(const Workflow& workflow, const Steps& steps,
                            const std::vector<std::optional<Seconds>>& took) {
  std::map<StepIndex, std::size_t> depth;
  for (const auto step : steps) depth[step] = 0;
  std::vector<Level> levels;
  for (const auto step : workflow.order) {
    const auto own = depth.find(step);
    if (own == depth.end()) continue;
    for (const auto need : workflow.needs[step]) {
      const auto before = depth.find(need);
      if (before != depth.end()) own->second = std::max(own->second, before->second + 1);
    }
    levels.resize(std::max(levels.size(), own->second + 1));
    auto& level = levels[own->second];
    const auto& resources = workflow.steps[step].resources;
    level.cpus += resources.cpus.value_or(1);
    level.gpus += resources.gpus.value_or(0);
    level.memory += resources.memory.count;
    const auto bound = BoundOf(workflow.steps[step], took[step]);
    level.longest = bound && level.longest ? std::optional(std::max(*level.longest, *bound)) : std::nullopt;
  }
  return levels;
}

/// How often `has` must be used to give `wants`.
double RoundsFor(double wants, double has) { return has > 0 ? std::ceil(wants / has) : 1; }

std::optional<Seconds> TimeLimitOf(const std::vector<Level>& levels, const PackSize& size) {
  Seconds sum(0);
  for (const auto& level : levels) {
    if (!level.longest) return {};
    const auto rounds =
        std::max({RoundsFor(level.cpus, size.cpus), RoundsFor(level.gpus, size.gpus),
                  RoundsFor(static_cast<double>(level.memory), static_cast<double>(size.memory.count))});
    sum += *level.longest * rounds;
  }
  return std::max(sum + kAroundSteps, kShortestPack);
}

std::string TextOf(const std::shared_ptr<const YamlNode>& slurm) { return slurm ? YamlOf(*slurm) : std::string(); }

std::string WhyNot(const Workflow& workflow, const JobGraph& graph, const std::string& pack, const Steps& steps,
                   StepIndex step) {
  const auto& own = workflow.steps[step];
  const auto& first = workflow.steps[steps.front()];
  if (own.is_run()) return fmt::format("step '{}' is an experiment, which has a job of its own", own.name);
  if (TextOf(own.slurm) != TextOf(first.slurm)) {
    return fmt::format("steps '{}' and '{}' of pack '{}' differ in 'slurm'", first.name, own.name, pack);
  }
  if (steps.size() > kMostStepsOfPack) {
    return fmt::format("pack '{}' has {} steps; {} are the most: use 'jobs: packed'", pack, steps.size(),
                       kMostStepsOfPack);
  }
  if (!graph.ComesBack(steps)) return {};
  return fmt::format("a step that is not in pack '{}' lies between two steps of it: add it to the pack", pack);
}

}  // namespace

PackSize SizeOfPack(const Workflow& workflow, const Steps& steps, const std::vector<std::optional<Seconds>>& took,
                    const std::optional<NodeSize>& node) {
  const auto levels = LevelsOf(workflow, steps, took);
  PackSize size;
  std::uint64_t memory = 0;
  for (const auto& level : levels) {
    size.cpus = std::max(size.cpus, level.cpus);
    size.gpus = std::max(size.gpus, level.gpus);
    memory = std::max(memory, level.memory);
  }
  if (node) size.cpus = std::min(size.cpus, node->cores);
  if (node && node->gpus > 0) size.gpus = std::min(size.gpus, node->gpus);
  if (node && node->memory.count > 0) memory = std::min(memory, node->memory.count);
  for (const auto step : steps) {  // one alone must fit; whether a node has that much, the site says
    const auto& resources = workflow.steps[step].resources;
    size.cpus = std::max(size.cpus, resources.cpus.value_or(1));
    size.gpus = std::max(size.gpus, resources.gpus.value_or(0));
    memory = std::max(memory, resources.memory.count);
  }
  size.memory = {memory};
  size.time_limit = TimeLimitOf(levels, size);
  for (const auto step : steps) {
    const auto own = LimitOf(workflow.steps[step]);
    if (size.time_limit && own) size.time_limit = std::max(*size.time_limit, *own + kAroundSteps);
  }
  return size;
}

std::optional<PackTrouble> TroubleWithPacks(const Workflow& workflow) {
  std::map<std::string, Steps> packs;
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) {
    if (!workflow.steps[step].pack.empty()) packs[workflow.steps[step].pack].push_back(step);
  }
  JobGraph graph(workflow, std::vector<bool>(workflow.steps.size(), true));
  for (const auto& [pack, steps] : packs) {
    for (const auto step : steps) {
      if (auto why = WhyNot(workflow, graph, pack, steps, step); !why.empty()) return PackTrouble{step, std::move(why)};
    }
    graph.Tie(steps);
  }
  return {};
}

}  // namespace slipway::launcher
