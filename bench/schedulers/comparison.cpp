#include "bench/schedulers/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <utility>

#include "bench/samplers/statistics.h"
#include "bench/schedulers/replay.h"
#include "core/error.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::bench {
namespace {

using Order = std::vector<const RecordedCurve*>;

Order DrawOrder(const RecordedTask& task, std::int64_t seed, std::string_view side) {
  ensemble::Draws draws(1, seed, side);
  Order order;
  for (const auto& curve : task.curves) order.push_back(&curve);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.Below(i)]);
  return order;
}

/// Of the best of the first `count`, all run to their ends.
double RegretOfWhole(const RecordedTask& task, const Order& order, std::size_t count) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(count, order.size()); ++i) {
    if (std::isfinite(order[i]->back())) best = std::min(best, order[i]->back());
  }
  return best - task.Best();
}

/// What the seeds gave.
struct Outcomes {
  std::vector<double> regret;
  std::vector<double> regret_of_none;
  std::vector<double> regret_of_whole;
  std::vector<double> whole;
  std::vector<double> first;
  std::vector<double> complete;
};

ensemble::SchedulerSettings SettingsFor(const SchedulerPlan& plan, const std::string& scheduler, int trials,
                                        std::size_t epochs) {
  ensemble::SchedulerSettings settings;
  settings.type = scheduler;
  settings.min = plan.min;
  settings.max = static_cast<double>(epochs);
  settings.reduction = plan.reduction;
  settings.trials = trials;
  settings.parallel = plan.parallel;
  settings.goal = ensemble::Goal::kMinimize;
  return settings;
}

/// One turn of a scheduler, and of no scheduler with other configurations.
void TakeTurn(const RecordedTask& task, const ensemble::SchedulerSettings& settings, int seed, Outcomes& outcomes) {
  const auto order = DrawOrder(task, seed, "order");
  const auto count = static_cast<std::size_t>(settings.trials);
  const auto found = Replay(settings, std::span(order).first(count));
  const double whole = static_cast<double>(found.epochs) / static_cast<double>(order.front()->size());
  outcomes.regret.push_back(found.best.value_or(std::numeric_limits<double>::infinity()) - task.Best());
  outcomes.regret_of_none.push_back(
      RegretOfWhole(task, DrawOrder(task, seed, "none"), static_cast<std::size_t>(std::ceil(whole))));
  outcomes.regret_of_whole.push_back(RegretOfWhole(task, order, count));
  outcomes.whole.push_back(whole);
  outcomes.first.push_back(static_cast<double>(found.epochs_to_first) / static_cast<double>(order.front()->size()));
  outcomes.complete.push_back(found.complete);
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

SchedulerRow RowOf(const RecordedTask& task, const std::string& scheduler, int trials, const Outcomes& outcomes) {
  SchedulerRow row{task.name, scheduler, trials};
  row.regret = Quantile(outcomes.regret, 0.5);
  row.regret_of_none = Quantile(outcomes.regret_of_none, 0.5);
  row.regret_of_whole = Quantile(outcomes.regret_of_whole, 0.5);
  row.p_better = ProbabilityOfSmaller(outcomes.regret, outcomes.regret_of_none);
  row.p_worse = ProbabilityOfSmaller(outcomes.regret_of_none, outcomes.regret);
  row.whole = Mean(outcomes.whole);
  row.first = Quantile(outcomes.first, 0.5);
  row.complete = Mean(outcomes.complete);
  return row;
}

void RequireCurves(const RecordedTask& task, int trials) {
  if (static_cast<std::size_t>(trials) <= task.curves.size()) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} trials are more than the {} curves of task '{}'", trials, task.curves.size(), task.name),
              "lower --trials, or record more curves with record_curves.py");
}

void CompareOn(const RecordedTask& task, int trials, const SchedulerPlan& plan, std::vector<SchedulerRow>& rows) {
  RequireCurves(task, trials);
  std::vector<Outcomes> outcomes(plan.schedulers.size());
  for (int seed = 0; seed < plan.seeds; ++seed) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const auto settings = SettingsFor(plan, plan.schedulers[i], trials, task.curves.front().size());
      TakeTurn(task, settings, seed, outcomes[i]);
    }
  }
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    rows.push_back(RowOf(task, plan.schedulers[i], trials, outcomes[i]));
  }
}

}  // namespace

std::vector<SchedulerRow> CompareSchedulers(const std::vector<RecordedTask>& tasks, const SchedulerPlan& plan) {
  std::vector<SchedulerRow> rows;
  for (const auto& task : tasks) {
    for (const int trials : plan.trials) CompareOn(task, trials, plan, rows);
  }
  return rows;
}

Json ToJson(const SchedulerRow& row) {
  return {{"task", row.task},
          {"scheduler", row.scheduler},
          {"trials", row.trials},
          {"regret", row.regret},
          {"regret_of_none", row.regret_of_none},
          {"regret_of_whole", row.regret_of_whole},
          {"p_better", row.p_better},
          {"p_worse", row.p_worse},
          {"whole", row.whole},
          {"first", row.first},
          {"complete", row.complete}};
}

void PrintRows(const std::vector<SchedulerRow>& rows) {
  fmt::print("{:<12} {:<10} {:>6}  {:>8} {:>8} {:>6} {:>8} {:>8}  {:>9} {:>6} {:>6} {:>8}\n", "task", "scheduler",
             "trials", "regret", "none", "ratio", "p better", "p worse", "all whole", "cost", "first", "complete");
  for (const auto& row : rows) {
    fmt::print(
        "{:<12} {:<10} {:>6}  {:>8.3g} {:>8.3g} {:>6.2f} {:>8.1g} {:>8.1g}  {:>9.3g} {:>6.1f} {:>6.1f} {:>8.1f}\n",
        row.task, row.scheduler, row.trials, row.regret, row.regret_of_none, row.regret / row.regret_of_none,
        row.p_better, row.p_worse, row.regret_of_whole, row.whole, row.first, row.complete);
  }
}

}  // namespace slipway::bench
