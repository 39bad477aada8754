/// Between what trials report and what the scheduler decides about them.
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

/// What the scheduler wants of a running trial.
struct StopRequest {
  StopReason stop = StopReason::kPruned;
  std::string why;
};

class ReportJudge {
 public:
  explicit ReportJudge(const EnsembleOptions& options);

  /// Tells the scheduler all that the book knows, also what it had decided about attempts that have not ended.
  /// Cost: one scan of the objective's values; nothing without a scheduler.
  void Restore(TrialBook& book, const TrialTable& trials);

  /// A running attempt has reported; its value is in `attempt` already. A rung that it has come to is added to
  /// `rungs`.
  void Take(const MetricRecord& metric, const LiveAttempt& attempt, std::vector<RungRecord>& rungs);
  /// Why the scheduler has not heard a single report although this attempt is complete; nothing when it has.
  std::optional<std::string> WhySilent(const LiveAttempt& attempt) const;
  /// What the scheduler wants of a running trial since the wishes were forgotten.
  std::optional<StopRequest> StopRequestFor(TrialNumber trial) const;
  void ForgetStopRequests() { stop_requests_.clear(); }

  /// The trial has reported at the resource of a whole one (`max`), as far as that is known.
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
