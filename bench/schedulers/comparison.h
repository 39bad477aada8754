/// Schedulers beside no scheduler, on recorded curves, at equal numbers of epochs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/schedulers/recorded_curves.h"
#include "core/json.h"

namespace slipway::bench {

struct SchedulerPlan {
  std::vector<std::string> schedulers = {"asha", "hyperband", "median"};
  std::vector<int> trials = {10, 20, 40, 80};  ///< budgets of the schedulers
  int seeds = 60;                              ///< random orders of the configurations
  int parallel = 4;
  int reduction = 3;
  double min = 1;
};

/// One scheduler with one budget on one task. *Regret*: how far the best complete trial lies above the task's best.
struct SchedulerRow {
  std::string task;
  std::string scheduler;
  int trials = 0;
  double regret = 0;           ///< median
  double regret_of_none = 0;   ///< median; as many whole trials as the scheduler's epochs are worth, rounded up
  double regret_of_whole = 0;  ///< median; all `trials` whole
  double p_better = 1;         ///< that it would look as much better than none by chance (rank test, one-sided)
  double p_worse = 1;          ///< ... worse
  double whole = 0;            ///< mean of its epochs, in whole trials
  double first = 0;            ///< median of its epochs until the first complete trial, in whole trials
  double complete = 0;         ///< mean
};

/// Each seed draws an order of the configurations; all sides take their turn with it.
/// Errors: Error(kUsage) for a budget beyond the curves of a task; those of MakeScheduler.
std::vector<SchedulerRow> CompareSchedulers(const std::vector<RecordedTask>& tasks, const SchedulerPlan& plan);

Json ToJson(const SchedulerRow& row);
void PrintRows(const std::vector<SchedulerRow>& rows);

}  // namespace slipway::bench
