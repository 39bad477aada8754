/// Passes the reports of trials to the scheduler, and keeps its decisions until the manager acts on them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ensemble/manager/live_attempt.h"
#include "ensemble/model/trial_table.h"
#include "ensemble/schedulers/scheduler.h"
#include "ensemble/study/options.h"

namespace slipway::ensemble {

/// The scheduler's request to stop or pause a running trial.
struct StopRequest {
  StopReason stop = StopReason::kPruned;
  std::string why;
};

class ReportJudge {
 public:
  explicit ReportJudge(const EnsembleOptions& options);

  /// Restores the scheduler from the book: all reports, and its decisions about attempts that have not ended.
  /// Cost: one scan of the objective's values; nothing without a scheduler.
  void Restore(TrialBook& book, const TrialTable& trials);

  /// Takes a report of a running attempt; `attempt` holds its value already. A rung that the trial has reached is added
  /// to `rungs`.
  void Take(const MetricRecord& metric, const LiveAttempt& attempt, std::vector<RungRecord>& rungs);
  /// Why the scheduler has received no report although this attempt is complete; nothing when it has received one.
  std::optional<std::string> WhySilent(const LiveAttempt& attempt) const;
  /// The scheduler's request about a running trial since the last ForgetStopRequests.
  std::optional<StopRequest> StopRequestFor(TrialNumber trial) const;
  void ForgetStopRequests() { stop_requests_.clear(); }

  /// Whether the trial has reported at the scheduler's `max`, the resource of a whole trial. False without a `max`.
  bool IsWhole(TrialNumber trial) const;

  /// The attempt is over.
  void End(TrialNumber trial, TrialState state);

  Scheduler& scheduler() { return *scheduler_; }
  const Scheduler& scheduler() const { return *scheduler_; }

 private:
  std::optional<double> ResourceOf(const MetricRecord& metric, std::optional<double> other) const;
  double LowerIsBetter(double value) const;

  const EnsembleOptions& options_;
  std::unique_ptr<Scheduler> scheduler_;
  bool counts_a_metric_;    // the resource is neither the step nor the epoch
  bool has_heard_ = false;  // a report at a resource
  std::map<TrialNumber, StopRequest> stop_requests_;
  std::map<TrialNumber, double> reached_;  // resource, of running trials
};

}  // namespace slipway::ensemble
