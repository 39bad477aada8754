#include "launcher/run/workflow/step_estimate.h"

#include <algorithm>

#include "core/error.h"
#include "launcher/workflow/resolve.h"

namespace slipway::launcher {
namespace {

constexpr double kSecondsPerHour = 3600;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

template <class Number>
double MedianOf(const std::vector<StepCost>& costs, const Number& number) {
  std::vector<double> values;
  for (const auto& cost : costs) values.push_back(number(cost));
  return Median(std::move(values));
}

/// Of a step without results those of the other steps of its foreach.
class Costs {
 public:
  Costs(const Workflow& workflow, const ResultStore& store) : workflow_(workflow) {
    for (const auto& step : workflow.steps) costs_.push_back(store.CostsOf(workflow.name, step.name));
  }

  std::vector<StepCost> Of(StepIndex index) const {
    if (!costs_[index].empty()) return costs_[index];
    std::vector<StepCost> of_group;
    for (const auto other : workflow_.groups.at(workflow_.steps[index].group)) {
      of_group.insert(of_group.end(), costs_[other].begin(), costs_[other].end());
    }
    return of_group;
  }

 private:
  const Workflow& workflow_;
  std::vector<std::vector<StepCost>> costs_;
};

class Estimator {
 public:
  Estimator(const Workflow& workflow, ResultStore& store, StepReuse& reuse)
      : workflow_(workflow), store_(store), reuse_(reuse), costs_(workflow, store) {}

  StepEstimate Estimate(StepIndex index) {
    StepEstimate estimate;
    AddInputs(index, estimate);
    for (const auto& source : DataSourcesOf(workflow_, workflow_.steps[index])) {
      for (const auto& file : source.files) estimate.bytes += reuse_.files().BytesOf(file);
    }
    estimate.cost = CostOf(costs_.Of(index));
    return estimate;
  }

 private:
  void AddInputs(StepIndex index, StepEstimate& estimate) {
    const Scope scope{
        workflow_, [this](StepIndex need) -> const Json& { return store_.ValuesOf(reuse_.of(need).id); }, {}, {}};
    const bool has_results =
        std::ranges::all_of(workflow_.needs[index], [this](StepIndex need) { return reuse_.of(need).reuse; });
    for (const auto& [name, value] : workflow_.steps[index].inputs) {
      if (has_results || value.find("${") == std::string::npos) {
        estimate.bytes += reuse_.files().BytesOf(ResolveText(value, scope));
      } else {
        estimate.has_all_inputs = false;
      }
    }
  }

  static std::optional<CostEstimate> CostOf(const std::vector<StepCost>& costs) {
    if (costs.empty()) return {};
    CostEstimate estimate;
    estimate.seconds = MedianOf(costs, [](const StepCost& cost) { return cost.seconds; });
    estimate.core_hours = HoursOf(costs, &StepCost::cpus);
    estimate.gpu_hours = HoursOf(costs, &StepCost::gpus);
    estimate.node_hours = NodeHoursOf(costs);
    estimate.results = costs.size();
    return estimate;
  }

  static double HoursOf(const std::vector<StepCost>& costs, int StepCost::*count) {
    return MedianOf(costs, [=](const StepCost& cost) { return cost.seconds * cost.*count; }) / kSecondsPerHour;
  }

  static std::optional<double> NodeHoursOf(std::vector<StepCost> costs) {
    std::erase_if(costs, [](const StepCost& cost) { return !cost.nodes; });
    if (costs.empty()) return {};
    return MedianOf(costs, [](const StepCost& cost) { return cost.seconds * *cost.nodes; }) / kSecondsPerHour;
  }

  const Workflow& workflow_;
  ResultStore& store_;
  StepReuse& reuse_;
  Costs costs_;
};

}  // namespace

std::vector<std::optional<Seconds>> TimesTaken(const Workflow& workflow, const ResultStore& store) {
  const Costs costs(workflow, store);
  std::vector<std::optional<Seconds>> times(workflow.steps.size());
  for (StepIndex step = 0; step < times.size(); ++step) {
    const auto known = costs.Of(step);
    if (!known.empty()) times[step] = Seconds(MedianOf(known, [](const StepCost& cost) { return cost.seconds; }));
  }
  return times;
}

std::vector<StepEstimate> EstimateSteps(const Workflow& workflow, ResultStore& store, StepReuse& reuse) {
  Estimator estimator(workflow, store, reuse);
  std::vector<StepEstimate> estimates;
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) estimates.push_back(estimator.Estimate(step));
  return estimates;
}

EstimateTotal TotalOf(const std::vector<StepEstimate>& steps, const StepReuse& reuse) {
  EstimateTotal total;
  for (StepIndex step = 0; step < steps.size(); ++step) {
    if (reuse.of(step).reuse) continue;
    total.bytes += steps[step].bytes;
    if (const auto& cost = steps[step].cost) {
      total.core_hours += cost->core_hours;
      total.gpu_hours += cost->gpu_hours;
      total.node_hours =
          total.node_hours && cost->node_hours ? std::optional(*total.node_hours + *cost->node_hours) : std::nullopt;
    } else {
      ++total.steps_without_cost;
    }
  }
  return total;
}

}  // namespace slipway::launcher
